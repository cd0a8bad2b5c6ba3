"""The laws of parsers, for every choice in conf/parser and every suffix that it reads."""

import re
from functools import cache

import pytest
from support.choices import build, choices
from support.sample_files import PARAGRAPH, SAMPLES

from rag.core.errors import DataError
from rag.core.roles import Parser
from rag.core.types import Parsed
from rag.testing import check_parsed, check_parser

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


def test_every_suffix_has_a_sample() -> None:
    assert {suffix for _, suffix in CASES} <= set(SAMPLES)


@cases
def test_a_sample_is_read_whole(choice: str, suffix: str) -> None:
    assert isinstance(parser(choice), Parser)
    content = parsed(choice, suffix)
    words = " ".join(re.findall(r"\w+", content.text))
    assert " ".join(re.findall(r"\w+", PARAGRAPH)) in words


@cases
def test_laws(choice: str, suffix: str) -> None:
    check_parser(parser(choice), {suffix: sample(suffix)})


@cases
@pytest.mark.parametrize("damage", ["empty", "garbage", "flipped"])
def test_damaged_bytes_are_read_or_refused_in_one_line(choice: str, suffix: str, damage: str) -> None:
    whole = sample(suffix)
    flipped = bytes(byte ^ 255 if place % 97 == 0 else byte for place, byte in enumerate(whole))
    data = {"empty": b"", "garbage": GARBAGE, "flipped": flipped}[damage]
    refusal = None
    try:
        check_parsed(parser(choice).parse(data, "some/file"))
    except DataError as error:
        refusal = error
    assert refusal or damage == "flipped" or suffix not in CONTAINERS
    if refusal:
        assert "some/file" in refusal.where
        assert refusal.what
        assert "\n" not in refusal.what
        assert refusal.remedy
