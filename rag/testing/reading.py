"""The laws of the parts of a loader: parsers, redactors, rules of ingestion, noise filters."""

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from rag.core.errors import DataError
from rag.core.roles import IngestionRules, NoiseFilter, Parser, Redactor
from rag.core.secrets.places import replaced
from rag.core.source_files import Decision, SourceFile
from rag.core.types import BLOCKS, Block, Document, Parsed
from rag.testing.laws import DOCUMENTS, TRAPS, law

GARBAGE = bytes(range(255, 127, -1)) * 4
VALUES = ("jane.roe@mail.example.org", "password: hunter2", "4111 1111 1111 1111", "no value at all", *TRAPS)


def check_parser(parser: Parser, samples: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Samples by suffix are read, and give the same content every time; damaged ones are read or refused in one line."""
    law(parser.suffixes and all(suffix == suffix.lower().strip(".") for suffix in parser.suffixes), "suffixes as `pdf`")
    for suffix in samples or parser.suffixes:
        _check_reading(parser, f"some/file.{suffix}", samples.get(suffix, b""))


def _check_reading(parser: Parser, name: str, sample: bytes) -> None:
    for data in (sample, sample[: len(sample) // 2], b"", GARBAGE):
        try:
            content = parser.parse(data, name)
        except DataError as error:
            law(not data or data != sample, "a whole sample is read")
            law(name in error.where and error.what and error.remedy, "a refusal says where, what and what would do")
            law("\n" not in error.what, "a refusal is one line")
        else:
            check_parsed(content)
            law(parser.parse(data, name) == content, "the same bytes give the same content")


def check_parsed(content: Parsed) -> None:
    """The text is UTF-8 with line feeds, metadata are plain, blocks lie in reading order and boxes on their page."""
    text, metadata = content.text, dict(content.metadata)
    law("\r" not in text and "\0" not in text and text.encode("utf-8", "ignore").decode("utf-8") == text, "text is plain")
    law(all(isinstance(value, str | int | float | bool) for value in metadata.values()), "metadata are plain values")
    law(json.loads(json.dumps(metadata, allow_nan=False)) == metadata, "metadata are JSON")
    law(all(note and "\n" not in note for note in content.notes), "a note is one line")
    end, table = 0, Block("table", 0, 0)
    for block in content.blocks:
        law(block.kind in BLOCKS, "the kind of a block is known")
        law(0 <= block.start <= block.end <= len(text), "a block lies in the text")
        law(block.start < block.end or block.kind in ("cell", "figure"), "only cells and figures may be empty")
        if block.kind == "cell":
            law(table.start <= block.start <= block.end <= table.end and table.page == block.page, "cells lie in their table")
        else:
            law(block.start >= end, "blocks follow one another")
            end, table = block.end, block if block.kind == "table" else Block("table", block.end, block.end)
        law(0 <= block.page <= content.pages if content.pages else block.page == 0, "a page is counted")
        law(block.score is None or 0 <= block.score <= 1, "a score is a share")
        sides = [side for left, top, right, bottom in block.boxes for side in ((0, left, right, 1), (0, top, bottom, 1))]
        law(all(one <= other for side in sides for one, other in pairwise(side)), "boxes are shares of the page")


def check_redactor(redactor: Redactor) -> None:
    """Values are in order, apart and in the text, the same every time, and gone after a redaction."""
    for text in VALUES:
        found = list(redactor.find(text))
        edges = [edge for start, end, _ in found for edge in (start, end)]
        law(edges == sorted(edges) and all(0 <= start < end <= len(text) for start, end, _ in found), "values are in order")
        law(all(rule for _, _, rule in found), "a value has a rule")
        law(list(redactor.find(text)) == found, "the same text gives the same values")
        law(not redactor.find(replaced(text, found)), "nothing is found after a redaction")


def check_ingest(rules: IngestionRules) -> None:
    """A decision is the same every time, and no file is left undecided when its text is known."""
    law(isinstance(rules.purpose, str) and all(isinstance(key, str) for key in rules.keys), "a purpose and keys are texts")
    for name in ("a.md", "deep/er/notes.TXT", ".hidden", "b.exe"):
        file = SourceFile(name, Path(name), 10, 0.0, "All staff have leave.")
        decision = rules.decide(file)
        law(isinstance(decision, Decision), "a file with a known text is decided")
        law(rules.decide(file) == decision, "the same file gives the same decision")


def check_noise(noise: NoiseFilter) -> None:
    """Noise lies in blocks, in order and apart; documents without blocks have none."""
    page = "Header\n\nAll staff have leave.\n\nHeader\n\nAnd more of it."
    blocks = (Block("marginalia", 0, 6, 1), Block("text", 8, 29, 1), Block("marginalia", 31, 37, 2), Block("text", 39, 54, 2))
    documents = [*DOCUMENTS, Document("parsed", page, {}, blocks)]
    found = noise.find(documents)
    law(len(found) == len(documents), "there is one list per document")
    law(not any(found[: len(DOCUMENTS)]), "documents without blocks have no noise")
    edges = [edge for start, end, _ in found[-1] for edge in (start, end)]
    law(edges == sorted(edges) and all(0 <= edge <= len(page) for edge in edges), "noise is in order and in the text")
    law(noise.find(documents) == found, "the same documents give the same noise")
