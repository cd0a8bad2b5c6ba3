"""A finding about one question."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A question that deserves a look, with the reason: a sentence without its full stop."""

    query_id: str
    text: str
    why: str


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 trial`, `3 trials`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
