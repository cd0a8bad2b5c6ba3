"""What became of gold quotes, in words."""

from collections.abc import Mapping

from rag.core.records import Anchor, Fate, Span


def fates_in_words(fates: Mapping[str, int]) -> str:
    """`46 exact, 3 in pieces, 1 lost by the parser`; empty if all quotes are exact."""
    if not set(fates) - {"exact"}:
        return ""
    words = {"exact": "exact", "pieced": "in pieces", "parser": "lost by the parser", "redaction": "lost by redaction"}
    return ", ".join(f"{fates[fate]} {words.get(fate, 'dropped as noise')}" for fate in fates)


def fate_of(place: Span | Anchor) -> Fate:
    """The fate of a quote."""
    return place.fate if isinstance(place, Anchor) else "exact"
