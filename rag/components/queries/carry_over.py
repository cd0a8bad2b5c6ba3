"""A follow-up takes the words that it lacks from the turns before it, by rule and without a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.components.queries.words import Language, Term, language
from rag.core.errors import ConfigError, closest
from rag.core.records import Query, Sought, Turn


@dataclass
class Topic:
    """What a conversation is about so far: the weight of every stem, and the words as they were first written."""

    weights: dict[str, float]
    written: dict[str, str]


@dataclass(frozen=True)
class CarryOver:
    """Searches for a follow-up together with the words that carry the topic.

    A question leans on what was said if it says so (an opener, or a hint with fewer than `enough` terms and no name before it)
    or has at most `short` terms and no name; every other question is left as it is typed. The topic is a fold over the person's
    turns: all weights fade by `decay` at each turn, and by `switch` more at one that stands alone and shares no term with the
    topic: it is another one. A term adds 1, one in a run with a name `named`, in a turn that leaned itself `leaning` times as
    much. At most `most` terms are carried, those with at least `share` of the weight of the first.

    Answers count where `answers` is above 0: their names add so much.
    """

    light: str
    hints: str
    openers: Sequence[str] = ()
    stemmer: str = "english"
    short: int = 2
    enough: int = 2
    most: int = 6
    share: float = 0.65
    decay: float = 0.9
    switch: float = 0.2
    named: float = 1.5
    leaning: float = 0.5
    answers: float = 0.0

    def __post_init__(self) -> None:
        from Stemmer import algorithms

        if self.stemmer not in algorithms():
            raise ConfigError("queries.stemmer", f"there is no {self.stemmer!r}", closest(self.stemmer, algorithms()))
        for name in ("share", "decay", "switch", "leaning"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"queries.{name}", f"is {getattr(self, name)}", "0 to 1")
        for name in ("named", "answers"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"queries.{name}", f"is {getattr(self, name)}", "0 or more")
        for name, least in (("most", 1), ("short", 0), ("enough", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"queries.{name}", f"is {getattr(self, name)}", f"{least} or more")

    @cached_property
    def words(self) -> Language:
        """The words that the rules go by."""
        return language(self.light, self.hints, self.openers, self.stemmer)

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """Follow-ups with what they lean on."""
        return [self._sought(query) for query in queries]

    def _sought(self, query: Query) -> Sought:
        carried = self.carried(query) if query.history else []
        text = " ".join([query.text.strip(), *carried]) if carried else query.text
        return Sought(text, (text,))

    def carried(self, query: Query) -> list[str]:
        """The words that a question takes from the turns before it, in the order in which they came up."""
        own = self.words.terms(query.text)
        if not self._leans(query.text, own):
            return []
        topic = self._topic(query.history)
        weights = {stem: weight for stem, weight in topic.weights.items() if stem not in {term.stem for term in own}}
        least = self.share * max(weights.values(), default=0.0)
        enough = [stem for stem in topic.written if weights.get(stem, 0.0) >= least > 0]
        # Of equals the later ones: in many questions the last word is the one that the others describe.
        best = sorted(reversed(enough), key=lambda stem: -weights[stem])[: self.most]
        return [topic.written[stem] for stem in enough if stem in best]

    def _leans(self, text: str, own: Sequence[Term]) -> bool:
        return self.words.hinted(text, self.enough) or (len(own) <= self.short and not any(term.named for term in own))

    def _topic(self, history: Sequence[Turn]) -> Topic:
        topic = Topic({}, {})
        for turn in history:
            if turn.role == "user":
                self._hear(topic, turn.text)
            elif self.answers:
                named = [term for term in self.words.terms(turn.text) if term.named]
                _add(topic, named, self.answers)
        return topic

    def _hear(self, topic: Topic, text: str) -> None:
        own = self.words.terms(text)
        leans = bool(topic.weights) and self._leans(text, own)
        new = bool(own) and not leans and not {term.stem for term in own} & topic.weights.keys()
        fade = self.decay * (self.switch if new else 1.0)
        topic.weights.update({stem: weight * fade for stem, weight in topic.weights.items()})
        for run in self.words.runs(text):
            weight = self.named if any(term.named for term in run) else 1.0
            _add(topic, run, weight * (self.leaning if leans else 1.0))


def _add(topic: Topic, terms: Sequence[Term], weight: float) -> None:
    for term in terms:
        topic.weights[term.stem] = topic.weights.get(term.stem, 0.0) + weight
        topic.written.setdefault(term.stem, term.text)
