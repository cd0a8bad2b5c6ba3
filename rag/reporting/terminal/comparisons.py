"""Comparisons: the finding in a sentence, then every difference that was tested."""

import math
from collections.abc import Callable, Mapping, Sequence

from rag.analysis.compare import Comparison
from rag.analysis.compare import Table as Differences
from rag.analysis.compare.trials import Compared
from rag.config.stand_ins import remark
from rag.core.figures import amount, brackets, figure
from rag.evaluation.statistics.paired import FEW, rough
from rag.execution.sweep.trial_scores import Result
from rag.reporting.terminal.output import Table, escape, out, print_line, table

Cell = Callable[[Comparison], str]

NAMED = 12
"""Questions named of those that were left out; --json names all."""
THOUSANDS, MANY = 10_000, 100_000
"""Counts of questions from which on only thousands are shown, and only `>100k`."""


def comparisons(found: Compared) -> None:
    """Print a block per candidate: a sentence, all questions, then slices. Columns that do not fit are left out."""
    base = found.results[0]
    columns = _fitting(found.table.rows)
    for candidate in found.results[1:]:
        rows = [row for row in found.table.rows if row.candidate_id == candidate.trial_id]
        n, clusters = rows[0].n, rows[0].clusters
        size = amount(n, "question") + ("" if clusters == n else f" in {amount(clusters, 'cluster')}")
        out.print(f"{_called(candidate)}  against  {_called(base)}: {size}", soft_wrap=True)
        out.print(_verdict(rows), markup=False)
        out.print()
        out.print(_table(rows, columns))
        out.print()
    _footnotes(found.table, columns)
    for result in found.results:
        if said := remark(result.config):
            out.print(f"{escape(result.name)}: {escape(said)}", soft_wrap=True)


def _called(result: Result) -> str:
    return f"[bold]{escape(result.name)}[/bold]" + (f" {result.trial_id}" if result.trial_id != result.name else "")


def _verdict(rows: Sequence[Comparison]) -> str:
    tested = [row for row in rows if row.tested]
    better, worse = ([row for row in tested if row.significant and _gain(row) * sign > 0] for sign in (1, -1))
    sentences = [f"{word}: {_listed(part)}." for word, part in (("Better", better), ("Worse", worse)) if part]
    left = len(tested) - len(better) - len(worse)
    if sentences:
        return " ".join(sentences) + (f" Not told apart in {left} of {len(tested)}." if left else "")
    if not tested:
        return "Nothing can be told from a single cluster of questions."
    least = _detectable(tested[0])
    size = "" if least in ("–", "none") else f" On {_listed(tested[:1])} a difference of {least} would have shown."
    return f"Not told apart{f' in any of {len(tested)} differences' if len(tested) > 1 else ''}.{size}"


def _gain(row: Comparison) -> float:
    """The difference, above 0 where the candidate is better."""
    return -row.difference if row.lower else row.difference


def _listed(rows: Sequence[Comparison]) -> str:
    """Columns, then the slices of each."""
    columns = [row.column for row in rows if not row.slice]
    groups: dict[str, list[str]] = {}
    for row in rows:
        if row.slice:
            groups.setdefault(_group(row), []).append(row.slice.partition("=")[2])
    return "; ".join(filter(None, [", ".join(columns), *(f"{group} in {', '.join(names)}" for group, names in groups.items())]))


def _table(rows: Sequence[Comparison], columns: Mapping[str, Cell]) -> Table:
    shown = table("", *columns)
    for column, title in zip(shown.columns[1:], columns, strict=True):
        column.justify = "left" if title == BRACKETS else "right"
    group = ""
    for row in rows:
        if _group(row) != group:
            group = _group(row)
            shown.add_row(f"[bold]{escape(group)}[/bold]")
        style = "" if not row.significant else "bold green" if _gain(row) > 0 else "bold red"
        shown.add_row(escape(_name(row)), *(escape(cell(row)) for cell in columns.values()), style=style)
    return shown


def _group(row: Comparison) -> str:
    return f"{row.column} by {row.slice.partition('=')[0]}" if row.slice else ""


def _name(row: Comparison) -> str:
    return f"  {row.slice.partition('=')[2]}" if row.slice else row.column


def _fitting(rows: Sequence[Comparison]) -> dict[str, Cell]:
    """The columns that fit, in their order; a long name takes several lines."""
    idle = {BELIEVED: all(not row.slice for row in rows), CLUSTERS: all(row.clusters == row.n for row in rows)}
    wanted = [title for title in OPTIONAL if not idle.get(title)]
    names = min(max(max(len(_name(row)), len(_group(row))) for row in rows), max(out.width // 4, 20))
    shown = [title for title in COLUMNS if title not in OPTIONAL]
    room = out.width - names - sum(_width(title, rows) for title in shown)
    for title in wanted:
        room -= _width(title, rows)
        if room >= 0:
            shown.append(title)
    return {title: cell for title, cell in COLUMNS.items() if title in shown}


def _width(title: str, rows: Sequence[Comparison]) -> int:
    return 2 + max(*(len(COLUMNS[title](row)) for row in rows), *map(len, title.split("\n")))


def _interval(row: Comparison) -> str:
    # Without any spread there is no interval.
    return "–" if row.corrected_low == row.corrected_high else brackets(row.corrected_low, row.corrected_high) or "–"


def _detectable(row: Comparison) -> str:
    return "none" if row.detectable > 1 >= max(row.base_mean, row.candidate_mean) else figure(row.detectable)


def _needed(row: Comparison) -> str:
    if not math.isfinite(row.needed):
        return "–"
    if row.needed >= THOUSANDS:
        return f"{row.needed / 1000:.0f}k" if row.needed < MANY else f">{MANY // 1000}k"
    return f"{math.ceil(row.needed):,}"


BRACKETS, BELIEVED, CLUSTERS, SHOW, NEEDS = "95 %", "shrunk", "clus-\nters", "could\nshow", "needs\nn"
COLUMNS: dict[str, Cell] = {
    "n": lambda row: str(row.n),
    CLUSTERS: lambda row: str(row.clusters),
    "base": lambda row: figure(row.base_mean),
    "this": lambda row: figure(row.candidate_mean),
    "diff ": lambda row: figure(row.difference, signed=True) + ("*" if row.significant else " "),
    BRACKETS: _interval,
    "p": lambda row: "<.001" if row.p_adjusted < 0.001 else "1" if row.p_adjusted > 0.9995 else figure(row.p_adjusted),
    "+/=/−": lambda row: f"{row.wins}/{row.ties}/{row.losses}",
    "effect": lambda row: figure(row.effect, 2),
    BELIEVED: lambda row: figure(row.shrunk) if row.slice else "",
    SHOW: _detectable,
    NEEDS: _needed,
}
NOTE = "brackets are joint 95 % intervals, p is adjusted for all of them, * is significant at 5 %."
NOTES = {
    "+/=/−": "+/=/− counts questions.",
    BELIEVED: "shrunk: what can be believed of a slice of this size, drawn towards all questions.",
    SHOW: "could show: what these questions find in 4 of 5 tries.",
    NEEDS: "needs n: how many find this difference.",
}
OPTIONAL = ("+/=/−", CLUSTERS, BELIEVED, "base", "this", "effect")
"""Columns that are left out where they do not fit; the first ones are kept longest."""


def _footnotes(table: Differences, columns: Mapping[str, Cell]) -> None:
    looked = "1 difference was" if table.family == 1 else f"{table.family} differences were"
    notes = [
        f"{looked} looked at together: {NOTE}" if table.family else "",
        rough(max((row.clusters for row in table.rows), default=FEW)),
    ]
    notes += [NOTES[title] for title in NOTES if title in columns]
    notes += [] if all(row.tested for row in table.rows) else ["A single cluster of questions is not tested."]
    out.print(f"[dim]{' '.join(filter(None, notes))}[/dim]")
    for note in table.notes:
        print_line(note)
    reasons = {"only a candidate has": table.added, "only the base has": table.removed, "say something else": table.changed}
    for reason, names in reasons.items():
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            print_line(f"Not compared: {amount(len(names), 'question')} that {reason}: {', '.join(names[:NAMED])}{more}")
