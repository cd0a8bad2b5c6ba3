"""Adds the words of the topic to a follow-up question, taken from earlier turns by rules, without a model."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rag.core.checks import check_number, check_whole
from rag.core.text.languages import check_language, stemmer
from rag.core.types import Query, Sought, Turn

WORD = re.compile(r"[^\W_]+(?:[-.’'/][^\W_]+)*")
"""Words, including compounds: K-212, don't, and/or."""

POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
SENTENCE_ENDS = re.compile(r"[.?!:;]\s*$")
SMALL_NUMBER = re.compile(r"\d{1,2}")


@dataclass(frozen=True)
class Term:
    """A word of the topic, as written and as a stem; `named` if it is a name, a number or an id."""

    text: str
    stem: str
    named: bool


@dataclass(frozen=True)
class Language:
    """The words of a language: `light` words have no topic, `hints` refer to something in earlier turns.

    A question that begins with one of `openers` continues an earlier one.
    """

    light: frozenset[str]
    hints: frozenset[str]
    openers: tuple[str, ...]
    stemmer: str

    @cached_property
    def _stemmer(self) -> Any:
        return stemmer(self.stemmer)

    def runs(self, text: str) -> list[list[Term]]:
        """The terms of a text, adjacent ones grouped."""
        runs: list[list[Term]] = [[]]
        before = 0
        for word in WORD.finditer(text):
            closed = text[before : word.start()].strip() or self._is_light(word[0])
            if closed and runs[-1]:
                runs.append([])
            if not self._is_light(word[0]):
                runs[-1].append(self._term(text, word))
            before = word.end()
        return [run for run in runs if run]

    def terms(self, text: str) -> list[Term]:
        """The terms of a text in reading order."""
        return [term for run in self.runs(text) for term in run]

    def hinted(self, text: str, enough: int) -> bool:
        """True if a text refers to earlier turns: by its first words, or by a hint.

        A hint after a name, or after `enough` terms, of the same text refers to those and does not count.
        """
        words = [_normalised(word[0]) for word in WORD.finditer(text)]
        start = " ".join(words)
        if any(start == opener or start.startswith(f"{opener} ") for opener in self.openers):
            return True
        named = {_normalised(term.text): term.named for term in self.terms(text)}
        for place, word in enumerate(words):
            before = {earlier for earlier in words[:place] if earlier in named}
            # After other words, `that` begins a clause.
            if word in self.hints and (word != "that" or not place):
                return len(before) < enough and not any(named[earlier] for earlier in before)
        return False

    def _is_light(self, word: str) -> bool:
        return len(word) < 2 or _normalised(word) in self.light

    def _term(self, text: str, word: re.Match[str]) -> Term:
        written, stem = POSSESSIVE.sub("", word[0]), _normalised(word[0])
        stem = self._stemmer.stemWord(stem) if self._stemmer else stem
        return Term(written, stem, _is_name(text, word))


def language(light: str, hints: str, openers: Sequence[str], stemmer: str) -> Language:
    """A Language from the word lists of a config, separated by blanks; hints are light words too."""
    leaning = frozenset(hints.lower().split())
    return Language(frozenset(light.lower().split()) | leaning, leaning, tuple(map(str.lower, openers)), stemmer)


def _normalised(word: str) -> str:
    return POSSESSIVE.sub("", word.lower()).replace("’", "'")


def _is_name(text: str, word: re.Match[str]) -> bool:
    """True for a capital inside a sentence, all capitals, or a digit; numbers below 100 are too common to be names."""
    written = word[0]
    if any(letter.isdigit() for letter in written):
        return not SMALL_NUMBER.fullmatch(written)
    first = word.start() == 0 or SENTENCE_ENDS.search(text[: word.start()])
    return written.isupper() or (written[0].isupper() and not first)


@dataclass
class Topic:
    """The topic of a conversation: the weight of every stem, and each word as it was first written."""

    weights: dict[str, float]
    written: dict[str, str]


@dataclass(frozen=True)
class CarryOver:
    """Searches for a follow-up together with the terms of the topic.

    A question depends on earlier turns if it begins with one of `openers`, if it has one of `hints` with fewer than `enough`
    terms and no name before it, or if it has at most `short` terms and no name. A question without any term of its own, such as
    a wish for more, is searched for as the question before it was. Every other question is searched for as typed.

    The topic is computed turn by turn from the questions of the user. Each turn multiplies all weights by `decay`, and by
    `switch` too if the question is independent and shares no term with the topic: then the topic has changed. A term adds 1, or
    `named` if it is next to a name; in a dependent question this is multiplied by `leaning`. At most `most` terms are added,
    those with at least `share` of the greatest weight. With `answers` above 0, each name in an answer adds that much.
    """

    light: str
    hints: str
    openers: Sequence[str] = ()
    language: str = "english"
    short: int = 2
    enough: int = 2
    most: int = 6
    share: float = 0.65
    decay: float = 0.9
    switch: float = 0.2
    named: float = 1.5
    leaning: float = 0.5
    answers: float = 0.0
    languages: Sequence[str] = ("english",)

    def __post_init__(self) -> None:
        check_language("queries.language", self.language)
        for name in ("share", "decay", "switch", "leaning"):
            check_number(f"queries.{name}", getattr(self, name), 0, 1)
        for name in ("named", "answers"):
            check_number(f"queries.{name}", getattr(self, name), 0)
        for name, lowest in (("most", 1), ("short", 0), ("enough", 1)):
            check_whole(f"queries.{name}", getattr(self, name), lowest)

    @cached_property
    def words(self) -> Language:
        """The words of the language that the rules use."""
        return language(self.light, self.hints, self.openers, self.language)

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """Dependent questions with the terms of their topic, others as typed."""
        return [self._sought(query) for query in queries]

    def _sought(self, query: Query) -> Sought:
        before = next((at for at in reversed(range(len(query.history))) if query.history[at].role == "user"), None)
        if before is not None and not self.words.terms(query.text):
            return self._sought(Query(query.query_id, query.history[before].text, query.history[:before]))
        carried = self.carried(query) if query.history else []
        text = " ".join([query.text.strip(), *carried]) if carried else query.text
        return Sought(text, (text,))

    def carried(self, query: Query) -> list[str]:
        """The terms that are added to a question, in the order of their first mention."""
        own = self.words.terms(query.text)
        if not self._depends(query.text, own):
            return []
        topic = self._topic(query.history)
        weights = {stem: weight for stem, weight in topic.weights.items() if stem not in {term.stem for term in own}}
        least = self.share * max(weights.values(), default=0.0)
        enough = [stem for stem in topic.written if weights.get(stem, 0.0) >= least > 0]
        # Later terms win ties: the last word of a question is often the noun that the others describe.
        best = sorted(reversed(enough), key=lambda stem: -weights[stem])[: self.most]
        return [topic.written[stem] for stem in enough if stem in best]

    def _depends(self, text: str, own: Sequence[Term]) -> bool:
        return self.words.hinted(text, self.enough) or (len(own) <= self.short and not any(term.named for term in own))

    def _topic(self, history: Sequence[Turn]) -> Topic:
        topic = Topic({}, {})
        for turn in history:
            if turn.role == "user":
                self._update(topic, turn.text)
            elif self.answers:
                named = [term for term in self.words.terms(turn.text) if term.named]
                _add(topic, named, self.answers)
        return topic

    def _update(self, topic: Topic, text: str) -> None:
        own = self.words.terms(text)
        depends = bool(topic.weights) and self._depends(text, own)
        new = bool(own) and not depends and not {term.stem for term in own} & topic.weights.keys()
        fade = self.decay * (self.switch if new else 1.0)
        topic.weights.update({stem: weight * fade for stem, weight in topic.weights.items()})
        for run in self.words.runs(text):
            weight = self.named if any(term.named for term in run) else 1.0
            _add(topic, run, weight * (self.leaning if depends else 1.0))


def _add(topic: Topic, terms: Sequence[Term], weight: float) -> None:
    for term in terms:
        topic.weights[term.stem] = topic.weights.get(term.stem, 0.0) + weight
        topic.written.setdefault(term.stem, term.text)
