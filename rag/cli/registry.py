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
    trust_host: Annotated[list[str] | None, typer.Option(help="A server of models that the bundle may name.")] = None,
    as_json: Json = False,
) -> None:
    """Log a bundle to MLflow as a version of a registered model; it is loaded from code, without pickle.

    --json: model, version, bundle (its hash), aliases, uri, tracking (the MLflow it is in) and new, false for
    a bundle that is a version already.
    """
    from rag.reporting.terminal import print_json
    from rag.reporting.terminal import registry as shown
    from rag.tracking.registry.register import register as registered

    found = registered(bundle, name, alias, tuple(trust_host or ()))
    print_json(found.to_json()) if as_json else shown.registered(found)


@app.command()
def promote(
    name: Annotated[str, typer.Argument(help="The registered model.")],
    version: Annotated[int | None, typer.Option(help="The version, if not that of the alias challenger.")] = None,
    experiment: Annotated[str, typer.Option(help="Whose gate counts, if not that of the bundle's own experiment.")] = "",
    bridge: Annotated[
        list[str] | None, typer.Option(help="What may differ: questions, corpus, metrics, coverage or judge.")
    ] = None,
    inconclusive: Annotated[str, typer.Option(help="What a gate is that cannot tell: warn (exit 3), fail or pass.")] = "",
    as_json: Json = False,
) -> None:
    """Make a version the champion if the gate says that it is not worse: exit code 0 yes, 1 it is, 3 cannot be told.

    Its scores are compared with those of the champion, question by question, as they are sealed in the two bundles.

    --json: model, promoted, verdict, sentence, exit_code, split; champion (null for none) and challenger: version, bundle,
    trial, name; rows and bounds as those of rag gate --json.
    """
    from rag.reporting.terminal import print_json
    from rag.reporting.terminal import registry as shown
    from rag.tracking.registry.promote import PromotionRequest
    from rag.tracking.registry.promote import promote as promoted

    found = promoted(name, version, PromotionRequest(experiment, tuple(bridge or ()), inconclusive))
    print_json(found.to_json()) if as_json else shown.promoted(found)
    if found.exit_code:
        raise typer.Exit(found.exit_code)
