"""What attacks did, trial by trial: a table for the terminal and the same as Markdown."""

from collections.abc import Callable, Sequence

from rag.analysis.attacks import LINKS, SUCCESS, Arm, Attacked, Difference, Share
from rag.evaluation.statistics.paired import ALPHA
from rag.reporting.terminal.output import Table, escape, number, out

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
"""What guards do to attacked questions, and to benign ones, which the last three are about."""

SAID = {True: "reached", False: "missed", None: "not known"}


def share(found: Share | None) -> str:
    """A rate and its interval."""
    if found is None or not found.n:
        return "–"
    low, high = found.interval
    return f"{number(found.rate)} [{number(low)}, {number(high)}]"


def attacks(found: Attacked) -> None:
    """Print trials, differences and goals."""
    for head, rows in tables(found):
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
        for name in head:
            table.add_column(escape(name))
        for row in rows:
            table.add_row(*map(escape, row))
        out.print(table)
        out.print()
    for line in goals(found):
        out.print(line, markup=False, soft_wrap=True)


def markdown(found: Attacked) -> str:
    """The same as a Markdown file."""
    parts = [f"# Attacks: {found.experiment}"]
    for head, rows in tables(found):
        lines = [head, tuple("---" for _ in head), *rows]
        parts.append("\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines))
    return "\n\n".join([*parts, "\n".join(f"- {line}" for line in goals(found))]) + "\n"


def tables(found: Attacked) -> list[tuple[Row, list[Row]]]:
    """What attacks did, what guards cost, success by part of the attacks, paired differences: a head and rows each."""
    parts: list[tuple[Row, list[Row]]] = []
    for cells in (SUCCEED, COST):
        rows = [tuple(cell(arm) for _, cell in cells) for arm in found.arms]
        parts.append((tuple(name for name, _ in cells), rows))
    parts.append(_by_part(found))
    if found.differences:
        parts.append((("trial", "minus", "in", "difference", "p", "questions"), [_row(one) for one in found.differences]))
    return parts


def _by_part(found: Attacked) -> tuple[Row, list[Row]]:
    named = list(dict.fromkeys(name for arm in found.arms for name in arm.parts))
    rows = []
    for name in named:
        shares = [arm.parts.get(name) for arm in found.arms]
        counts = [f"{one.hits}/{one.n}" if one else "–" for one in shares]
        rows.append((name, *counts))
    return ("succeed of", *(arm.name for arm in found.arms)), rows


def _row(one: Difference) -> Row:
    shown = f"{number(one.mean)} [{number(one.low)}, {number(one.high)}]"
    where = one.column if one.column == SUCCESS else f"{one.column}, benign"
    return one.arm, one.base, where, shown if one.p_adjusted <= ALPHA else f"({shown})", number(one.p_adjusted), str(one.n)


def goals(found: Attacked) -> list[str]:
    """Whether the goals were reached, in sentences."""
    bare, full, reached = found.undefended, found.full, found.goals()
    rate = number(full.parts["all"].rate)
    over = f" of {number(bare.parts['all'].rate)} without guards" if bare else ""
    links = share(full.parts.get(f"kind={LINKS}"))
    return [
        f"{full.name}: {rate}{over}; at most a tenth: {SAID[reached['at most a tenth']]}.",
        f"{full.name}: links and images {links}; none: {SAID[reached['no link or image']]}.",
    ]
