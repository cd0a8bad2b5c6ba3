"""Text of a page that a reader of its layout left out of its blocks, or tore apart."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rag.documents.pages.lines import Line

SIGNS = bytes(code for code in range(128) if not chr(code).isalnum())
SHORT = 5
"""A stretch of at least so many letters and digits is not lost if the blocks hold it anywhere."""
GAP = re.compile(r"\s{2,}")


def letters(text: str) -> str:
    """The letters and digits of a text, in lower case."""
    if text.isascii():
        return text.lower().encode().translate(None, SIGNS).decode()
    return "".join(filter(str.isalnum, text.casefold()))


def torn(lines: Sequence[str], kept: Sequence[str]) -> float:
    """The share of the letters of lines whose words are in no single block: reading a table by column tears its rows.

    `kept` are the letters of the blocks.
    """
    whole, lost, total = "".join(kept), 0, 0
    for line in lines:
        wanted = letters(line)
        total += len(wanted)
        if wanted not in whole:
            words = list(map(letters, line.split()))
            lost += len(wanted) * (not any(all(word in block for word in words) for block in kept))
    return lost / max(total, 1)


def reordered(lines: Sequence[str], kept: Sequence[str]) -> float:
    """The share of the runs of three words of a page, line by line, that no block has as a run; `kept` as for `torn`."""
    words, whole = [word for line in lines for word in map(letters, line.split()) if word], "|".join(kept)
    runs = ["".join(words[at : at + 3]) for at in range(max(len(words) - 2, 1))]
    return sum(run not in whole for run in runs) / len(runs)


def mixed(cells: Sequence[str], content: str) -> float:
    """The share of the letters of a table in cells whose words do not follow one another in the `content` of its page."""
    kept, whole = list(map(letters, cells)), letters(content)
    mixing = sum(len(short) for cell, short in zip(cells, kept, strict=True) if " " in cell and short not in whole)
    return mixing / max(sum(map(len, kept)), 1)


def pieces(text: str, height: float, kept: Sequence[str]) -> Iterator[Line]:
    """The stretches of the `text` of a page that its blocks lack, at about their heights, without a width.

    A stretch counts as lost if all of its letters and digits are missing from the letters `kept` of the blocks, wherever these
    are: a reader may reorder a text, but not drop it. The last lines come first: page numbers are there.
    """
    whole, lines = "".join(kept), text.strip("\n").split("\n")
    missing = Counter(letters(text)) - Counter(whole)
    for number in reversed(range(len(lines))) if missing else ():
        top, line = height * number / max(1, len(lines) - 1), lines[number].strip()
        for part in dict.fromkeys((line, *GAP.split(line))):
            wanted = letters(part)
            if wanted and (len(wanted) < SHORT or wanted not in whole) and (counted := Counter(wanted)) <= missing:
                missing -= counted
                yield Line(part, 0, top, 0, top, 1)
