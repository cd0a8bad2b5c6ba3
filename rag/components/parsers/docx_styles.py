"""The styles and the numbering of a Word document."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
VAL = W + "val"
HEADING = re.compile(r"heading ([1-9])")
CODE = ("source code", "code", "code block", "html preformatted", "macro text", "preformatted text")
"""Names of styles for program text, in lower case."""
ROMAN: tuple[tuple[int, str], ...] = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"))
ROMAN += ((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
DEPTH = 20
"""The most styles that a style is based on."""


@dataclass(frozen=True, slots=True)
class Style:
    """A paragraph style. `level` is that of a heading: 0 for a title, None for others; `number` is its list and level."""

    level: int | None = None
    is_code: bool = False
    number: tuple[str, int] | None = None


def value(node: Any, path: str) -> str | None:
    """The `w:val` of the element at a path, or None."""
    found = node.find(path) if node is not None else None
    return None if found is None else found.get(VAL)


def number_of(properties: Any, default: tuple[str, int] | None) -> tuple[str, int] | None:
    """The list and the level that the properties of a paragraph or style name, or the default; None for the list "0"."""
    found = properties.find(W + "numPr") if properties is not None else None
    if found is None:
        return default
    number, level = value(found, W + "numId"), value(found, W + "ilvl")
    number = number if number is not None else (default[0] if default else "0")
    return None if number == "0" else (number, int(level) if level else (default[1] if default else 0))


def outline_level(node: Any) -> int | None:
    """The level of a heading, from 1, that the properties of a paragraph or style state."""
    outline = value(node, f"{W}pPr/{W}outlineLvl")
    return int(outline) + 1 if outline and int(outline) < 9 else None


class Styles:
    """The paragraph styles of a document, with what they inherit."""

    def __init__(self, styles: Any) -> None:
        self._nodes = {node.get(W + "styleId"): node for node in styles.iterfind(W + "style")}
        self._known: dict[str | None, Style] = {None: Style()}

    def of(self, name: str | None) -> Style:
        """The style with an id; without properties if there is none."""
        if name not in self._known:
            self._known[name] = self._resolved(name, 0)
        return self._known[name]

    def _resolved(self, name: str | None, depth: int) -> Style:
        node = self._nodes.get(name)
        if node is None or depth > DEPTH:
            return Style()
        below = self._resolved(value(node, W + "basedOn"), depth + 1)
        title = (value(node, W + "name") or "").lower()
        heading = HEADING.fullmatch(title)
        level = int(heading[1]) if heading else 0 if title == "title" else below.level
        number = number_of(node.find(W + "pPr"), below.number)
        return Style(outline_level(node) if level is None else level, below.is_code or title in CODE, number)


class Numbering:
    """The labels of list items and numbered headings, counted in the order of the document, as Word counts them.

    Lists with one definition go on counting, unless a list says that it starts anew.
    """

    def __init__(self, parts: Iterable[Any]) -> None:
        nodes = [node for part in parts for node in part]
        self._levels = {
            node.get(W + "abstractNumId"): {level.get(W + "ilvl"): level for level in node.iterfind(W + "lvl")}
            for node in nodes
            if node.tag == W + "abstractNum"
        }
        lists = {node.get(W + "numId"): node for node in nodes if node.tag == W + "num"}
        self._kinds = {name: value(node, W + "abstractNumId") for name, node in lists.items()}
        self._restarts = {
            (name, override.get(W + "ilvl")): value(override, W + "startOverride")
            for name, node in lists.items()
            for override in node.iterfind(W + "lvlOverride")
        }
        self._counts: dict[str | None, dict[int, int]] = {}

    def label(self, number: tuple[str, int]) -> str:
        """The label of the next item of a list at a level, such as `2.` or `(a)`; empty for a bullet."""
        name, level = number
        kind = self._kinds.get(name)
        levels = self._levels.get(kind, {})
        if (own := levels.get(str(level))) is None:
            return ""
        counts = {above: count for above, count in self._counts.get(kind, {}).items() if above <= level}
        restart = self._restarts.pop((name, str(level)), None)
        counts[level] = int(restart) if restart else counts[level] + 1 if level in counts else self._start(levels, level)
        self._counts[kind] = counts
        if value(own, W + "numFmt") in ("bullet", "none", None):
            return ""
        for upper in range(level):
            counts.setdefault(upper, self._start(levels, upper))
        text = value(own, W + "lvlText") or ""
        return re.sub(r"%([1-9])", lambda match: self._shown(levels, counts, int(match[1]) - 1), text).strip()

    @staticmethod
    def _start(levels: dict[str, Any], level: int) -> int:
        return int(value(levels.get(str(level)), W + "start") or 1)

    @staticmethod
    def _shown(levels: dict[str, Any], counts: dict[int, int], level: int) -> str:
        count, form = counts.get(level, 1), value(levels.get(str(level)), W + "numFmt") or "decimal"
        shown = str(count)
        if form.endswith("Letter") and count > 0:
            shown = ascii_lowercase[(count - 1) % 26] * ((count - 1) // 26 % 9 + 1)
        elif form.endswith("Roman") and 0 < count < 4000:
            shown = ""
            for size, letters in ROMAN:
                shown += letters * (count // size)
                count %= size
        elif form == "decimalZero":
            shown = f"{count:02}"
        return shown.upper() if form.startswith("upper") else shown
