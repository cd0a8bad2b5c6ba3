"""Replies of a model → questions whose evidence stands in the documents; every other reply has the reason why it is none."""

import re
import statistics
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from rag.authoring.candidates import Candidate
from rag.authoring.generation.model_passages import Passage
from rag.authoring.generation.model_prompts import Kind
from rag.components.guards.patterns import compiled
from rag.components.guards.scan import ScanGuard
from rag.config.catalog import choice
from rag.core.models.typed_reply import json_object
from rag.core.text.stems import Stems
from rag.core.text.values.numbers import numbers, values
from rag.core.types import Span, Turn
from rag.documents.languages import language_of

SHORTEST, LONGEST, ANSWER = 8, 300, 300
"""Characters of a question, and the most of an answer."""
RUN, EXAMPLE = 7, 5
"""So many words in a row that a question shares with its evidence, or with the example of the request, are a copy."""
TITLE = 4
"""A title of fewer words may be the subject of a question."""
WORDS = 12
"""The most words of an answer from one passage."""
HELD = 0.5
"""The least share of the words of an answer that its evidence must hold."""
GAP = 3
"""The most characters between two neighbouring sentences."""
NEEDLESS = ("_target_", "stranger")
OPERATIONS = ("sum", "difference", "largest", "smallest", "mean", "count")
NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
LATER = re.compile(r"(?<=[\w,;'’] )[^\W\d_][\w’'-]+")
"""A word that begins no sentence; with a capital letter it is a name."""


class InvalidReplyError(ValueError):
    """A reply that gives no question: the reason, the same for all such replies, and the detail of this one."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}{detail and ': '}{detail}")
        self.reason = reason


@cache
def orders() -> ScanGuard:
    """The rules of `guard=scan` that need no model."""
    return ScanGuard(**{name: value for name, value in choice("guard", "scan")["scan"].items() if name not in NEEDLESS})


@cache
def markup() -> Sequence[Any]:
    """The patterns of `guard=output`: images, HTML, links, addresses, citations."""
    patterns = choice("guard", "output")["output"]["patterns"]
    return [compiled(pattern, f"guard.output.patterns.{name}") for name, pattern in patterns.items()]


class ReplyReader:
    """Reads replies about passages in one language; `speaks` are patterns of questions that name the passage."""

    def __init__(self, language: str, speaks: Sequence[str]) -> None:
        self.language, self.stems = language, Stems(language)
        self.speaks = [compiled(pattern, f"conf/generate.yaml: speaks_of_passage.{at}") for at, pattern in enumerate(speaks)]

    def question(self, reply: str, kind: Kind, read: Sequence[Passage]) -> Candidate:
        """The question of a reply to a request about passages; InvalidReplyError where it is none."""
        try:
            value = json_object(reply)
        except ValueError as error:
            raise InvalidReplyError("is not the JSON object that was asked for") from error
        question, answer = _text(value, "question"), "" if kind.passages == 0 else _answer(value, kind)
        before = value.get("before") if kind.name == "follow_up" else None
        history = [_text(before, "question"), _text(before, "answer")] if isinstance(before, Mapping) else []
        if kind.name == "follow_up" and (not history or history[0].lower() == question.lower()):
            raise InvalidReplyError("has no earlier question")
        self._check_texts([question, answer, *history], read)
        if kind.passages == 1 and len(answer.split()) > WORDS:
            raise InvalidReplyError("has a long answer", "copy fewer words")
        if _copies(question, f"{kind.asks} {kind.replies}", EXAMPLE):
            raise InvalidReplyError("copies the example", "ask about the new sentences")
        if kind.reads == "section":
            self._check_subject([*history, question][0], read[0])
        turns = (Turn("user", history[0]), Turn("assistant", history[1])) if history else ()
        method, cluster = f"model:{kind.name}", read[0].page.cluster(read[0].units[0][0])
        if kind.passages == 0:
            near = tuple(Span(item.doc_id, item.units[0][0], item.units[-1][1]) for item in read)
            return Candidate(question, kind.name, method, near=near, unanswerable=True, cluster=cluster)
        units = [(part, item.span(unit)) for part, item in enumerate(read) for unit in range(len(item.units))]
        texts = [item.quote(unit) for item in read for unit in range(len(item.units))]
        named = _numbers(value.get("sentences"), len(units))
        expects: dict[str, Any] = {}
        if kind.name == "aggregation":
            answer = _computed(value, [texts[number] for number in named], self.language)
            expects = {"value": answer}
        else:
            named = self._anchored(named, texts, [part for part, _ in units], answer, kind)
        if kind.reads == "editions" and self.holds(read[1].text, answer):
            raise InvalidReplyError("gives an answer that the superseded edition gives, too")
        self._check_evidence(question, answer, " ".join(texts[number] for number in named), kind)
        groups = tuple((span,) for span in _spans([units[number] for number in named], read))
        return Candidate(question, kind.name, method, "", groups, (answer,), expects, turns, cluster=cluster)

    def holds(self, text: str, answer: str) -> bool:
        """True if a text has every number of an answer, and at least the share HELD of its words with meaning."""
        known = values(text)
        if not all(number.among(known) for number in numbers(answer)):
            return False
        terms, own = self.stems.of(answer), self.stems.of(text)
        return len(terms & own) >= HELD * len(terms) if terms else re.search(rf"(?i)\b{re.escape(answer)}\b", text) is not None

    def _check_texts(self, texts: Sequence[str], read: Sequence[Passage]) -> None:
        question, every = texts[0], "\n".join(texts)
        if len(question) < SHORTEST or len(question) > LONGEST or max(map(len, texts[1:]), default=0) > ANSWER:
            raise InvalidReplyError("is too short or too long")
        if not all(text.isprintable() for text in texts) or any(each.search(every) for each in markup()):
            raise InvalidReplyError("holds markup, a link or code")
        if any(orders().findings(text) for text in texts if text):
            raise InvalidReplyError("holds an order to a model")
        if any(each.search(text) for each in self.speaks for text in texts):
            raise InvalidReplyError("speaks of the sentences instead of their subject")
        spoken, written = language_of(question), language_of(read[0].page.document.text)
        if spoken and written and spoken != written:
            raise InvalidReplyError("is in another language", f"{spoken} instead of {written}")
        title = self.stems.of(read[0].page.title)
        if len(title) >= TITLE and title <= self.stems.of(question):
            raise InvalidReplyError("repeats the title of the document")

    def _check_subject(self, question: str, read: Passage) -> None:
        """A question has a word of the headings, or a name of the passage; a passage without names is not checked."""
        names = [word for word in dict.fromkeys(LATER.findall(read.text)) if word[0].isupper()]
        known = [*filter(None, (read.page.title, read.path)), *names]
        if names and not self.stems.of(question) & self.stems.of(" ".join(known)):
            raise InvalidReplyError("does not name its subject", f"use a name, such as {', '.join(known[-3:])}")

    def _check_evidence(self, question: str, answer: str, evidence: str, kind: Kind) -> None:
        own, held, answered = (self.stems.of(text) for text in (question, evidence, answer))
        if answered and answered <= own and kind.name != "aggregation":
            raise InvalidReplyError("gives its answer away")
        if own and len(own & held) > kind.overlap * len(own):
            words = ", ".join(sorted({term.lower() for term in self.stems.terms(question) if self.stems.of(term) & held}))
            raise InvalidReplyError("shares too many words with its evidence", f"use others for {words}")
        if _copies(question, evidence, RUN):
            raise InvalidReplyError("copies its evidence")

    def _anchored(self, named: list[int], texts: Sequence[str], parts: Sequence[int], answer: str, kind: Kind) -> list[int]:
        """The units that a reply names, or the only one that holds the answer where they do not."""
        if kind.reads == "editions":
            named = [number for number in named if not parts[number]]
        if not self.holds(" ".join(texts[number] for number in named), answer):
            named = [number for number, text in enumerate(texts) if self.holds(text, answer)]
            if kind.passages > 1 or len(named) != 1 or (kind.reads == "editions" and parts[named[0]]):
                raise InvalidReplyError("gives an answer that is not in its evidence")
        if len({parts[number] for number in named}) < kind.passages:
            raise InvalidReplyError("does not need both parts")
        return named


def _text(value: Any, name: str) -> str:
    text = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(text, str) or not text.strip():
        raise InvalidReplyError("is not the JSON object that was asked for", f"{name} is no text")
    return " ".join(text.split(" ")).strip()


def _answer(value: Mapping[str, Any], kind: Kind) -> str:
    if kind.name == "aggregation":
        return ""
    answer = value.get("answer")
    return _text({"answer": str(answer)} if isinstance(answer, int | float) else value, "answer")


def _copies(text: str, source: str, run: int) -> bool:
    """True if a text has so many words in a row of another."""
    own, said = (re.findall(r"\w+", each.lower()) for each in (text, source))
    runs = {tuple(said[at : at + run]) for at in range(len(said) - run + 1)}
    return any(tuple(own[at : at + run]) in runs for at in range(len(own) - run + 1))


def _numbers(given: Any, units: int) -> list[int]:
    """The units that a reply names, counted from 0."""
    given = given if isinstance(given, list) else [given]
    if not given or not all(type(one) is int and 1 <= one <= units for one in given):
        raise InvalidReplyError("names sentences that are not there")
    return [number - 1 for number in sorted(set(given))]


def _spans(units: Sequence[tuple[int, Span]], read: Sequence[Passage]) -> list[Span]:
    """The spans of units in their order; sentences of one passage with nothing but a gap of GAP between them are one span."""
    spans: list[tuple[int, Span]] = []
    for part, span in units:
        before, last = spans[-1] if spans else (-1, span)
        if before == part and not read[part].names and span.start - last.end <= GAP:
            spans[-1] = part, Span(span.doc_id, last.start, span.end)
        else:
            spans.append((part, span))
    return [span for _, span in spans]


def _computed(value: Mapping[str, Any], rows: Sequence[str], language: str) -> str:
    """The value of an operation over numbers of the rows, one of each row."""
    operation, given = value.get("operation"), value.get("numbers")
    if operation not in OPERATIONS or len(rows) < 2:
        raise InvalidReplyError("names no operation over two or more rows")
    if operation == "count":
        return str(len(rows))
    if not isinstance(given, list) or len(given) != len(rows):
        raise InvalidReplyError("names numbers that are not in its rows")
    amounts = []
    for each, row in zip(map(str, given), rows, strict=True):
        if not NUMBER.fullmatch(each) or each not in NUMBER.findall(row):
            raise InvalidReplyError("names numbers that are not in its rows")
        point = "," if language == "english" else "."
        amounts.append(Decimal(each.replace(point, "").replace(",", ".")))
    if operation == "difference" and len(amounts) != 2:
        raise InvalidReplyError("names no operation over two or more rows")
    result = {
        "sum": sum(amounts),
        "difference": max(amounts) - min(amounts),
        "largest": max(amounts),
        "smallest": min(amounts),
        "mean": statistics.mean(amounts),
    }[operation]
    return format(Decimal(result).normalize(), "f")
