"""Verbs over MLflow's model registry."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import app
from rag.cli.options import Json


@app.command()
def register(
    bundle: Annotated[Path, typer.Argument(help="A sealed folder, or its archive.")],
    name: Annotated[str, typer.Argument(help="The registered model that it becomes a version of.")],
    alias: Annotated[str, typer.Option(help="The alias that points at the version then.")] = "challenger",
    as_json: Json = False,
) -> None:
    """Log a bundle to MLflow as a version of a registered model; it is loaded from code, without pickle.

    --json: model, version, bundle (its hash), aliases, uri and new, false for a bundle that is a version already.
    """
    from rag.registry.register import register as registered
    from rag.terminal import print_json
    from rag.terminal import registry as shown

    found = registered(bundle, name, alias)
    print_json(found.to_json()) if as_json else shown.registered(found)
