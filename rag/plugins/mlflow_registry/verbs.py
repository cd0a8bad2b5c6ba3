"""Verbs that put bundles into MLflow's model registry, and move its aliases."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import bundle as bundles
from rag.cli.app import verb
from rag.cli.options import Bridge, Inconclusive, Json, TrustHost, print_json


@verb(bundles)
def register(
    bundle: Annotated[Path, typer.Argument(help="A sealed folder, or its archive.")],
    name: Annotated[str, typer.Argument(help="The registered model that it becomes a version of.")],
    alias: Annotated[str, typer.Option(help="The alias that then points at the version.")] = "challenger",
    trust_host: TrustHost = None,
    as_json: Json = False,
) -> None:
    """Log a bundle to MLflow as a version of a registered model; it is loaded from code, without pickle.

    --json: model, version, bundle (its hash), aliases, uri, tracking (the MLflow it is in), prompt (its URI
    in the registry of prompts, empty where no model reads it) and new, false for a bundle that is a version already.
    """
    from rag.plugins.mlflow_registry import register as registry
    from rag.plugins.mlflow_registry.shown import registered

    found = registry.register(bundle, name, alias, tuple(trust_host or ()))
    print_json(found.to_json()) if as_json else registered(found)


@verb(bundles)
def promote(
    name: Annotated[str, typer.Argument(help="The registered model.")],
    version: Annotated[int | None, typer.Option(help="The version, if not that of the alias challenger.")] = None,
    experiment: Annotated[str, typer.Option(help="Whose gate counts, if not that of the bundle's own experiment.")] = "",
    bridge: Bridge = None,
    inconclusive: Inconclusive = "",
    as_json: Json = False,
) -> None:
    """Make a version the champion if the gate says that it is not worse: exit code 0 not worse, 1 worse, 3 undecided.

    Its scores are compared with those of the champion, question by question, as they are sealed in the two bundles.

    --json: model, promoted, verdict, sentence, exit_code, split; champion (null for none) and challenger: version, bundle,
    trial, name; rows and bounds as those of rag gate --json.
    """
    from rag.plugins.mlflow_registry import promote as registry
    from rag.plugins.mlflow_registry.shown import promoted

    found = registry.promote(name, version, registry.PromotionRequest(experiment, tuple(bridge or ()), inconclusive))
    print_json(found.to_json()) if as_json else promoted(found)
    if found.exit_code:
        raise typer.Exit(found.exit_code)
