"""Two layers: the last turns always, and of what was said before them what matters now.

Older messages are scored by topic, freshness and importance, as in Park et al. 2023, "Generative Agents", and fade softly: a
low score leaves the sentences that say most, a lower one nothing.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.components.memories.statements import Statement, pieces, read_statement
from rag.components.memories.summaries import turn_line
from rag.core.errors import ConfigError, closest
from rag.core.records import Query, Recalled, Turn
from rag.core.text.tokens import count

VALUES = 3
"""Values from which a message is as important as it gets."""


@dataclass(frozen=True)
class TwoLayerMemory:
    """Recalls the last `turns` messages, and older ones as far as `tokens` go, best first, shown in the order they were said.

    A score is the mean, weighted by `topic`, `freshness` and `importance`, of three values in [0, 1]: the share of the words
    of the message that the question and the last turns hold; 1/2 to the power of its age in units of `half_life`; the number of
    its values (numbers, ids, names) out of three, or 1 if it holds one of `signals`. From `whole` on it is shown whole, from
    `least` on in the sentences that score highest, as many as the score's share of `whole`.

    Conflicts: pinned files over newer over older. `rule` says so to the model. And a statement that a newer one of the same
    side replaces is not shown: of their stems they share at least `overlap`, values that both hold among them, and each holds a
    value that the other does not.
    """

    rule: str
    turns: int = 4
    tokens: int = 300
    topic: float = 0.5
    freshness: float = 0.25
    importance: float = 0.25
    half_life: float = 6.0
    whole: float = 0.45
    least: float = 0.15
    overlap: float = 0.5
    signals: Sequence[str] = ()
    stemmer: str = "english"
    turn_format: str = "- {role}: {text}"

    def __post_init__(self) -> None:
        from Stemmer import algorithms

        for name, what, remedy in self._problems():
            raise ConfigError(f"memory.{name}", what, remedy)
        if self.stemmer not in algorithms():
            raise ConfigError("memory.stemmer", f"there is no {self.stemmer!r}", closest(self.stemmer, algorithms()))

    def _problems(self) -> list[tuple[str, str, str]]:
        weights = (self.topic, self.freshness, self.importance)
        checks = (
            ("turns", self.turns >= 1, f"is {self.turns}", "1 message or more"),
            ("tokens", self.tokens >= 0, f"is {self.tokens}", "0 or more"),
            ("topic", min(weights) >= 0 and sum(weights) > 0, f"and others are {weights}", "weights of 0 or more, not all 0"),
            ("half_life", self.half_life > 0, f"is {self.half_life}", "a number of messages above 0"),
            ("least", 0 <= self.least <= self.whole <= 1, f"is {self.least}", "0 to memory.whole, which is at most 1"),
            ("overlap", 0 < self.overlap <= 1, f"is {self.overlap}", "a share above 0, at most 1"),
            ("turn_format", "{text}" in self.turn_format, "has no place for what was said", "write {text} where it belongs"),
        )
        return [(name, what, remedy) for name, fine, what, remedy in checks if not fine]

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """The last turns, and above them the rule with what else matters."""
        return [self._recalled(query) for query in queries]

    def _recalled(self, query: Query) -> Recalled:
        if not query.history:
            return Recalled()
        older, last = query.history[: -self.turns], query.history[-self.turns :]
        shown = self._within(self._faded(query, older, last))
        return Recalled(last, "\n".join(filter(None, (self.rule.strip(), *shown))))

    def _faded(self, query: Query, older: Sequence[Turn], last: Sequence[Turn]) -> list[tuple[float, str]]:
        """Older messages with their scores, in their order, each as much as is left of it."""
        read = [read_statement(turn.text, self.stemmer) for turn in (*older, *last)]
        turns = (*older, *last)
        about = read_statement(query.text, self.stemmer)
        now = frozenset[str]().union(*(one.stems | one.values for one in (about, *read[len(older) :])))
        found = []
        for place, turn in enumerate(older):
            newer = (one for one, other in zip(read[place + 1 :], turns[place + 1 :], strict=True) if other.role == turn.role)
            score = self._score(turn, read[place], now, len(turns) - place)
            if score >= self.least and not any(self._replaces(one, read[place]) for one in newer):
                found.append((score, turn_line(self.turn_format, turn.role, self._left(turn.text, score, now))))
        return found

    @cached_property
    def _signal(self) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, self.signals))})\b", re.IGNORECASE)

    def _score(self, turn: Turn, one: Statement, now: frozenset[str], age: int) -> float:
        words = one.stems | one.values
        signalled = bool(self.signals) and self._signal.search(turn.text)
        parts = (
            len(words & now) / max(len(words), 1),
            math.pow(0.5, age / self.half_life),
            1.0 if signalled else min(1.0, len(one.values) / VALUES),
        )
        weights = (self.topic, self.freshness, self.importance)
        return math.fsum(weight * part for weight, part in zip(weights, parts, strict=True)) / math.fsum(weights)

    def _replaces(self, newer: Statement, older: Statement) -> bool:
        """Whether a newer message gives other values for what an older one spoke of."""
        if newer.asks or older.asks or not (newer.values - older.values and older.values - newer.values):
            return False
        # What both name speaks for one matter; what one of them names is what they may differ in.
        named = len(newer.values & older.values)
        return named + len(newer.stems & older.stems) >= self.overlap * (named + len(newer.stems | older.stems)) > 0

    def _left(self, text: str, score: float, now: frozenset[str]) -> str:
        """What a score leaves of a message: all of it, or its best sentences in their order."""
        parts = pieces(text)
        if score >= self.whole or len(parts) < 2:
            return text
        worth = [self._worth(part, now) for part in parts]
        most = max(1, math.floor(len(parts) * score / self.whole))
        kept = sorted(sorted(range(len(parts)), key=lambda place: (-worth[place], place))[:most])
        return " ".join(parts[place] for place in kept)

    def _worth(self, part: str, now: frozenset[str]) -> int:
        one = read_statement(part, self.stemmer)
        return len((one.stems | one.values) & now) + len(one.values)

    def _within(self, scored: Sequence[tuple[float, str]]) -> list[str]:
        """The messages that there is room for, best first, the later of two equal ones; in their order."""
        room, kept = self.tokens, set[int]()
        for place in sorted(range(len(scored)), key=lambda place: (-scored[place][0], -place)):
            length = count(scored[place][1])
            if length <= room:
                room -= length
                kept.add(place)
        return [scored[place][1] for place in sorted(kept)]
