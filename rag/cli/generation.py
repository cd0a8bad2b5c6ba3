"""The verb that makes a golden set from documents."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import data
from rag.cli.options import Json, print_json


@data.command()
def generate(
    to: Annotated[Path, typer.Option(help="The folder of the new set; an existing set is not overwritten.")],
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="A folder or a dataset, and Hydra overrides, for example language=german.", metavar="[FOLDER] KEY=VALUE …"
        ),
    ] = None,
    questions: Annotated[int, typer.Option(min=1, max=10_000, help="The most questions.")] = 100,
    kinds: Annotated[str, typer.Option(help="Kinds of questions, with commas between, for example table,factoid.")] = "",
    model: Annotated[bool, typer.Option("--model", help="Ask the generator of the config for questions first.")] = False,
    model_filters: Annotated[
        str, typer.Option(help="Filters that ask the model: evidence,closed_book,others, or none. Default: all.")
    ] = "",
    style_from: Annotated[Path | None, typer.Option(help="A questions.jsonl whose questions show how people ask.")] = None,
    as_json: Json = False,
) -> None:
    """Make a golden set from documents: questions with their evidence, without a key and without a model.

    Rules make questions from tables, definitions, lists, numbers, dates and plain statements; filters drop those that another
    passage answers as well, that give their answer away, or that make no sense alone. The report counts what is kept and what
    is dropped, and shows how well the set tells trials apart. Read the questions before you rely on them: rag data review.

    With --model the generator of the config is asked first, and rules make the rest; replies are stored, so that the same
    command continues after a kill or a spent budget. docs/generation.md says what a reply must hold.

    --json: questions, path, proposed (by method), dropped (by reason), unread (candidates that were not needed), notes, kinds,
    methods, documents, clusters, word_overlap, answered_elsewhere, answerable_without_evidence, solved_by_all, solved_by_none,
    solved (share of questions by trial of the probe).
    """
    from rag.api.generation import generate_set
    from rag.api.ingestion import config_of_folder, overrides_of
    from rag.config.compose import written
    from rag.reporting.terminal import generation

    chosen = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    filters = [name.strip() for name in model_filters.split(",") if name.strip() not in ("", "none")]
    made, report = generate_set(what or (), to, questions, chosen, model, filters if model_filters else None, style_from)
    place = config_of_folder(what or ())["loader"].get("path", "")
    own = [written("loader.path", place)] if Path(place) != to / "documents" else []
    own += [each for each in overrides_of(what or ()) if not each.startswith(("dataset", "loader=", "loader.path="))]
    print_json(report) if as_json else generation.generated(made, report, [written("dataset.path", str(to)), *own])
