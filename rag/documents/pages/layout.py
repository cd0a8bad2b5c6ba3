"""Lines on pages → headings, paragraphs, lists, footnotes and marginalia, as Markdown with blocks."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.documents.pages.hyphens import Hyphens
from rag.documents.pages.lines import Line, Page
from rag.documents.pages.marginalia import marginalia
from rag.documents.pages.markdown_text import Cell, MarkdownText

BULLET = re.compile(r"[•◦▪●○■□∙‣⁃►➢✓·\uf0b7\uf0a7]\s*|[–*-]\s+")
NUMBERED = re.compile(r"\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)]\s+(?=\S)")
NOTED = re.compile(r"(?:\d{1,3}|[*†‡§]|\(\d{1,2}\)|\[\d{1,2}\])\W{0,2}\S")
WORD = re.compile(r"[^\W\d_]{2}")
LARGER, SMALLER = 1.12, 0.93
"""Heights of fonts against the body's: headings are larger, footnotes smaller."""
LONGEST = 200
"""Characters of a heading."""
LEVELS = 6


@dataclass(frozen=True, slots=True)
class Style:
    """The body of a document: its height of font, whether it is bold; and the heights of headings, largest first."""

    body: float
    is_bold: bool
    sizes: tuple[float, ...]

    def level(self, lines: Sequence[Line]) -> int:
        """The level of a heading from 1 to 6, 0 if these lines are none."""
        text, first = " ".join(line.text for line in lines), lines[0]
        if len(lines) > 3 or len(text) > LONGEST or any(line.pieces > 2 for line in lines) or not WORD.search(text):
            return 0
        size = round(first.size)
        if first.size >= self.body * LARGER and size in self.sizes:
            return min(self.sizes.index(size) + 1, LEVELS)
        is_strong = first.is_bold and not self.is_bold and first.size >= self.body * SMALLER
        if is_strong and len(lines) == 1 and first.pieces == 1 and not re.search(r"[.,;:]$|^[\W\d]*[a-z]", text):
            return min(len(self.sizes) + 1, LEVELS)
        return 0


class Layout:
    """The layout of a document. `pages` are those by which its headings are found; their lines are in reading order."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._style, self._hyphens = _style(pages), Hyphens(line.text for page in pages for line in page.lines)

    def write(self, text: MarkdownText, page: Page, outer: Collection[int]) -> None:
        """Append the blocks of a page: headings, paragraphs, items, footnotes; `outer` are the indexes of its marginalia."""
        above, body, below = _parted(page, outer)
        _add_marginalia(text, page, above)
        self._write_body(text, page, body)
        _add_marginalia(text, page, below)

    def _write_body(self, text: MarkdownText, page: Page, lines: Sequence[Line]) -> None:
        groups = list(_groups(lines))
        notes = _first_note(groups, page, self._style)
        for number, group in enumerate(groups):
            if group[0].table:
                rows = [[Cell(cell.text, page.box([cell])) if cell else None for cell in row] for row in group[0].table]
                text.add_table(rows, page.number, page.box(group))
                continue
            kind, content = "text", _joined(group, self._hyphens)
            score = min((line.score for line in group if line.score is not None), default=None)
            if level := self._style.level(group):
                kind, content = "heading", "#" * level + " " + content.replace("\n", " ")
            elif number >= notes:
                kind = "footnote"
            elif item := _item(group[0]):
                marker = "-" if BULLET.match(content) else item[0].strip()
                kind, content = "list", f"{marker} {content[item.end() :]}"
            text.add(kind, content, page.number, page.box(group), score)


class RunningText(Layout):
    """The layout of a document whose lines have no places: one block for each page, and its marginalia."""

    def _write_body(self, text: MarkdownText, page: Page, lines: Sequence[Line]) -> None:
        text.add("text", _joined(lines, self._hyphens) if lines else "", page.number)


def laid_out(pages: Sequence[Page], layout: type[Layout] = Layout) -> MarkdownText:
    """The text of pages whose lines are in reading order."""
    text, writer, outer = MarkdownText(), layout(pages), marginalia(pages)
    for page in pages:
        writer.write(text, page, outer[page.number])
    return text


def _parted(page: Page, outer: Collection[int]) -> tuple[list[Line], list[Line], list[Line]]:
    """The marginalia above the body of a page, from the top down, the lines of its body, and the marginalia below it."""
    body = [line for index, line in enumerate(page.lines) if index not in outer]
    edge = sorted((page.lines[index] for index in outer), key=lambda line: line.middle)
    highest = min((line.middle for line in body), default=0.0)
    return [line for line in edge if line.middle <= highest], body, [line for line in edge if line.middle > highest]


def _add_marginalia(text: MarkdownText, page: Page, lines: Sequence[Line]) -> None:
    for line in lines:
        text.add("marginalia", line.text, page.number, page.box([line]))


def _style(pages: Sequence[Page]) -> Style:
    """The heights of fonts of a document, weighed by their characters."""
    sizes: Counter[float] = Counter()
    bold = 0
    for page in pages:
        for line in page.lines:
            sizes[round(line.size, 1)] += len(line.text)
            bold += line.is_bold * len(line.text)
    body = max(sizes, key=lambda size: (sizes[size], size)) if sizes else 0.0
    larger = sorted({round(size) for size in sizes if size >= body * LARGER}, reverse=True)
    return Style(body, bold > sizes.total() / 2, tuple(larger))


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines that belong together: paragraphs, items, headings; a row of a table stays with its neighbours."""
    gaps = sorted(after.top - before.bottom for before, after in pairwise(lines) if after.top >= before.top)
    usual = max(gaps[len(gaps) // 2], 0.0) if gaps else 0.0
    group: list[Line] = []
    for line in lines:
        if group and _begins(group, line, usual):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _begins(group: Sequence[Line], line: Line, usual: float) -> bool:
    """True if a line begins another block than the lines before it."""
    last, size = group[-1], max(line.size, 1.0)
    if line.table or last.table:
        return True
    if line.middle < last.top or line.top - last.bottom > min(usual, 0.5 * size) + 0.35 * size:
        return True
    if line.left > last.right + size or all(line.right < other.left - size for other in group):
        return True
    if abs(line.size - last.size) > 0.1 * size and len(line.text) > 3:
        return True
    if _item(line) or (line.is_bold != last.is_bold and line.pieces == last.pieces == 1):
        return True
    if _item(group[0]):
        return line.left < group[0].left - size / 2
    return line.pieces == 1 and line.left > last.left + 0.8 * size and last.text.endswith((".", ":", "?", "!"))


def _item(line: Line) -> re.Match[str] | None:
    return BULLET.match(line.text) or NUMBERED.match(line.text)


def _joined(group: Sequence[Line], hyphens: Hyphens) -> str:
    """Lines that fill their block run on; after a short line, and between rows of a table, the text keeps the line end."""
    texts = [group[0].text.strip()]
    if len(group) == 1:
        return texts[0]
    left, right = min(line.left for line in group), max(line.right for line in group)
    for before, after in pairwise(group):
        is_full = before.right >= right - 0.15 * (right - left) and before.pieces == 1 and after.pieces == 1
        if (last := texts[-1]).endswith("-"):
            texts[-1] = hyphens.joined(last, after.text.strip(), " " if is_full else "\n")
        else:
            texts += [" " if is_full else "\n", after.text.strip()]
    return "".join(texts)


def _first_note(groups: Sequence[Sequence[Line]], page: Page, style: Style) -> int:
    """The number of the first footnote among the blocks of a page: small, with a mark, low, and only small ones below."""
    first = len(groups)
    for number in range(len(groups) - 1, -1, -1):
        line = groups[number][0]
        if line.table or line.size > style.body * SMALLER or line.top < page.height / 2:
            break
        if NOTED.match(line.text):
            first = number
    return first
