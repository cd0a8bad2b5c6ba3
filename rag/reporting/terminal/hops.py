"""The searches of policies, one row each."""

from collections.abc import Sequence

from rag.analysis.hops import Hops
from rag.reporting.terminal.output import escape, number, out, table


def hops(experiment: str, measured: Sequence[Hops]) -> None:
    """Print a table per trial, and what was wasted."""
    if not measured:
        out.print(f"No trial of {escape(experiment)} has run with a policy. For example: rag sweep loops")
    for each in measured:
        out.print(f"{escape(each.name)} ({each.trial}), {each.questions} questions with evidence", soft_wrap=True)
        shown = table("hop", "questions", "gained", "recall", "full", words=0)
        for hop in each.hops:
            shown.add_row(str(hop.number), str(hop.made), str(hop.gained), number(hop.recall), number(hop.full))
        out.print(shown)
        made, needed, wasted = number(each.hops_made, 2), number(each.needed, 2), number(each.wasted)
        out.print(f"{made} hops per question, the last gain after {needed}; {wasted} of all hops wasted.")
        out.print(f"{number(each.complete)} of the evidence of {each.several} questions with several pieces.")
        took = f"{number(each.calls, 2)} calls of a model, {number(each.tokens, 0)} tokens, {number(each.seconds, 3)} s"
        out.print(f"Per question: {took}.\n")
