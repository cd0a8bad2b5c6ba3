"""Verbs about judges."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.app import app
from rag.cli.options import Experiment, Json, Overrides, Place

if TYPE_CHECKING:
    from rag.config.build import Components
    from rag.execution.judges.human_labels import Labelled

judges = typer.Typer(no_args_is_help=True, help="Judges of faithfulness: how far one can be trusted.")
app.add_typer(judges, name="judge")
Chosen = Annotated[
    list[str] | None,
    typer.Argument(
        help="judge=<choice>, data=wice|mtrag|scifact|halueval|<path.jsonl>, and parameters of the judge.",
        metavar="KEY=VALUE …",
    ),
]


@judges.command()
def calibrate(chosen: Chosen = None, store: Place = ".rag/store", as_json: Json = False) -> None:
    """Measure a judge against people's labels: AUC, kappa, sensitivity, specificity, beside word overlap and length.

    The card is stored under the judge's identity. A judge that was fitted on these labels too is measured with the weights that
    its other labels give. A line of an own file: {"text": …, "contexts": […], "supported": true}, and if known "question",
    "cluster" and "kind" (answer unless told).
    """
    from rag.core.errors import ConfigError
    from rag.execution.judges.calibration import card_of, keep
    from rag.execution.store import maintenance
    from rag.reporting import terminal
    from rag.reporting.terminal import judge_cards

    name, node, components, (data, *more) = _chosen(chosen or (), "mtrag", store)
    if more:
        raise ConfigError("data", f"names {1 + len(more)} sets", "one set: a card is about one")
    judge = components.role("judge", node)
    with terminal.Waiting(f"{name} judges {len(data.cases):,} texts of {data.name} …"):
        found = card_of(judge, data, components.identity(node, "judge"), maintenance.at(store))
    terminal.print_json(found.to_json()) if as_json else judge_cards.card(name, found)
    keep(found, maintenance.at(store))  # After it is shown: what took minutes is not lost with a store that cannot be written.


@judges.command()
def fit(chosen: Chosen = None, as_json: Json = False) -> None:
    """Fit the weights of a judge to people's labels, and print them as conf/judge/ has them.

    Of several sets (data=wice,mtrag,own.jsonl) each counts as much as any other. A card on one of them is made with the weights
    that the others give; a judge that was fitted on one set alone cannot be measured on that one.
    """
    from rag.core.errors import ConfigError
    from rag.execution.judges import calibration
    from rag.execution.judges.calibration import Fitted
    from rag.reporting import terminal
    from rag.reporting.terminal import judge_cards

    name, node, components, data = _chosen(chosen or (), "wice,mtrag,scifact")
    judge = components.role("judge", node)
    if not isinstance(judge, Fitted):
        raise ConfigError("judge", f"{name} has no weights that labels could give", "judge=local has")
    texts, names = sum(len(one.cases) for one in data), ", ".join(one.name for one in data)
    with terminal.Waiting(f"{name} reads {texts:,} texts of {names} …"):
        told = calibration.fit(judge, data)
    terminal.print_json(told) if as_json else judge_cards.weights(told)


@judges.command()
def agree(experiment: Experiment, overrides: Overrides = None, as_json: Json = False) -> None:
    """Say how far the judges of a finished sweep agree about the same answers: their order, and which are faithful."""
    from rag.config.experiment import load
    from rag.core.errors import DataError
    from rag.execution.judges.judge_agreement import concordances
    from rag.execution.sweep import sweep
    from rag.reporting import terminal

    ready = sweep.prepare(load(experiment, overrides or ()))
    found = concordances(ready.plan, ready.store)
    if not found:
        remedy = "make judge an axis (judge: {llm: judge=llm, ragas: judge=ragas}), ask for faithfulness, and rag sweep it"
        raise DataError(f"experiment {experiment}", "no two judges judged the same answers", remedy)
    if as_json:
        terminal.print_json({"agreement": [one.to_json() for one in found]})
    for one in () if as_json else found:
        terminal.concordance(one)


def _chosen(chosen: Sequence[str], usual: str, store: str = ".rag/store") -> "tuple[str, Any, Components, list[Labelled]]":
    """Name and config of the judge, what builds it, and the sets of labels; what its parts compute is kept in the store."""
    from rag.config.compose import compose, hydra_ready, resolve
    from rag.execution.graph.plan import components_for
    from rag.execution.judges.human_labels import labelled
    from rag.execution.store import maintenance

    known = dict(part.split("=", 1) for part in chosen if part.startswith(("judge=", "data=")))
    others = [part for part in chosen if not part.startswith(("judge=", "data="))]
    name = known.get("judge", "local")
    with hydra_ready():
        config = resolve(compose([f"judge={name}", *others]))
    data = [labelled(one) for one in known.get("data", usual).split(",")]
    return name, config["judge"], components_for(maintenance.at(store)), data
