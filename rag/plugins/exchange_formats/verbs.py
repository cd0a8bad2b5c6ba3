"""Verbs that exchange golden sets with other tools."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import data
from rag.cli.options import Json, Overrides, opened_set, print_json

Column = Annotated[str, typer.Option(metavar="COLUMN", help="The column, if it has no usual name.")]


@data.command("import")
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
    limit: Annotated[int, typer.Option(min=0, help="Traces: at most so many questions, from all strata; 0 for all.")] = 0,
    seed: Annotated[int, typer.Option(help="Traces: the seed of the draw.")] = 0,
    beside: Annotated[
        Path | None, typer.Option(help="Traces: a questions.jsonl whose questions are not drafted again.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a golden set of questions in CSV, XLSX, Parquet, JSON, or in the format of another tool.

    Others: ragas, BEIR, MTEB, AutoRAG, Hugging Face datasets on disk, LangSmith, Langfuse, promptfoo, conversations. Contexts
    become evidence where they are found in the documents: letter by letter, as rendered, or with 90 % of their letters and
    digits and all of their numbers. Without --documents they become documents. Nothing is run or fetched.

    Traces of OpenTelemetry, MLflow, Langfuse and LangSmith become drafts, tagged thumbs_down, low_margin or new_topic.
    """
    from rag.documents.folder.json_rows import read_rows
    from rag.plugins.exchange_formats import imports
    from rag.plugins.exchange_formats.samples import Reading
    from rag.plugins.exchange_formats.shown import imported

    named = {"text": question, "answers": answer, "contexts": context, "document": document, "id": id, "kind": kind}
    given = {name: column for name, column in named.items() if column}
    known = [row.text("text") for row in read_rows(beside)] if beside else []
    report, place = imports.import_questions(source, to, documents, given, Reading(format, limit, seed, known))
    print_json(report.to_json()) if as_json else imported(report, place)


@data.command("export")
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
    from rag.evaluation.data import golden as golden_sets
    from rag.plugins.exchange_formats.exports import export_set, rows_of
    from rag.plugins.exchange_formats.shown import exported

    loader, questions = opened_set(name, overrides)
    golden = golden_sets.load(loader, questions)
    rows = list(rows_of(golden, questions))
    lost = export_set(rows, golden.documents, format, to)
    print_json({"folder": str(to), "questions": len(rows), "not_held": dict(lost)}) if as_json else exported(
        to, len(rows), lost
    )
