"""A report as Markdown: the same findings in text, for a terminal, a review or an archive."""

import re
from collections.abc import Iterator, Sequence

from rag.reporting.html import number_format, wording
from rag.reporting.html.number_format import difference, interval, mean
from rag.reporting.html.page import board, heat
from rag.reporting.html.view_model import Listing, Material

SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
BEGINS = re.compile(r"^([#+=>-]|\d+(?=[.)]))")


def render(material: Material) -> str:
    """The whole report; what comes from names and documents stands as text, whatever is in it."""
    parts = (_head, _leaderboard, _tradeoffs, _effects, _slices, _losses, _headroom, _checks, _latency, _reading)
    return "\n".join(line for part in parts for line in part(material)) + "\n"


def escape_markdown(text: str) -> str:
    """Text that Markdown takes for text: on one line, every sign that means something escaped, no HTML."""
    text = SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("://", "&#58;//")
    return BEGINS.sub(_begun, text)


def _begun(match: re.Match[str]) -> str:
    """What would begin a heading, a list or a quotation does not: a digit keeps its place, its dot is escaped."""
    return f"&#{ord(match[1])};" if len(match[1]) == 1 else f"&#{ord(match[1][0])};{match[1][1:]}"


def code(text: str) -> str:
    """Text in a code span that no backtick in it can end."""
    text = " ".join(str(text).split())
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _table(heads: Sequence[str], rows: Iterator[Sequence[str]] | Sequence[Sequence[str]], left: int = 1) -> Iterator[str]:
    yield f"| {' | '.join(map(escape_markdown, heads))} |"
    yield f"| {' | '.join('---' if place < left else '---:' for place in range(len(heads)))} |"
    yield from (f"| {' | '.join(map(escape_markdown, row))} |" for row in rows)
    yield ""


def _head(material: Material) -> Iterator[str]:
    head = wording.headline(material)
    yield f"# {escape_markdown(material.question)}"
    yield ""
    name = f" **{escape_markdown(head.name)}**" if head.name else ""
    yield f"**{escape_markdown(head.lead)}**{name}{f' ({code(head.trial_id)})' if head.trial_id else ''}"
    yield ""
    for title, text in (("Why", head.why), ("How sure", " ".join(head.sure)), ("What it costs", head.cost)):
        if text:
            yield f"- {title}: {escape_markdown(text)}"
    yield f"- Next: {code(head.command)}"
    yield ""


def _leaderboard(material: Material) -> Iterator[str]:
    found = board(material)
    yield "## Leaderboard"
    yield ""
    if found.lines:
        tied = material.verdict.tied if material.verdict else ()
        held = (found.holdout,) if found.holdout else ()
        heads = ("trial", "#", found.objective, *held, *found.heads, "id")
        rows = (
            (
                row.name + (" (tied)" if row.trial_id in tied else ""),
                str(rank),
                interval(row.score, material.digits),
                *([interval(row.holdout, material.digits) if row.holdout else ""] if held else []),
                *cells,
                row.trial_id,
            )
            for rank, row, cells in found.lines
        )
        yield from _table(heads, rows)
    for line in wording.failures(material):
        yield f"- {escape_markdown(line)}"
    yield ""


def _tradeoffs(material: Material) -> Iterator[str]:
    front = [row for row in material.done if row.front]
    yield "## Trade-offs"
    yield ""
    if not front:
        yield from _missing(material, "pareto", "No front was computed: it is part of a verdict.")
        return
    yield "No other trial beats these in quality, latency, cost or size without being worse in another:"
    yield ""
    asked = material.data.questions
    yield from (
        f"- {escape_markdown(row.name)}: {mean(material.quality(row))}; "
        + escape_markdown(", ".join(number_format.costs(row, asked)))
        for row in front
    )
    yield ""


def _effects(material: Material) -> Iterator[str]:
    yield "## What matters"
    yield ""
    if not material.effects:
        yield from _missing(material, "effects", "Nothing was varied.")
        return
    if material.effects_sentence:
        yield escape_markdown(material.effects_sentence)
        yield ""
    found = (*material.effects, *material.interactions)
    rows = (
        (
            f"{one.axis}: {one.choice}{f' with {one.other}' if one.other else ''}",
            *(one.reference, difference(one.effect), number_format.number(one.p_adjusted)),
        )
        for one in found
    )
    yield from _table(("choice", "against", "effect", "p adjusted"), list(rows), 2)


def _slices(material: Material) -> Iterator[str]:
    found = heat(material)
    yield "## Slices"
    yield ""
    if found is None:
        yield from _missing(material, "heat", "There is nothing to slice by.")
        return
    heads = ("trial", *(f"{name} (n={n})" for name, n, _ in found.slices))
    yield from _table(heads, [(name, *(text for text, _ in cells)) for name, _, cells in found.lines])


def _losses(material: Material) -> Iterator[str]:
    yield "## Losses"
    yield ""
    found = material.blame
    if found is None:
        yield from _missing(material, "blame", "Nothing was lost.")
        return
    yield escape_markdown(wording.losses(material))
    yield ""
    names = {row.trial_id: row.name for row in material.trials}
    rows = [
        (names.get(trial_id, trial_id), *map(str, counts)) for trial_id, counts in zip(found.trials, found.counts, strict=True)
    ]
    yield from _table(("trial", *found.stages), rows)


def _headroom(material: Material) -> Iterator[str]:
    yield "## Headroom"
    yield ""
    if not material.headroom:
        yield from _missing(material, "headroom", "It is not known.")
        return
    yield escape_markdown(material.headroom_sentence)
    yield ""
    yield from _table(("perfect part", "gain"), [(gain.part, difference(gain.gain)) for gain in material.headroom])


def _checks(material: Material) -> Iterator[str]:
    yield "## Checks"
    yield ""
    listings = (
        ("found", "What checks and guards found", material.found),
        ("controls", "Controls", material.controls),
        ("judges", "Judges", material.judges),
        ("audit", "Approximate search", material.audit),
    )
    for section, title, found in listings:
        yield f"### {title}"
        yield ""
        yield from _listing(found) if found else _missing(material, section, "Nothing was found.")


def _listing(found: Listing) -> Iterator[str]:
    if found.sentence:
        yield escape_markdown(found.sentence)
        yield ""
    yield from _table(("", *found.columns), [(line.name, *line.cells) for line in found.lines])


def _latency(material: Material) -> Iterator[str]:
    yield "## Latency"
    yield ""
    rows = [row for row in material.done if number_format.LATENCY in row.measured]
    if not rows:
        yield from _missing(material, "latency", "Latency was not measured: latency=16 times sixteen questions of every trial.")
        return
    names = ("latency_p50_ms", number_format.LATENCY)
    cells = [(row.name, *(number_format.number(row.measured.get(name), 1) for name in names)) for row in rows]
    yield from _table(("trial", "median ms", "p95 ms"), cells)


def _reading(material: Material) -> Iterator[str]:
    data = material.data
    yield "## How to read this"
    yield ""
    asked = f"{number_format.amount(data.questions, 'question')} in {number_format.amount(data.clusters, 'cluster')}"
    over = f"{number_format.amount(data.documents, 'document')}; digest {code(data.digest)}"
    yield f"- Data: {escape_markdown(data.name)} ({escape_markdown(data.split)}): {asked}, {over}"
    yield f"- Intervals: 95 %, by clusters of questions. Objective: {escape_markdown(material.objective)}"
    yield f"- Work: {escape_markdown(wording.reuse(material))}"


def _missing(material: Material, section: str, otherwise: str) -> Iterator[str]:
    yield escape_markdown(material.missing.get(section, otherwise))
    yield ""
