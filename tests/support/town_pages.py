"""A made-up format with three parsers and a redactor, in a package that is installed, and a golden set in that format."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.plugin_packages import add_plugin

from rag.config.catalog import plugins

PLUGIN = '''\
"""Parsers of a made-up format: pages between form feeds."""

from typing import ClassVar

from rag.core.types import Block, Parsed


class Whole:
    """Every page is a block."""

    suffixes: ClassVar[tuple[str, ...]] = ("pages",)
    in_process: ClassVar[bool] = True

    def __init__(self, mark: str = "") -> None:
        self.mark = mark

    def parse(self, data: bytes, name: str) -> Parsed:
        blocks, text = [], ""
        for number, page in enumerate(data.decode().split("\\f"), 1):
            kept = self.kept(page)
            blocks.append(Block("text", len(text), len(text) + len(kept), number))
            text += kept + "\\n\\n"
        return Parsed(text, tuple(blocks), pages=len(blocks))

    def kept(self, page: str) -> str:
        return page


class Torn(Whole):
    """Hyphens at the ends of words, capitals, and a header in the middle of every page."""

    def kept(self, page: str) -> str:
        lines = page.upper().split("\\n")
        return "\\n".join([*lines[: len(lines) // 2], "", "THE HEADER OF THE PAGE", "", *lines[len(lines) // 2 :]])


class Halved(Whole):
    """Throws away 45 % of every page."""

    def kept(self, page: str) -> str:
        lines = page.split("\\n")
        return "\\n".join(line for number, line in enumerate(lines) if number % 20 < 11)


class Hushed:
    """Finds addresses."""

    def find(self, text):
        import re

        return [(match.start(), match.end(), "mail") for match in re.finditer(r"[a-z]+@[a-z]+", text)]
'''
CHOICES = {"parser/whole": "Whole", "parser/torn": "Torn", "parser/halved": "Halved", "redactor/hushed": "Hushed"}
TOPICS = ("harbour", "library", "railway", "orchard", "theatre", "brewery", "museum", "bakery", "quarry", "chapel")


def lines_of(topic: str) -> list[str]:
    """Twenty lines on a topic; the facts share their words, so that a passage more means a passage to be mistaken for."""
    return [
        f"In year {1900 + at} the {topic} counted {at * 37 + len(topic)} visitors, write to {topic}@town for number {at}."
        for at in range(20)
    ]


def quote_of(topic: str, number: int) -> str:
    """The quote of a question: of every fourth with an address."""
    visitors = number * 37 + len(topic)
    return f"the {topic} counted {visitors} visitors" + (f", write to {topic}@town" if number % 4 == 0 else "")


@contextmanager
def installed(folder: Path) -> Iterator[Path]:
    """A folder with the golden set; the package is installed meanwhile."""
    documents = folder / "golden" / "documents"
    documents.mkdir(parents=True)
    rows = []
    for topic in TOPICS:
        (documents / f"{topic}.pages").write_text("\n".join(lines_of(topic)))
        for number in range(0, 20, 2):
            place = {"doc": f"{topic}.pages", "quote": quote_of(topic, number), "page": 1}
            text = f"How many visitors had the {topic} in year {1900 + number}?"
            row = {"id": f"{topic}-{number}", "text": text, "cluster": topic, "answers": [str(number * 37 + len(topic))]}
            rows.append(row | {"evidence": [{"any": [place]}]})
    (folder / "golden" / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    add_plugin(folder / "site", "townpages", PLUGIN, CHOICES)
    sys.path.insert(0, str(folder / "site"))
    plugins.cache_clear()
    yield folder
    sys.path.remove(str(folder / "site"))
    sys.modules.pop("townpages", None)
    plugins.cache_clear()
