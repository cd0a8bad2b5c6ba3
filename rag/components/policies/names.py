"""The names in a text: runs of words with capitals, such as `University of Leeds`."""

import re
from collections.abc import Collection, Iterator

WORD = re.compile(r"[^\W\d_]\.(?=\s)|[^\W_]+(?:[-.'’/&][^\W_]+)*")
"""A word, or an initial with its full stop."""


def names(text: str, connecting: Collection[str], light: Collection[str]) -> list[str]:
    """The different names in reading order.

    `connecting` are words in small letters that may stand inside a name; `light` are words that neither begin nor end one.
    """
    return list(dict.fromkeys(name for run in _runs(text, connecting) if (name := _trimmed(run, {*connecting, *light}))))


def _runs(text: str, connecting: Collection[str]) -> Iterator[list[str]]:
    run, last = list[str](), 0
    for word in WORD.finditer(text):
        written, gap = word[0], text[last : word.start()]
        if run and gap.strip(" \n"):
            yield run
            run = []
        if written[0].isupper() or (run and written.lower() in connecting):
            run.append(written)
        elif run:
            yield run
            run = []
        last = word.end()
    yield run


def _trimmed(run: list[str], light: Collection[str]) -> str:
    while run and run[0].lower() in light:
        run = run[1:]
    while run and run[-1].lower() in light:
        run = run[:-1]
    return " ".join(run)
