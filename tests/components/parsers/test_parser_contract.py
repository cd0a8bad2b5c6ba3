"""The laws of parsers, for every choice in conf/parser and every suffix that it reads."""

import json
import re
from functools import cache

import pytest
from support.choices import build, choices
from support.sample_files import PARAGRAPH, SAMPLES

from rag.core.errors import DataError
from rag.core.records import BLOCKS, Block, Parsed
from rag.core.roles import Parser

GARBAGE = bytes(range(255, 127, -1)) * 4
CONTAINERS = {"pdf", "docx", "pptx", "xlsx", "xlsm"}
"""Formats in which neither nothing nor garbage is a file."""


@cache
def sample(suffix: str) -> bytes:
    return SAMPLES[suffix]()


def parser(choice: str) -> Parser:
    built: Parser = build("parser", choice)
    return built


CASES = [(choice, suffix) for choice in choices("parser") for suffix in parser(choice).suffixes]
cases = pytest.mark.parametrize(("choice", "suffix"), CASES)


@cache
def parsed(choice: str, suffix: str) -> Parsed:
    return parser(choice).parse(sample(suffix), f"sample.{suffix}")


def check(content: Parsed) -> None:
    """The laws of what a parser returns."""
    text = content.text
    assert "\r" not in text
    assert "\0" not in text
    text.encode("utf-8")
    assert isinstance(content.metadata, dict)
    assert json.loads(json.dumps(content.metadata, allow_nan=False)) == content.metadata
    assert all(isinstance(value, str | int | float | bool) for value in content.metadata.values())
    assert all(note and "\n" not in note for note in content.notes)
    check_blocks(content.blocks, len(text), content.pages)


def check_blocks(blocks: tuple[Block, ...], length: int, pages: int) -> None:
    """Blocks follow one another without overlap, cells within their table; pages are counted, boxes are shares."""
    end, table = 0, Block("table", 0, 0)
    for block in blocks:
        assert block.kind in BLOCKS
        assert 0 <= block.start < block.end <= length or block.kind in ("cell", "figure")
        if block.kind == "cell":
            assert table.start <= block.start <= block.end <= table.end
            assert block.page == table.page
        else:
            assert block.start >= end
            end, table = block.end, block if block.kind == "table" else Block("table", block.end, block.end)
        assert 0 <= block.page <= pages if pages else block.page == 0
        assert block.score is None or 0 <= block.score <= 1
        for left, top, right, bottom in block.boxes:
            assert 0 <= left <= right <= 1
            assert 0 <= top <= bottom <= 1


def test_every_suffix_has_a_sample() -> None:
    assert {suffix for _, suffix in CASES} <= set(SAMPLES)


@cases
def test_a_sample_is_read_whole(choice: str, suffix: str) -> None:
    assert isinstance(parser(choice), Parser)
    content = parsed(choice, suffix)
    check(content)
    words = " ".join(re.findall(r"\w+", content.text))
    assert " ".join(re.findall(r"\w+", PARAGRAPH)) in words


@cases
def test_the_same_bytes_give_the_same_content(choice: str, suffix: str) -> None:
    assert parser(choice).parse(sample(suffix), f"sample.{suffix}") == parsed(choice, suffix)


@cases
@pytest.mark.parametrize("damage", ["empty", "garbage", "cut", "flipped"])
def test_damaged_bytes_are_read_or_refused_in_one_line(choice: str, suffix: str, damage: str) -> None:
    whole = sample(suffix)
    flipped = bytes(byte ^ 255 if place % 97 == 0 else byte for place, byte in enumerate(whole))
    data = {"empty": b"", "garbage": GARBAGE, "cut": whole[: len(whole) // 2], "flipped": flipped}[damage]
    refusal = None
    try:
        check(parser(choice).parse(data, "some/file"))
    except DataError as error:
        refusal = error
    assert refusal or damage in ("cut", "flipped") or suffix not in CONTAINERS
    if refusal:
        assert "some/file" in refusal.where
        assert refusal.what
        assert "\n" not in refusal.what
        assert refusal.remedy
