"""Adds the words of the topic to a follow-up question, taken from earlier turns by rules, without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rag.components.queries.words import Language, Term, language
from rag.core.checks import check_number, check_whole
from rag.core.text.languages import check_language
from rag.core.types import Query, Sought, Turn


@dataclass
class Topic:
    """The topic of a conversation: the weight of every stem, and each word as it was first written."""

    weights: dict[str, float]
    written: dict[str, str]


@dataclass(frozen=True)
class CarryOver:
    """Searches for a follow-up together with the terms of the topic.

    `words` are the lists of `rag.components.queries.words.Language` by language; a language without lists has the first ones.
    A question depends on earlier turns if it begins with one of `openers`, if it has one of `hints` with fewer than `enough`
    terms and no name before it, or if it has at most `short` terms and no name, and is not whole (`Language.is_whole`). One
    without any term, such as a wish for more, is searched for as the question before it was, every other one as typed.

    The topic is computed turn by turn from the questions of the user. Each turn multiplies all weights by `decay`, and by
    `switch` too if the question is independent and shares no term with the topic: then the topic has changed. A term adds 1, or
    `named` if it is next to a name; in a dependent question this is multiplied by `leaning`. At most `most` terms are added,
    those with at least `share` of the greatest weight.
    """

    words: Mapping[str, Mapping[str, Any]]
    language: str = "english"
    short: int = 2
    enough: int = 2
    most: int = 6
    share: float = 0.65
    decay: float = 0.9
    switch: float = 0.2
    named: float = 1.5
    leaning: float = 0.5

    def __post_init__(self) -> None:
        check_language("queries.language", self.language)
        for name in ("share", "decay", "switch", "leaning"):
            check_number(f"queries.{name}", getattr(self, name), 0, 1)
        check_number("queries.named", self.named, 0)
        for name, lowest in (("most", 1), ("short", 0), ("enough", 1)):
            check_whole(f"queries.{name}", getattr(self, name), lowest)

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages with lists of words."""
        return tuple(self.words)

    @cached_property
    def _read(self) -> Language:
        return language(self.words.get(self.language) or next(iter(self.words.values()), {}), self.language)

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """Dependent questions with the terms of their topic, others as typed."""
        return [self._sought(query) for query in queries]

    def _sought(self, query: Query) -> Sought:
        before = next((at for at in reversed(range(len(query.history))) if query.history[at].role == "user"), None)
        if before is not None and not self._read.terms(query.text):
            return self._sought(Query(query.query_id, query.history[before].text, query.history[:before]))
        carried = self.carried(query) if query.history else []
        text = " ".join([query.text.strip(), *carried]) if carried else query.text
        return Sought(text, (text,))

    def carried(self, query: Query) -> list[str]:
        """The terms that are added to a question, in the order of their first mention."""
        own = self._read.terms(query.text)
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
        is_whole = len(own) > 1 and self._read.is_whole(text)
        is_short = len(own) <= self.short and not is_whole and not any(term.named for term in own)
        return is_short or self._read.hinted(text, 1 if is_whole else self.enough)

    def _topic(self, history: Sequence[Turn]) -> Topic:
        topic = Topic({}, {})
        for turn in history:
            if turn.role == "user":
                self._update(topic, turn.text)
        return topic

    def _update(self, topic: Topic, text: str) -> None:
        own = self._read.terms(text)
        depends = bool(topic.weights) and self._depends(text, own)
        new = bool(own) and not depends and not {term.stem for term in own} & topic.weights.keys()
        fade = self.decay * (self.switch if new else 1.0)
        topic.weights.update({stem: weight * fade for stem, weight in topic.weights.items()})
        for run in self._read.runs(text):
            weight = (self.named if any(term.named for term in run) else 1.0) * (self.leaning if depends else 1.0)
            for term in run:
                topic.weights[term.stem] = topic.weights.get(term.stem, 0.0) + weight
                topic.written.setdefault(term.stem, term.text)
