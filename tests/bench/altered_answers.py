"""Answers of SQuAD with one number or name exchanged for another of the same kind from the same article."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.core.text.sentences import blocks, sentences

NUMBER = re.compile(r"\d[\d,.]*\d|\d")
NAME = re.compile(r"(?<=\w )[A-Z][\w'’-]+(?:\s+(?:(?:of|de|la|the|von|van)\s+)*[A-Z][\w'’-]+)*")
"""Words with a capital, but not at the beginning of a sentence."""


@dataclass(frozen=True)
class Altered:
    """A question, the answer of one annotator as the reference, and a text with the label whether it is right.

    `form` is `short` (the answer of another annotator) or `sentence` (the sentence around it); `article` is the cluster.
    """

    question: str
    reference: str
    text: str
    right: bool
    form: str
    article: str


def altered_answers(path: Path, half: int, seed: int = 0) -> Iterator[Altered]:
    """Right and altered answers of every second article by title, `half` 0 or 1: rules were chosen on half 0."""
    draw = random.Random(seed)
    articles = sorted(json.loads(path.read_text("utf-8"))["data"], key=lambda article: str(article["title"]))
    for article in articles[half::2]:
        text = " ".join(paragraph["context"] for paragraph in article["paragraphs"])
        pools = {kind: sorted(set(kind.findall(text))) for kind in (NUMBER, NAME)}
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                if not asked["is_impossible"]:
                    yield from _of(asked, paragraph["context"], str(article["title"]), pools, draw)


def _of(
    asked: Mapping[str, Any], context: str, title: str, pools: Mapping[re.Pattern[str], list[str]], draw: random.Random
) -> Iterator[Altered]:
    question, reference = asked["question"], asked["answers"][0]["text"]
    other = next((each for each in asked["answers"][1:] if each["text"] != reference), asked["answers"][-1])
    text, begin = other["text"], other["answer_start"]
    end = begin + len(text)
    around = [(a, b) for block in blocks(context) for a, b in sentences(context, block) if a <= begin < b]
    changed = _changed(text, f"{question} {reference} {text}".lower(), pools, draw)
    if not around or context[begin:end] != text or not changed:
        return
    first, last = around[0][0], max(around[0][1], end)
    yield Altered(question, reference, text, True, "short", title)
    yield Altered(question, reference, changed, False, "short", title)
    yield Altered(question, reference, context[first:last], True, "sentence", title)
    yield Altered(question, reference, context[first:begin] + changed + context[end:last], False, "sentence", title)


def _changed(text: str, known: str, pools: Mapping[re.Pattern[str], list[str]], draw: random.Random) -> str:
    """The text with one value exchanged for one that is nowhere in question, reference or text; empty if there is none."""
    kind = NUMBER if NUMBER.search(text) else re.compile(NAME.pattern.replace("(?<=\\w )", "\\b"))
    found = list(kind.finditer(text))
    if not found:
        return ""
    where = draw.choice(found)
    alike = [
        value
        for value in pools[NUMBER if kind is NUMBER else NAME]
        if value.lower() not in known and where[0].lower() not in value.lower() and _is_year(value) == _is_year(where[0])
    ]
    return text[: where.start()] + draw.choice(alike) + text[where.end() :] if alike else ""


def _is_year(value: str) -> bool:
    return bool(re.fullmatch(r"1\d{3}|20\d\d", value))
