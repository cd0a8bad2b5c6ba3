"""What became of gold quotes, in words."""

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "exact": "exact",
    "pieced": "in pieces",
    "words": "by words on one page",
    "unplaced": "not placed",
    "parser": "lost by the parser",
    "redaction": "lost by redaction",
    "noise": "dropped as noise",
}
"""The words for each of `rag.core.questions.FATES`."""


def fates_in_words(fates: Mapping[str, int]) -> str:
    """`46 exact, 3 in pieces, 1 lost by the parser`; empty if all quotes are exact."""
    if not set(fates) - {"exact"}:
        return ""
    return ", ".join(f"{number} {WORDS[fate]}" for fate, number in fates.items())
