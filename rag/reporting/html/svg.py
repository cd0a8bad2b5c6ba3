"""matplotlib figures as SVG for a page: real text, colours from the style sheet, nothing that the page's policy forbids.

A figure is drawn with placeholder colours. Each becomes a class, whose colour the style sheet sets for light, dark and print.
Style attributes become presentation attributes, since the Content-Security-Policy forbids style attributes.
"""

import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from rag.core.errors import install, is_installed
from rag.core.figures import Interval, figure
from rag.reporting.html.view_model import Material, TrialRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

NAMES = ("ink", "muted", "rule", "paper", "accent", "soft", "good", "bad", "warm", *(f"stage{n}" for n in range(1, 10)))
COLOURS = {name: f"#0000{number:02x}" for number, name in enumerate(NAMES, 0x10)}
"""Placeholder colours by name; the style sheet has a variable for every name."""

SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
CLASSES = {colour: name for name, colour in COLOURS.items()}
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 9.5,
    "axes.edgecolor": COLOURS["rule"],
    "axes.labelcolor": COLOURS["muted"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["rule"],
    "xtick.labelcolor": COLOURS["muted"],
    "ytick.color": COLOURS["rule"],
    "ytick.labelcolor": COLOURS["ink"],
    "ytick.left": False,
    "grid.color": COLOURS["rule"],
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": COLOURS["ink"],
}
WIDTH = 10.0
LONGEST = 56
TOP = 30
"""Trials in a picture, at most."""
ROW = 0.27
"""Inches per row of a picture."""
UNPRINTABLE = re.compile(r"[^\t\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Chart:
    """A picture with its title and caption."""

    svg: str
    title: str
    caption: str


def name(text: str, longest: int = LONGEST) -> str:
    """A label that fits and that XML allows. A long one loses its middle, since names of trials differ at their ends."""
    text = UNPRINTABLE.sub("�", text)
    tail = longest // 3
    return text if len(text) <= longest else f"{text[: longest - tail - 1].rstrip()}…{text[-tail:].lstrip()}"


def undrawn() -> str:
    """Why no figure is drawn, in a sentence; empty where matplotlib is installed."""
    return "" if is_installed("matplotlib") else f"Charts are left out: matplotlib is not installed ({install('matplotlib')})."


def drawn(key: str, title: str, text: str, caption: str, height: float, draw: "Callable[[Axes], None]") -> Chart | None:
    """Draw one figure, `height` inches high; None without matplotlib.

    `key` makes its ids unique in the page; screen readers read `text`.
    """
    if undrawn():
        return None
    import matplotlib
    from matplotlib.figure import Figure

    settings: Any = {**SETTINGS, "svg.hashsalt": key}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # matplotlib warns of characters that its own font lacks; the reader's fonts have them.
        warnings.simplefilter("ignore")
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        figure.patch.set_visible(False)
        axes = figure.add_subplot()
        axes.patch.set_visible(False)
        axes.set_axisbelow(True)
        draw(axes)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return Chart(_embedded(written.getvalue(), key, title, text), title, caption)


def _embedded(svg: str, key: str, title: str, text: str) -> str:
    root = ElementTree.fromstring(svg)  # noqa: S314 (matplotlib wrote it a moment ago)
    used = {element.get(f"{XLINK}href", "")[1:] for element in root.iter()} | set(re.findall(r"url\(#([^)]+)\)", svg))
    for parent in list(root.iter()):
        for element in list(parent):
            if element.tag in (f"{SVG}metadata", f"{SVG}style"):
                parent.remove(element)
    for element in root.iter():
        _without_styles(element, key, used)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    # Screen readers find title and description by these ids.
    root.attrib |= {"role": "img", "class": "chart", "aria-labelledby": f"{key}-title {key}-text"}
    names = [ElementTree.Element(f"{SVG}{tag}", {"id": f"{key}-{end}"}) for tag, end in (("title", "title"), ("desc", "text"))]
    names[0].text, names[1].text = title, UNPRINTABLE.sub("�", text)
    root[:0] = names
    ElementTree.register_namespace("", SVG[1:-1])
    return ElementTree.tostring(root, encoding="unicode")


def _without_styles(element: ElementTree.Element, key: str, used: set[str]) -> None:
    """Turn style attributes into presentation attributes and placeholder colours into classes; keep only ids that are used."""
    own = element.attrib.pop("id", None)
    if own in used:
        element.set("id", f"{key}-{own}")
    if link := element.attrib.pop(f"{XLINK}href", None):
        element.set("href", f"#{key}-{link[1:]}")
    if clip := element.get("clip-path"):
        element.set("clip-path", clip.replace("url(#", f"url(#{key}-"))
    style = dict(_declarations(element.attrib.pop("style", "")))
    style |= {part: element.attrib.pop(part) for part in ("fill", "stroke") if part in element.attrib}
    classes = [f"{part}-{CLASSES[style.pop(part)]}" for part in ("fill", "stroke") if style.get(part) in CLASSES]
    if font := style.pop("font", ""):
        size = re.search(r"([\d.]+)px", font)
        style |= {"font-size": size[1] if size else "9.5"} | ({"font-weight": "600"} if "bold" in font or "700" in font else {})
    style.pop("font-family", None)
    for part, value in style.items():
        element.set(part, value)
    if classes:
        element.set("class", " ".join(classes))


def _declarations(style: str) -> list[tuple[str, str]]:
    pairs = (declaration.partition(":") for declaration in style.split(";") if ":" in declaration)
    return [(part.strip(), value.strip()) for part, _, value in pairs]


def shown_of_total(shown: int, total: int, noun: str = "trials") -> str:
    """A sentence on the part that is shown; empty if all is shown."""
    return f"The best {shown} of {total} {noun}; the table has all. " if shown < total else ""


def whisker(axes: "Axes", place: float, found: Interval, colour: str, filled: bool) -> None:
    """Draw a mean with its interval in a row."""
    if math.isnan(found.mean):
        return
    tint = COLOURS[colour]
    if not math.isnan(found.low + found.high):
        axes.plot([found.low, found.high], [place, place], color=tint, linewidth=1.3, solid_capstyle="butt")
    axes.plot([found.mean], [place], "o", ms=5.5, mec=tint, mew=1.3, mfc=tint if filled else COLOURS["paper"])


def rows_of_trials(axes: "Axes", rows: Sequence[TrialRow], material: Material) -> None:
    """Label a row per trial, the recommended one in bold."""
    ticks(axes, [name(row.name) for row in rows], [at for at, row in enumerate(rows) if row is material.chosen])


def ticks(axes: "Axes", names: Sequence[str], chosen: Sequence[int]) -> None:
    """Label one row per name, the first on top, chosen ones in bold."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=True, axis="x")
    for at in chosen:
        label = axes.get_yticklabels()[at]
        label.set_fontweight("bold")
        label.set_color(COLOURS["accent"])


def log_ticks(axes: "Axes", low: float, high: float) -> None:
    """Make the x axis logarithmic, with ticks at 1, 2 and 5 times every power of ten, as plain figures."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axes.set_xscale("log")
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    axes.xaxis.set_major_locator(FixedLocator([step * 10.0**power for power in powers for step in (1, 2, 5)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(low / 1.25, high * 1.25)


def figure_ticks(axis: "Axis", sign: bool = False) -> None:
    """Label an axis of scores without leading zeros."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(7, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: figure(value, 2, sign)))
