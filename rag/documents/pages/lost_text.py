"""Text of a page that a reader of its layout left out of its blocks, or tore apart."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rag.core.records import Box
from rag.documents.pages.lines import Line

GAP = re.compile(r"\s{2,}")


def letters(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    return "".join(filter(str.isalnum, text.casefold()))


def torn(lines: Sequence[str], blocks: Sequence[str]) -> float:
    """The share of the letters of lines whose words are in no single block: reading a table by column tears its rows."""
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


def pieces(text: str, height: float, blocks: Sequence[str]) -> list[Line]:
    """The stretches of the `text` of a page that are not in its `blocks`, at about their heights, without a width.

    A stretch counts as lost if the blocks lack all of its letters and digits, wherever they are: a reader may reorder a text,
    but not drop it. The last lines come first: page numbers are there.
    """
    missing = Counter(letters(text))
    missing.subtract("".join(map(letters, blocks)))
    missing = +missing
    found: list[Line] = []
    for line in _stretches(text, height) if missing else ():
        wanted = Counter(letters(line.text))
        if wanted and wanted <= missing:
            found.append(line)
            missing -= wanted
    return found


def position(piece: Line, boxes: Sequence[Box]) -> int:
    """The index of the first block below a piece, or of the end."""
    return next((index for index, box in enumerate(boxes) if box[1] >= piece.middle), len(boxes) if piece.top > 0 else 0)


def _stretches(text: str, height: float) -> Iterator[Line]:
    lines = text.strip("\n").split("\n")
    for number, line in reversed(list(enumerate(lines))):
        top = height * number / max(1, len(lines) - 1)
        for part in dict.fromkeys((line.strip(), *GAP.split(line.strip()))):
            yield Line(part, 0, top, 0, top, 1)
