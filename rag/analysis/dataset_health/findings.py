"""What is said of one question."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A question, and why it is worth a look: a sentence without its full stop."""

    query_id: str
    text: str
    why: str


def counted(number: int, one: str, many: str = "") -> str:
    """`1 trial`, `3 trials`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
