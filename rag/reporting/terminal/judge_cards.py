"""The calibration card of a judge."""

from collections.abc import Mapping
from typing import Any

from rag.evaluation.statistics.agreement import Difference, Estimate
from rag.execution.judges.calibration import Card
from rag.reporting.terminal.output import Table, escape, interval, number, out


def card(name: str, found: Card) -> None:
    """How a judge agrees with people, its baselines beside it."""
    how = "weights of the other sets that it was fitted on" if found.held_out else "fitted on nothing in this set"
    kind = escape(", ".join(found.kinds) or "texts of unknown kind")
    texts = f"{found.texts} texts, {found.clusters} clusters"
    out.print(f"[bold]{escape(name)}[/bold] on {escape(found.data)} ({kind}): {texts} ({how})")
    out.print(f"{found.supported} supported, {found.abstained} abstentions, {found.failed} not judged")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("", "value", "beside the judge"):
        table.add_column(column)
    table.add_row("AUC", _shown(found.auc), "")
    table.add_row("  word overlap", _shown(found.overlap_auc), _beside(found.over_overlap))
    table.add_row("  length", _shown(found.length_auc), _beside(found.over_length))
    for title, value in _decisions(found).items():
        table.add_row(title, _shown(value), f"support ≥ {found.threshold:g}")
    table.add_row("calibration error", number(found.error), "")
    out.print(table)
    for remark in found.remarks:
        out.print(f"[bold]This judge {escape(remark)}.[/bold]" if remark.startswith("does") else escape(remark))


def weights(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Weights as a YAML of conf/judge/ has them."""
    lines = ["weights:", *(f"  {name}: {value}" for name, value in found["weights"].items()), "fitted_on:"]
    for digest, own in found["fitted_on"].items():
        lines.append(f"  {digest}: {{{', '.join(f'{name}: {weight}' for name, weight in own.items())}}}")
    out.print("\n".join(lines), highlight=False, soft_wrap=True)


def _decisions(found: Card) -> dict[str, Estimate]:
    names = ("kappa", "sensitivity", "specificity", "accuracy")
    return {name: getattr(found, name) for name in names}


def _shown(found: Estimate) -> str:
    return interval({"mean": found.value, "low": found.low, "high": found.high})


def _beside(over: Difference) -> str:
    return f"{over.value:+.3f} \\[{number(over.low)}, {number(over.high)}], p {over.p:.2g}"
