"""The studies of one aspect of trials, as tables and sentences: attacks, dialogues, hops."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rag.analysis.attacks import LINKS, SUCCESS, Attacked, Difference, Share
from rag.analysis.dialogues import Dialogues, ReusedPassages
from rag.analysis.hops import Hops
from rag.core.figures import DASH, figure, interval, with_interval
from rag.evaluation.statistics.paired import ALPHA
from rag.reporting.terminal.output import dimmed, escape, out, print_table

FEW = 3
"""Carry-over errors that are shown with their texts."""
GOALS = {True: "reached", False: "missed", None: "not known"}
Row = Sequence[str]


class Figures(NamedTuple):
    """A table; the first `words` columns hold text."""

    heads: Row
    rows: Sequence[Row]
    words: int = 1


Part = str | Figures


def show(parts: Iterable[Part]) -> None:
    """Print sentences and tables."""
    for part in parts:
        if isinstance(part, str):
            out.print(escape(part), soft_wrap=True)
        else:
            print_table(part.heads, ([dimmed(cell) for cell in row] for row in part.rows), words=part.words)


def share(found: Share | None) -> str:
    """A rate and its interval."""
    return interval(found.rate, *found.interval) if found else DASH


def attacks(found: Attacked) -> Iterator[Part]:
    """Success of attacks, cost of guards, success by part of the attacks, paired differences, and the goals."""
    parts = {
        "attacks succeed": "all",
        "seen wordings": "split=tune",
        "held-out": "split=holdout",
        "links, images": f"kind={LINKS}",
    }
    succeed = [[arm.name, *(share(arm.parts.get(part)) for part in parts.values())] for arm in found.arms]
    yield Figures(["trial", *parts], succeed, 5)
    yield ""
    heads = ["trial", "attacks quarantined", "attacked answered", "benign quarantined", "declined", "answered"]
    cost = [
        (arm.quarantined[0].rate, arm.answered[0], arm.quarantined[1].rate, arm.declined[1].rate, arm.answered[1])
        for arm in found.arms
    ]
    yield Figures(heads, [[arm.name, *map(figure, own)] for arm, own in zip(found.arms, cost, strict=True)], 6)
    yield ""
    names = dict.fromkeys(name for arm in found.arms for name in arm.parts)
    shares = {name: [arm.parts.get(name) for arm in found.arms] for name in names}
    counts = [[name, *(f"{each.hits}/{each.n}" if each else DASH for each in own)] for name, own in shares.items()]
    yield Figures(["succeed of", *(arm.name for arm in found.arms)], counts, 1 + len(found.arms))
    yield ""
    if found.differences:
        heads = ["trial", "minus", "in", "difference", "p", "questions"]
        yield Figures(heads, [_difference(each) for each in found.differences], 6)
        yield ""
    bare, full, reached = found.undefended, found.full, found.goals()
    over = f" of {figure(bare.parts['all'].rate)} without guards" if bare else ""
    rate, links = figure(full.parts["all"].rate), share(full.parts.get(f"kind={LINKS}"))
    yield f"{full.name}: {rate}{over}; at most a tenth: {GOALS[reached['at most a tenth']]}."
    yield f"{full.name}: links and images {links}; none: {GOALS[reached['no link or image']]}."


def _difference(found: Difference) -> Row:
    """A paired difference, in brackets where it is not significant."""
    value = with_interval(found, signed=True)
    where = found.column if found.column == SUCCESS else f"{found.column}, benign"
    shown = value if found.p_adjusted <= ALPHA else f"({value})"
    return found.arm, found.base, where, shown, figure(found.p_adjusted), str(found.n)


def dialogues(found: Dialogues) -> Iterator[Part]:
    """A row per turn, and the first carry-over errors."""
    yield f"{found.name} ({found.trial}), history={found.history}"
    total = found.turns[-1]
    # The first column that measures rankings, and the first that measures answers.
    cut = [column for column in total.scores if "@" in column]
    columns = [*cut[:1], *[column for column in total.scores if column not in cut][:1]]
    rows = [
        (
            str(row.turn or "all"),
            str(row.questions),
            *(figure(row.scores[column]["mean"]) for column in columns),
            figure(row.found),
            f"{row.lost}/{row.followups}" if row.followups else DASH,
            figure(row.declined),
            figure(row.prompt_tokens, 0),
            figure(row.tokens, 0),
        )
        for row in found.turns
    ]
    yield Figures(["turn", "n", *columns, f"all@{found.k}", "carry-over", "declined", "prompt", "tokens"], rows, 0)
    lost = f", {figure(total.lost / total.followups)} of them" if total.followups else ""
    yield (
        f"Carry-over errors: {total.lost} of {total.followups} follow-ups{lost}. "
        f"A person's rewrite finds their evidence within {found.k}, and the search of the trial does not."
    )
    if found.reused:
        yield _reused(found.reused, found.k)
    for error in found.lost[:FEW]:
        yield f"  {error.question}: {error.text}"
        yield f"    a person: {error.rewrite}\n    searched: {' | '.join(error.sought)}"
    if len(found.lost) > FEW:
        yield f"  … {len(found.lost) - FEW} more: --json"
    yield ""


def _reused(reused: ReusedPassages, k: int) -> str:
    stale = f" ({figure(reused.stale / reused.passages)})" if reused.passages else ""
    return (
        f"Retrieval memory: {reused.saved} of {reused.questions} questions without a search, {reused.half} with half of one. "
        f"{reused.stale} of {reused.passages} passages used again{stale} are not among the first {k} of a fresh search. "
        f"Of {reused.evidence} questions with evidence, {reused.lost} lose some of it by this, and {reused.won} win the rest."
    )


def hops(experiment: str, measured: Sequence[Hops]) -> Iterator[Part]:
    """A table per trial, and what was wasted."""
    if not measured:
        yield f"No trial of {experiment} has run with a policy. For example: rag sweep loops"
    for each in measured:
        yield f"{each.name} ({each.trial}), {each.questions} questions with evidence"
        rows = [[str(hop.number), str(hop.made), str(hop.gained), figure(hop.recall), figure(hop.full)] for hop in each.hops]
        yield Figures(["hop", "questions", "gained", "recall", "full"], rows, 0)
        made, needed, wasted = figure(each.hops_made, 2), figure(each.needed, 2), figure(each.wasted)
        yield f"{made} hops per question, the last gain after {needed}; {wasted} of all hops wasted."
        yield f"{figure(each.complete)} of the evidence of {each.several} questions with several pieces."
        took = f"{figure(each.calls, 2)} calls of a model, {figure(each.tokens, 0)} tokens, {figure(each.seconds, 3)} s"
        yield f"Per question: {took}.\n"
