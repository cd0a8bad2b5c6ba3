"""Arguments and options that several verbs share, and the exit codes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli import completion

if TYPE_CHECKING:
    from rag.core.roles import Loader, Questions
    from rag.execution.sweep.sweep import Prepared

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only documents with this metadata, or field of records, for example status=current or year=2023..2024; "
        "several values of a key: any.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Hydra overrides, for example chunker=sentence k=10; rag list has all.",
        metavar="KEY=VALUE …",
        autocompletion=completion.overrides,
    ),
]
Experiment = Annotated[str, typer.Argument(help="A name that rag list has, or a path.", autocompletion=completion.experiments)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output and nothing else.")]
Place = Annotated[str, typer.Option("--store", help="Folder or fsspec URL.")]
Track = Annotated[bool, typer.Option(help="Send the trials to MLflow.")]
Yes = Annotated[bool, typer.Option("--yes", help="Sweep also where a model answered none of the questions before it.")]
Bridge = Annotated[list[str] | None, typer.Option(help="What may differ: questions, corpus, metrics, coverage or judge.")]
Lower = Annotated[list[str] | None, typer.Option(metavar="METRIC", help="Files of scores: less of this metric is better.")]
Inconclusive = Annotated[str, typer.Option(help="The verdict if the scores do not decide: warn (exit 3), fail or pass.")]
ModelFolder = Annotated[list[str] | None, typer.Option(help="The path of a model folder that a bundle names: role=PATH.")]
TrustHost = Annotated[list[str] | None, typer.Option(help="A server of models that a bundle may name.")]
INTERRUPTED, FAILED, BAD_INPUT, SPENT = 130, 1, 2, 4
"""Exit codes besides 0 and `rag.core.errors.CRASHED`."""


def prepared(experiment: str, overrides: list[str] | None) -> "Prepared":
    """The plan and the store of an experiment; UserError for anything in it that cannot run."""
    from rag.config.experiment import load
    from rag.execution.sweep.sweep import prepare

    return prepare(load(experiment, overrides or ()))


def opened_set(name: str, overrides: Sequence[str] | None) -> "tuple[Loader, Questions]":
    """The loader and the questions of a dataset; UserError for a choice or a parameter that is wrong."""
    from rag.execution.graph.plan import components_for
    from rag.execution.store import maintenance
    from rag.execution.sweep.open_config import config_of

    config = config_of([f"dataset={name}", *(overrides or ())])
    components = components_for(maintenance.at(config["store"]))
    return components.role("loader", config["loader"]), components.role("dataset", config["dataset"])


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output."""
    from rag.reporting.terminal import output

    output.print_json(content)


def print_line(text: str, *to: Any) -> None:
    """Print a text on one line; `to` is another console than standard output."""
    from rag.reporting.terminal import output

    output.print_line(text, *to)
