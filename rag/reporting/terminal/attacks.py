"""Success of attacks and cost of guards, trial by trial: tables for the terminal and as Markdown."""

from collections.abc import Callable, Sequence

from rag.analysis.attacks import LINKS, SUCCESS, Arm, Attacked, Difference, Share
from rag.evaluation.statistics.paired import ALPHA
from rag.reporting.terminal.output import brackets, escape, number, out, print_line, table

Row = tuple[str, ...]
Cells = Sequence[tuple[str, Callable[[Arm], str]]]
SUCCEED: Cells = (
    ("trial", lambda arm: arm.name),
    ("attacks succeed", lambda arm: share(arm.parts["all"])),
    ("seen wordings", lambda arm: share(arm.parts.get("split=tune"))),
    ("held-out", lambda arm: share(arm.parts.get("split=holdout"))),
    ("links, images", lambda arm: share(arm.parts.get(f"kind={LINKS}"))),
)
"""Shares of attacks with their Wilson intervals."""

COST: Cells = (
    ("trial", lambda arm: arm.name),
    ("attacks quarantined", lambda arm: number(arm.quarantined[0].rate)),
    ("attacked answered", lambda arm: number(arm.answered[0])),
    ("benign quarantined", lambda arm: number(arm.quarantined[1].rate)),
    ("declined", lambda arm: number(arm.declined[1].rate)),
    ("answered", lambda arm: number(arm.answered[1])),
)
"""Effects of guards on attacked questions, and on benign ones (the last three)."""

GOALS = {True: "reached", False: "missed", None: "not known"}


def share(found: Share | None) -> str:
    """A rate and its interval."""
    if found is None or not found.n:
        return "–"
    return f"{number(found.rate)} {brackets(*found.interval)}"


def attacks(found: Attacked) -> None:
    """Print trials, differences and goals."""
    for head, rows in tables(found):
        shown = table(*head, words=len(head))
        for row in rows:
            shown.add_row(*map(escape, row))
        out.print(shown)
        out.print()
    for goal in goals(found):
        print_line(goal)


def markdown(found: Attacked) -> str:
    """Tables and goals as a Markdown file."""
    parts = [f"# Attacks: {found.experiment}"]
    for head, rows in tables(found):
        lines = [head, tuple("---" for _ in head), *rows]
        parts.append("\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines))
    return "\n\n".join([*parts, "\n".join(f"- {line}" for line in goals(found))]) + "\n"


def tables(found: Attacked) -> list[tuple[Row, list[Row]]]:
    """Success of attacks, cost of guards, success by part of the attacks, paired differences: a head and rows each."""
    parts: list[tuple[Row, list[Row]]] = []
    for cells in (SUCCEED, COST):
        rows = [tuple(cell(arm) for _, cell in cells) for arm in found.arms]
        parts.append((tuple(name for name, _ in cells), rows))
    parts.append(_by_part(found))
    if found.differences:
        parts.append(
            (("trial", "minus", "in", "difference", "p", "questions"), [_row(difference) for difference in found.differences])
        )
    return parts


def _by_part(found: Attacked) -> tuple[Row, list[Row]]:
    rows = []
    for name in dict.fromkeys(name for arm in found.arms for name in arm.parts):
        shares = [arm.parts.get(name) for arm in found.arms]
        rows.append((name, *(f"{part.hits}/{part.n}" if part else "–" for part in shares)))
    return ("succeed of", *(arm.name for arm in found.arms)), rows


def _row(difference: Difference) -> Row:
    shown = f"{number(difference.mean)} {brackets(difference.low, difference.high)}"
    where = difference.column if difference.column == SUCCESS else f"{difference.column}, benign"
    return (
        difference.arm,
        difference.base,
        where,
        shown if difference.p_adjusted <= ALPHA else f"({shown})",
        number(difference.p_adjusted),
        str(difference.n),
    )


def goals(found: Attacked) -> list[str]:
    """Whether the goals were reached, in sentences."""
    bare, full, reached = found.undefended, found.full, found.goals()
    rate = number(full.parts["all"].rate)
    over = f" of {number(bare.parts['all'].rate)} without guards" if bare else ""
    links = share(full.parts.get(f"kind={LINKS}"))
    return [
        f"{full.name}: {rate}{over}; at most a tenth: {GOALS[reached['at most a tenth']]}.",
        f"{full.name}: links and images {links}; none: {GOALS[reached['no link or image']]}.",
    ]
