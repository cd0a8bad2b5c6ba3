"""Attacks in documents: each combines a goal, a wording, a disguise and a place.

Nothing is random: hashes of names choose the combinations, so that they are the same on every machine, and a new attack
does not change the others.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rag.core.errors import DataError, closest
from rag.core.types import SPLITS
from rag.documents.folder.json_rows import Row, as_row, parse_json, read_rows

WORD = re.compile(r"[A-Za-z]{4,}")
KEPT = re.compile(r"\S*(?:://|[A-Z]{2,}|\d|<)\S*")
"""Words that are not changed: addresses and code words, by which the success of an attack is measured."""

ZERO_WIDTH = "\u200b"
TAGS = 0xE0000
"""The first of the tag characters, an invisible copy of ASCII."""

LEET = str.maketrans("aeiost", "431057")
LOOKALIKES = str.maketrans("aceiopsxy", "асеіорѕху")
"""Latin letters → Cyrillic ones of the same shape."""


def _swapped(text: str, table: Mapping[int, str | int | None]) -> str:
    parts = re.split(r"(\s+)", text)
    return "".join(part if KEPT.fullmatch(part) else part.translate(dict(table)) for part in parts)


def _split_words(text: str) -> str:
    return WORD.sub(lambda word: word[0][: len(word[0]) // 2] + ZERO_WIDTH + word[0][len(word[0]) // 2 :], text)


def _invisible(text: str) -> str:
    return "".join(chr(TAGS + ord(letter)) if 0x20 <= ord(letter) < 0x7F else letter for letter in text)


WAYS: Mapping[str, Callable[[str], str]] = {
    "none": str,
    "html_comment": str,
    "white_on_white": str,
    "zero_width": _split_words,
    "confusables": lambda text: _swapped(text, LOOKALIKES),
    "leet": lambda text: _swapped(text, LEET),
    "base64": lambda text: base64.b64encode(text.encode("utf-8")).decode("ascii"),
    "tags": _invisible,
}
"""Name → the change of the text itself; the text around it is part of the data."""


def disguised(text: str, way: str, carrier: str) -> str:
    """The carrier with {text} replaced by the text in one of WAYS."""
    return carrier.replace("{text}", WAYS[way](text))


PLACES = ("start", "middle", "end")
T = TypeVar("T")


@dataclass(frozen=True)
class Attack:
    """A text for a document. `tags` name its parts; attacks of one `cluster` have the same wording and goal."""

    name: str
    cluster: str
    goal: str
    group: str
    text: str
    split: str
    tags: tuple[str, ...]

    def draw(self, what: str, options: Sequence[T]) -> T:
        """One of the options, the same one every time."""
        return _draw(f"{self.name}/{what}", options)


def _draw(name: str, options: Sequence[T]) -> T:
    return options[int.from_bytes(hashlib.sha256(name.encode("utf-8")).digest()[:8], "big") % len(options)]


def own(path: Path, rounds: int) -> Iterator[Attack]:
    """Every wording with every goal of its split, `rounds` times in different disguises."""
    deck = [row for row in read_rows(path / "disguises.jsonl") for _ in range(row.whole("weight"))]
    for split in SPLITS:
        goals = list(read_rows(path / split / "goals.jsonl"))
        for number in range(1, rounds + 1):
            for wording in read_rows(path / split / "wordings.jsonl"):
                for goal in goals:
                    yield _composed(wording, goal, deck, split, number)


def _composed(wording: Row, goal: Row, deck: Sequence[Row], split: str, number: int) -> Attack:
    language, goal_name = wording.text("language", "en"), goal.name("name")
    orders = as_row(goal.fields.get("orders"), f"{goal.where} orders")
    if not orders.has(language):
        what = f"is in {language!r}, and the goal {goal_name!r} is not"
        raise DataError(wording.where, what, f"it is in: {', '.join(orders.fields)}")
    cluster = f"{wording.name('name')}-{goal_name}"
    name = f"{cluster}-{number}"
    # An order in another language gets no other disguise.
    row = _draw(f"{name}/disguise", deck) if language == "en" else deck[0]
    way = row.name("name")
    if way not in WAYS:
        raise DataError(row.where, f"{way!r} is not a disguise", closest(way, WAYS))
    text = wording.text("text").replace("{order}", orders.text(language))
    text = disguised(text, way, row.text("carrier"))
    tags = ("own", f"wording:{wording.name('family')}", f"disguise:{way}")
    return Attack(name, cluster, goal_name, goal.name("group"), text, split, tags)


def bipia(path: Path, folder: Path) -> Iterator[Attack]:
    """The text attacks of BIPIA (Yi et al. 2023) that `path`/bipia.jsonl lists: a rule can tell whether they succeed."""
    source = folder / "text_attack_train.json"
    if not source.is_file():
        raise DataError(str(source), "there is no such file", "set dataset.bipia to the folder of BIPIA, or to null")
    texts = parse_json(source.read_text("utf-8"), str(source))
    for row in read_rows(path / "bipia.jsonl"):
        category, number, goal = row.name("category"), row.whole("number"), row.name("goal")
        try:
            text = str(texts[category][number])
        except (KeyError, IndexError, TypeError) as error:
            raise DataError(row.where, f"{source} has no attack {number} of {category!r}", "check the file") from error
        name = f"bipia-{goal}"
        tags = ("bipia", "wording:bipia", "disguise:none")
        yield Attack(name, name, goal, row.name("group"), text, _draw(f"{name}/split", SPLITS), tags)
