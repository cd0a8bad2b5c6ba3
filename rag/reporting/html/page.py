"""A report as one HTML file that opens from a disk. It makes no network requests, and its policy forbids them."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from rag.core.figures import amount, figure, with_interval
from rag.evaluation.data.validation import fates_in_words
from rag.execution.sweep.leaderboard import ranked
from rag.reporting import number_format
from rag.reporting.html import charts, tradeoffs, wording
from rag.reporting.html.embedded_data import BUDGET, STAGE_DIGITS, Packed, pack
from rag.reporting.html.svg import Chart
from rag.reporting.html.view_model import OUTCOMES, Material, TrialRow

CHARTS: Mapping[str, Callable[[Material], Chart | None]] = {
    "leaderboard": charts.leaderboard,
    "pareto": tradeoffs.pareto,
    "effects": charts.effects,
    "blame": charts.blame,
    "headroom": charts.headroom,
    "latency": charts.latency,
}
MOST_COLUMNS = 16
"""Metrics in the leaderboard besides the objective; it can be scrolled."""
HEAT_ROWS = 20
HEAT_STEPS = 9
SMALL_SLICE = 10
"""Questions below which a slice is written in grey, since it is shrunk almost to the trial's mean."""


def render(material: Material, budget: int = BUDGET) -> str:
    """The page. Texts of documents, questions and names are escaped."""
    packed = pack(material.explorer, budget) if material.explorer else None
    return page_of(
        "page.html",
        ["page.css"],
        [*(["common.js", "explorer.js"] if packed else []), *(["what_if.js"] if packed and material.what_if else [])],
        _blocks(packed, material) if packed else {},
        m=material,
        head=wording.headline(material),
        say=wording,
        charts={name: draw(material) for name, draw in CHARTS.items()},
        board=board(material),
        heat=heat(material),
        explorer=_explorer(material, packed),
    )


def page_of(
    template: str, styles: Sequence[str], scripts: Sequence[str], blocks: Mapping[str, str] | None = None, **values: Any
) -> str:
    """The page of a template with these files of `templates` and these blocks of data (`rag.reporting.html.embedded_data`)."""
    style, script = ("".join(map(_shipped, names)) for names in (styles, scripts))
    # Files of this package, base64, or JSON without characters that could end a script element.
    ours = {"style": Markup(style), "script": Markup(script)}  # noqa: S704
    data = [(name, Markup(text)) for name, text in (blocks or {}).items()]  # noqa: S704
    return environment().get_template(template).render(**values, **ours, data=data, policy=policy(style, script))


def policy(style: str, script: str) -> str:
    """The Content-Security-Policy: it allows this style and this script, by their hashes, and nothing else."""
    ours = f"script-src '{_fingerprint(script)}'; style-src '{_fingerprint(style)}'"
    return f"default-src 'none'; {ours}; img-src data:; base-uri 'none'; form-action 'none'"


def _fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _shipped(name: str) -> str:
    return (resources.files("rag.reporting.html") / "templates" / name).read_text("utf-8")


def environment(**settings: Any) -> jinja2.Environment:
    """Jinja with the templates of reports and the filters for figures; `settings` go to Jinja."""
    loader = jinja2.FunctionLoader(_shipped)
    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "undefined": jinja2.StrictUndefined} | settings
    jinja = jinja2.Environment(loader=loader, autoescape=True, **options)
    jinja.filters |= {each.__name__: each for each in (figure, with_interval, amount, number_format.costs)}
    jinja.filters["svg"] = lambda chart: Markup(chart.svg)  # noqa: S704 (built element by element from our own drawing)
    jinja.tests["chart"] = lambda value: isinstance(value, Chart)
    return jinja


@dataclass(frozen=True)
class Board:
    """The leaderboard as a table: heads of the objective, the holdout (empty without one) and the other columns; cells."""

    objective: str
    holdout: str
    heads: tuple[str, ...]
    lines: tuple[tuple[int, TrialRow, tuple[str, ...]], ...]


def board(material: Material) -> Board:
    """All trials with scores, best first, with MOST_COLUMNS metrics and the measured costs."""
    rows = material.done
    columns = [column for column in material.columns if column != material.column][:MOST_COLUMNS]
    known = [name for name in number_format.MEASURED if name != material.column]
    measured = [name for name in known if any(row.measured.get(name) for row in rows)]
    likely = any(row.p_best is not None for row in rows)
    lost = any(row.quotes for row in rows)
    counts = {column: {row.metrics[column]["n"] for row in rows if column in row.metrics} for column in columns}
    lines = [
        (
            rank,
            row,
            (
                *([figure(row.p_best, 2)] if likely else []),
                *([fates_in_words(row.quotes) or "all exact"] if lost else []),
                *(number_format.measured(name, row.measured.get(name), material.data.questions) for name in measured),
                *(_cell(row, column, len(counts[column]) > 1) for column in columns),
            ),
        )
        for rank, row in ranked(rows)
    ]
    first = (*(["P(best)"] if likely else []), *(["gold quotes"] if lost else []))
    heads = (*first, *(number_format.MEASURED[name] for name in measured), *columns)
    asked = max((row.score.n for row in rows), default=0) or material.data.questions
    held = material.held if any(row.holdout for row in rows) else 0
    return Board(f"{material.column} (n={asked})", f"holdout (n={held})" if held else "", heads, tuple(lines))


def _cell(row: TrialRow, column: str, counted: bool) -> str:
    """A mean; with its number of questions where that differs between trials."""
    mean = figure(row.value(column))
    return f"{mean} (n={row.metrics[column]['n']})" if counted and column in row.metrics else mean


def heat(material: Material) -> dict[str, Any] | None:
    """The best trials by slice: figures, with their steps of colour between the lowest and the highest value shown."""
    found = material.heat
    if found is None:
        return None
    rows = [(row, found.means[row.trial_id]) for row in material.done if row.trial_id in found.means]
    shown = rows[:HEAT_ROWS]
    known = [value for _, values in shown for value in values if value == value]
    low, high = min(known, default=0.0), max(known, default=1.0)

    def step(value: float) -> int:
        return -1 if value != value else min(HEAT_STEPS - 1, int(HEAT_STEPS * (value - low) / (high - low or 1)))

    lines = [(row.name, row is material.chosen, [(figure(value, 2), step(value)) for value in values]) for row, values in shown]
    slices = [(name, n, n < SMALL_SLICE) for name, n in found.slices.items()]
    return {"slices": slices, "lines": lines, "total": len(rows)}


def _blocks(packed: Packed, material: Material) -> dict[str, str]:
    blocks = {"data-index": packed.index, "data-texts": packed.texts}
    blocks |= {"data-what-if": material.what_if["block"]} if material.what_if else {}
    return blocks | {f"data-shard-{number}": shard for number, shard in enumerate(packed.shards)}


def _explorer(material: Material, packed: Packed | None) -> dict[str, Any] | None:
    if packed is None or material.explorer is None:
        return None
    trials = [trial.trial_id for trial in material.explorer.trials]
    return {
        "names": [row.name if (row := material.row(trial_id)) else trial_id for trial_id in trials],
        "second": next((place for place, trial_id in enumerate(trials) if trial_id != trials[0]), 0),
        "stages": next(iter(material.blame.values()), ()),
        "digits": STAGE_DIGITS,
        "outcomes": OUTCOMES,
        "kinds": sorted({question.kind for question in material.explorer.questions}),
        "packed": packed,
    }
