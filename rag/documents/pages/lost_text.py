"""Text of a page that a reader of its layout left out of its blocks."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rag.core.records import Box
from rag.documents.pages.lines import Line

GAP = re.compile(r"\s{2,}")


def letters(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text.casefold()))


def torn(lines: Sequence[str], blocks: Sequence[str]) -> float:
    """The share of the letters of some lines whose words are in no single block, as a table read column by column tears them."""
    kept = [letters(block) for block in blocks]
    whole, lost, total = "".join(kept), 0, 0
    for line in lines:
        wanted = letters(line)
        total += len(wanted)
        if wanted not in whole:
            words = list(map(letters, line.split()))
            lost += len(wanted) * (not any(all(word in block for word in words) for block in kept))
    return lost / max(total, 1)


def mixed(cells: Sequence[str], content: str) -> float:
    """The share of the letters of a table in cells whose words do not follow one another in the `content` of the page."""
    kept, whole = [letters(cell) for cell in cells], letters(content)
    return sum(len(cell) for cell in kept if cell not in whole) / max(sum(map(len, kept)), 1)


def pieces(page: Any, blocks: Sequence[str]) -> list[Line]:
    """The stretches of `page.text` that are not in its `blocks`, with boxes where `page.text_items` have them.

    A stretch counts as lost if the blocks lack all of its letters and digits, wherever they are: a reader may reorder a text,
    but not drop it.
    """
    whole = "".join(letters(block) for block in blocks)
    missing = Counter(letters(page.text))
    missing.subtract(whole)
    missing = +missing
    found: list[Line] = []
    for line in _candidates(page) if missing else ():
        wanted = Counter(letters(line.text))
        if wanted and letters(line.text) not in whole and wanted <= missing:
            found.append(line)
            missing -= wanted
    for line in _segments(page) if missing else ():
        wanted = Counter(letters(line.text))
        if wanted and wanted <= missing:
            found.append(line)
            missing -= wanted
    return found


def position(piece: Line, boxes: Sequence[Box]) -> int:
    """The index of the first block below a piece, or of the end."""
    below = (index for index, box in enumerate(boxes) if box[1] >= piece.middle and box[0] < piece.right and piece.left < box[2])
    return next(below, len(boxes) if piece.top > 0 else 0)


def _candidates(page: Any) -> Iterator[Line]:
    for item in page.text_items:
        yield Line(item.text, item.x, item.y, item.x + item.width, item.y + item.height, 1)
        if " " in item.text.strip():
            for word in item.text.split():
                yield Line(word, item.x, item.y, item.x + item.width, item.y + item.height, 1)


def _segments(page: Any) -> Iterator[Line]:
    """The stretches of the text of a page, from its end: page numbers come first. They have no width."""
    lines = page.text.strip("\n").split("\n")
    for number, line in reversed(list(enumerate(lines))):
        height = page.height * number / max(1, len(lines) - 1)
        for segment in filter(None, [line.strip(), *(part for part in GAP.split(line.strip()) if part != line.strip())]):
            yield Line(segment, 0, height, 0, height, 1)
