"""Verbs that exchange golden sets with other tools."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import datasets
from rag.cli.options import Json, Overrides, opened_set, print_json

Column = Annotated[str, typer.Option(metavar="COLUMN", help="The column, if it has no usual name.")]


@datasets.command("import")
def import_questions(
    source: Annotated[Path, typer.Argument(metavar="FILE|FOLDER", help="What another tool wrote.")],
    to: Annotated[Path, typer.Option(help="The new folder of the set.")],
    documents: Annotated[str, typer.Option(metavar="FOLDER", help="The documents that contexts are searched in.")] = "",
    format: Annotated[str, typer.Option(help="How to read the file, if its content does not show it: csv, jsonl, …")] = "",
    question: Column = "",
    answer: Column = "",
    context: Column = "",
    document: Column = "",
    id: Column = "",
    kind: Column = "",
    as_json: Json = False,
) -> None:
    """Make a golden set of questions in CSV, XLSX, Parquet, JSON, or in the format of another tool.

    Others: ragas, BEIR, MTEB, AutoRAG, Hugging Face datasets on disk, LangSmith, Langfuse, promptfoo, conversations. Contexts
    become evidence where they are found in the documents: letter by letter, as rendered, or with 90 % of their letters and
    digits and all of their numbers. Without --documents they become documents. Nothing is run or fetched.
    """
    from rag.analysis.ingestion.ingest import components_of
    from rag.api.ingestion import config_of_folder
    from rag.authoring.exchange.imports import import_set
    from rag.evaluation.data.golden import documents_of
    from rag.reporting.terminal.exchange import imported

    named = {"text": question, "answers": answer, "contexts": context, "document": document, "id": id, "kind": kind}
    corpus, place = None, ""
    if documents:
        config = config_of_folder([documents])
        corpus, place = documents_of(components_of(config).role("loader", config["loader"])), config["loader"]["path"]
    given = {name: column for name, column in named.items() if column}
    report = import_set(source, to, corpus, given, datetime.now(UTC).date().isoformat(), format)
    print_json(report.to_json()) if as_json else imported(report, place)


@datasets.command("export")
def export_questions(
    name: str,
    format: Annotated[str, typer.Option(help="csv, jsonl, parquet, huggingface, ragas, beir, autorag, langsmith, …")],
    to: Annotated[Path, typer.Option(help="The new folder.")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Write a golden set in the format of another tool, and say what that format does not hold.

    Formats: csv, jsonl, parquet, huggingface, ragas, beir, autorag, langsmith, langfuse, promptfoo.
    """
    from rag.authoring.exchange.exports import export_set, rows_of
    from rag.evaluation.data import golden as golden_sets
    from rag.reporting.terminal.exchange import exported

    loader, questions = opened_set(name, overrides)
    golden = golden_sets.load(loader, questions)
    rows = list(rows_of(golden, questions))
    lost = export_set(rows, golden.documents, format, to)
    print_json({"folder": str(to), "questions": len(rows), "not_held": dict(lost)}) if as_json else exported(
        to, len(rows), lost
    )
