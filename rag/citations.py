"""Citation markers in answers: `[2]`, or several numbers in one pair of brackets."""

import re

MARKER = re.compile(r"\[\s*(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\s*\]")
NUMBER = re.compile(r"\d+")


def cited(text: str, contexts: int) -> tuple[int, ...]:
    """The numbers of contexts that `text` cites, in the order of first mention; numbers that no context has are left out."""
    numbers = (int(number) for marker in MARKER.findall(text) for number in NUMBER.findall(marker))
    return tuple(dict.fromkeys(number for number in numbers if 1 <= number <= contexts))
