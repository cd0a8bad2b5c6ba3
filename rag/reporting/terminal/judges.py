"""The judges of a sweep, and the calibration card of a judge."""

from collections.abc import Mapping, Sequence
from typing import Any

from rag.core.figures import figure, with_interval
from rag.evaluation.statistics.agreement import Difference
from rag.execution.judges.calibration import Card
from rag.execution.judges.human_labels import CORRECTNESS
from rag.execution.judges.judge_report import SHOWN, Assessor
from rag.reporting.terminal.output import dimmed, escape, out, table


def judges(assessors: Sequence[Assessor], asking: Sequence[Assessor] = ()) -> None:
    """Print a line per remark on a judge; `asking` are metrics that ask a model of their own."""
    for judge in (*assessors, *asking):
        for remark in judge.remarks:
            out.print(f"[yellow]{escape(remark)}.[/yellow]")
        for mean in judge.corrected[:SHOWN]:
            out.print(f"{escape(mean.sentence)}.")


def card(name: str, found: Card) -> None:
    """Print how a judge agrees with human labels, and the same of its baselines: word overlap and length."""
    how = "weights of the other sets that it was fitted on" if found.held_out else "fitted on nothing in this set"
    kind = escape(", ".join(found.kinds) or "texts of unknown kind")
    texts = f"{found.texts} texts, {found.clusters} clusters"
    out.print(f"[bold]{escape(name)}[/bold] on {escape(found.title)} ({kind}): {texts} ({how})")
    label = "right" if found.task == CORRECTNESS else "supported"
    out.print(f"{found.supported} {label}, {found.abstained} abstentions, {found.failed} not judged")
    shown = table("", "value", "against the judge", words=3)
    shown.add_row("AUC", dimmed(with_interval(found.auc)), "")
    shown.add_row("  word overlap", dimmed(with_interval(found.overlap_auc)), _difference(found.over_overlap))
    shown.add_row("  length", dimmed(with_interval(found.length_auc)), _difference(found.over_length))
    for title in ("kappa", "sensitivity", "specificity", "accuracy"):
        shown.add_row(title, dimmed(with_interval(getattr(found, title))), f"support ≥ {found.threshold:g}")
    shown.add_row("calibration error", figure(found.error), "")
    out.print(shown)
    for remark in found.remarks:
        out.print(f"[bold]This judge {escape(remark)}.[/bold]" if remark.startswith("does") else escape(remark))


def _difference(over: Difference) -> str:
    return f"{dimmed(with_interval(over, signed=True))}, p {over.p:.2g}"


def weights(found: Mapping[str, Mapping[str, Any]]) -> None:
    """Print weights as YAML for a file in conf/judge/."""
    lines = ["weights:", *(f"  {name}: {value}" for name, value in found["weights"].items()), "fitted_on:"]
    for digest, own in found["fitted_on"].items():
        lines.append(f"  {digest}: {{{', '.join(f'{name}: {weight}' for name, weight in own.items())}}}")
    out.print("\n".join(lines), highlight=False, soft_wrap=True)
