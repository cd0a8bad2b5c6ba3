"""Verbs about judges."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag.cli.app import study, verbs
from rag.cli.options import Json, Place, print_json

if TYPE_CHECKING:
    from rag.config.build import Components
    from rag.execution.judges.human_labels import Labelled

judges = typer.Typer(no_args_is_help=True, help="Judges of answers: measure how far to trust one.")
verbs(study, judges, "judge")
Chosen = Annotated[
    list[str] | None,
    typer.Argument(
        help="judge=<choice>, data=wice|mtrag|scifact|halueval|<path.jsonl>, task=faithfulness|correctness (then data=halueval|"
        "halueval-multi|mtrag|<path.jsonl>), and parameters of the judge.",
        metavar="KEY=VALUE …",
    ),
]


@judges.command()
def calibrate(chosen: Chosen = None, store: Place = ".rag/store", as_json: Json = False) -> None:
    """Measure a judge against human labels: AUC, kappa, sensitivity, specificity, with word overlap and length as baselines.

    The card is stored under the judge's identity. A judge that was fitted on these labels too is measured with weights from
    its other labels. A line of your own file: {"text": …, "contexts": […], "supported": true}, and if known "question",
    "cluster" and "kind" (default: answer). With task=correctness the contexts are reference answers, "supported" says whether
    the text is a right answer, and the rules of docs/correctness.md are measured with the judge.
    """
    from rag.core.errors import ConfigError
    from rag.execution.judges.calibration import card_of, keep
    from rag.execution.store import maintenance
    from rag.reporting.terminal import judges as report
    from rag.reporting.terminal.streamed_answer import Waiting

    name, node, components, (data, *more) = _chosen(chosen or (), "mtrag", store)
    if more:
        raise ConfigError("data", f"names {1 + len(more)} sets", "one set: a card belongs to one")
    judge = components.role("judge", node)
    with Waiting(f"{name} judges {len(data.cases):,} texts of {data.name} …"):
        found = card_of(judge, data, components.identity(node, "judge"), maintenance.at(store))
    print_json(found.to_json()) if as_json else report.card(name, found)
    keep(found, maintenance.at(store))  # Printed first: a card takes minutes, and the store may not be writable.


@judges.command()
def fit(chosen: Chosen = None, as_json: Json = False) -> None:
    """Fit the weights of a judge to human labels, and print them as YAML for conf/judge/.

    Several sets (data=wice,mtrag,own.jsonl) have equal weight. A card on one of them is made with weights from the others; a
    judge that was fitted on one set alone cannot be measured on that set.
    """
    from rag.core.errors import ConfigError
    from rag.execution.judges.human_labels import FAITHFULNESS, Fitted, fit
    from rag.reporting.terminal.judges import weights
    from rag.reporting.terminal.streamed_answer import Waiting

    name, node, components, data = _chosen(chosen or (), "wice,mtrag,scifact")
    judge = components.role("judge", node)
    if not isinstance(judge, Fitted) or data[0].task != FAITHFULNESS:
        raise ConfigError("judge", f"{name} has no weights to fit for this task", "judge=local task=faithfulness has")
    texts, names = sum(len(labels.cases) for labels in data), ", ".join(labels.name for labels in data)
    with Waiting(f"{name} reads {texts:,} texts of {names} …"):
        fitted = fit(judge, data)
    print_json(fitted) if as_json else weights(fitted)


def _chosen(chosen: Sequence[str], usual: str, store: str = ".rag/store") -> "tuple[str, Any, Components, list[Labelled]]":
    """Name and config of the judge, the builder of components, and the sets of labels; computed parts are kept in the store."""
    from rag.config.compose import compose, resolve
    from rag.core.checks import check_choice
    from rag.execution.graph.plan import components_for
    from rag.execution.judges.human_labels import CORRECTNESS, FAITHFULNESS, labelled
    from rag.execution.store import maintenance

    own = ("judge=", "data=", "task=")
    known = dict(part.split("=", 1) for part in chosen if part.startswith(own))
    others = [part for part in chosen if not part.startswith(own)]
    task = known.get("task", FAITHFULNESS)
    check_choice("task", task, (FAITHFULNESS, CORRECTNESS))
    name = known.get("judge", "local")
    config = resolve(compose([f"judge={name}", *others]))
    data = [labelled(labels, task) for labels in known.get("data", usual).split(",")]
    return name, config["judge"], components_for(maintenance.at(store)), data
