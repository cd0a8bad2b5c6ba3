"""What a reader must know of the judges of a sweep."""

from collections.abc import Sequence

from rag.evaluation.statistics.agreement import Estimate
from rag.execution.judges.judge_agreement import Concordance
from rag.execution.judges.judge_report import SHOWN, Assessor
from rag.reporting.terminal.output import escape, interval, out


def judges(found: Sequence[Assessor], agreements: Sequence[Concordance] = (), asking: Sequence[Assessor] = ()) -> None:
    """One line per remark, and per two judges that judged the same answers; `asking` are metrics with a model of their own."""
    for judge in (*found, *asking):
        for remark in judge.remarks:
            out.print(f"[yellow]{escape(remark)}.[/yellow]")
        for mean in judge.corrected[:SHOWN]:
            out.print(f"{escape(mean.sentence)}.")
    if any(not judge.cards for judge in found):
        out.print("rag judge calibrate judge=<choice> measures one; rag track then tells MLflow.")
    for one in agreements:
        concordance(one)


def concordance(found: Concordance) -> None:
    """How far two judges agree, on one line."""
    figures = (("Spearman", found.spearman), ("Kendall", found.kendall), ("kappa", found.kappa))
    told = ", ".join(f"{name} {_shown(value)}" for name, value in figures)
    answers = f"{found.answers:,} {'answer' if found.answers == 1 else 'answers'}"
    out.print(f"{escape(found.first)} and {escape(found.second)} on faithfulness of {answers}: {told}.")


def _shown(found: Estimate) -> str:
    return interval({"mean": found.value, "low": found.low, "high": found.high})
