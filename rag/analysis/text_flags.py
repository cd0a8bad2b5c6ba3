"""Flags of chunks and documents that a person should look at."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from rag.analysis.chunk_structure import BARE, HEADING, RAGGED
from rag.pipeline.search.unread_text import unread

LEAST, TIMES, LONG = 25, 5, 2000
FLAGS: Mapping[str, str] = {
    "tiny": f"fewer than {LEAST} letters and digits",
    "huge": f"more than {LONG:,} characters, and {TIMES} times as long as the median",
    "no words": "no two letters in a row",
    "repeated": "the same words as another one, white space and case aside",
    "mojibake": "letters that were decoded with the wrong encoding",
    "cut": "longer than the window of the embedder, which does not read the end",
    HEADING: "the text below that heading is in another chunk",
    BARE: "a part of a row of a table, read without the names of its columns",
    RAGGED: "a row of a table with more or fewer cells than its header",
}
"""Flags in the order of reports, with their meanings."""
OF_CHUNKS = ("cut", HEADING, BARE, RAGGED)
"""Flags that no document has."""
WORD, SIGN = re.compile(r"[^\W\d_]{2}"), re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Flagger:
    """Flags texts of one kind: texts above `longest` characters are huge, and `repeated` holds hashes of repeated texts."""

    longest: float
    repeated: frozenset[int]
    model: object = None

    @classmethod
    def over(cls, texts: Iterable[str], model: object = None) -> "Flagger":
        """A flagger for all texts of one kind; `model` is the embedder that reads them, None if none does."""
        lengths, seen = [], Counter[int]()
        for text in texts:
            lengths.append(len(text))
            seen[_key(text)] += 1
        return cls(max(LONG, TIMES * median(lengths or [0])), frozenset(key for key, count in seen.items() if count > 1), model)

    def flags(self, text: str, read: str | None = None) -> list[str]:
        """The flags of one of the texts, for which the model reads `read` if given, in the order of FLAGS."""
        from ftfy.badness import is_bad

        has_words = bool(WORD.search(text))
        found = {
            "tiny": has_words and len(SIGN.sub("", text[: 20 * LEAST])) < LEAST,
            "huge": len(text) > self.longest,
            "no words": not has_words,
            "repeated": has_words and _key(text) in self.repeated,
            # Every pattern of ftfy has a letter beyond ASCII, and searching for them takes longer than all else.
            "mojibake": not text.isascii() and is_bad(text),
            "cut": self.model is not None and bool(unread(self.model, (text if read is None else read,))),
        }
        return [name for name, has in found.items() if has]


def _key(text: str) -> int:
    return hash(" ".join(text.casefold().split()))
