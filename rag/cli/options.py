"""What several verbs take."""

from typing import Annotated

import typer

from rag.cli import completion

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        help="Hydra overrides, for example chunker=sentence k=10; rag list has all.",
        metavar="KEY=VALUE …",
        autocompletion=completion.overrides,
    ),
]
Experiment = Annotated[str, typer.Argument(help="A name that rag list has, or a path.", autocompletion=completion.experiments)]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else there.")]
Place = Annotated[str, typer.Option("--store", help="Folder or fsspec URL.")]
Track = Annotated[bool, typer.Option(help="Send the trials to MLflow.")]
INTERRUPTED, FAILED, BAD_INPUT, UNSURE, SPENT = 130, 1, 2, 3, 4
"""Exit codes besides 0 and `rag.core.errors.CRASHED`."""
