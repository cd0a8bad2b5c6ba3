"""Two layers: the last turns always, and those older messages that matter for the question.

Older messages are scored by topic, freshness and importance (Park et al. 2023, "Generative Agents"). A low score leaves only
the best sentences of a message, a lower one nothing.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from rag.components.memories.summaries import turn_line
from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.text.languages import check_language
from rag.core.text.statements import Statement, fitting, pieces, read_statement
from rag.core.text.templates import check_template
from rag.core.types import Query, Recalled, Turn

VALUES = 3
"""The number of values that gives a message the greatest importance."""


@dataclass(frozen=True)
class TwoLayerMemory:
    """Recalls the last `turns` messages, and the best older ones that fit into `tokens` tokens, in the order of the history.

    The score of a message is the mean, weighted by `topic`, `freshness` and `importance`, of three values in [0, 1]: the share
    of its words in the question and the last turns; 1/2 to the power of its age in units of `half_life` and, where turns have a
    time, of the time up to the last turn in units of `hours`; the number of its
    values (numbers, ids, names) out of three, or 1 if it contains one of `signals`. With a score of `whole` or more the message
    is shown whole; from `least` on its best sentences are shown, as many as the score's share of `whole`.

    Pinned files come before newer statements, newer ones before older ones; `rule` explains this to the model. A statement is
    not shown if a newer one by the same speaker replaces it: they share at least `overlap` of their stems and common values,
    and each has a value that the other does not have.
    """

    rule: str
    turns: int = 4
    tokens: int = 300
    topic: float = 0.5
    freshness: float = 0.25
    importance: float = 0.25
    half_life: float = 6.0
    hours: float | None = None
    whole: float = 0.45
    least: float = 0.15
    overlap: float = 0.5
    signals: Sequence[str] = ()
    language: str = "english"
    languages: Sequence[str] = ("english",)
    turn_format: str = "- {role}: {text}"

    def __post_init__(self) -> None:
        weights = (self.topic, self.freshness, self.importance)
        check_whole("memory.turns", self.turns, 1)
        check_whole("memory.tokens", self.tokens, 0)
        if not (min(weights) >= 0 and sum(weights) > 0):
            raise ConfigError("memory.topic", f"and the other weights are {weights}", "weights of at least 0, not all 0")
        if not self.half_life > 0:
            raise ConfigError("memory.half_life", f"is {self.half_life}", "a number of messages above 0")
        if self.hours is not None and not self.hours > 0:
            raise ConfigError("memory.hours", f"is {self.hours}", "a number of hours above 0, or null")
        if not 0 <= self.least <= self.whole <= 1:
            raise ConfigError("memory.least", f"is {self.least}", "a number from 0 to memory.whole, which is at most 1")
        if not 0 < self.overlap <= 1:
            raise ConfigError("memory.overlap", f"is {self.overlap}", "a number above 0, at most 1")
        check_template("memory.turn_format", self.turn_format, ("text",))
        check_language("memory.language", self.language)

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """The last turns; the summary is the rule and the older messages."""
        return [self._recalled(query) for query in queries]

    def _recalled(self, query: Query) -> Recalled:
        if not query.history:
            return Recalled()
        older, last = query.history[: -self.turns], query.history[-self.turns :]
        lines, scores = self._scored(query, older, last)
        return Recalled(last, "\n".join(filter(None, (self.rule.strip(), *fitting(lines, scores, self.tokens)))))

    def _scored(self, query: Query, older: Sequence[Turn], last: Sequence[Turn]) -> tuple[list[str], list[float]]:
        """The older messages that may be shown, cut by their scores, and these scores; in the order of the history."""
        turns = (*older, *last)
        contents = [read_statement(turn.text, self.language) for turn in turns]
        asked = read_statement(query.text, self.language)
        now = frozenset[str]().union(*(content.stems | content.values for content in (asked, *contents[len(older) :])))
        lines, scores = [], []
        for place, turn in enumerate(older):
            later = zip(contents[place + 1 :], turns[place + 1 :], strict=True)
            newer = (content for content, other in later if other.role == turn.role)
            score = self._score(turn, contents[place], now, len(turns) - place + self._gap(turn, turns[-1]))
            if score >= self.least and not any(self._replaces(content, contents[place]) for content in newer):
                lines.append(turn_line(self.turn_format, turn, self._cut(turn.text, score, now)))
                scores.append(score)
        return lines, scores

    @cached_property
    def _signal(self) -> re.Pattern[str]:
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, self.signals))})\b", re.IGNORECASE)

    def _gap(self, turn: Turn, last: Turn) -> float:
        """The messages that the time between two turns counts for."""
        if self.hours is None or turn.at is None or last.at is None:
            return 0.0
        return self.half_life * max(0.0, last.at - turn.at) / 3600 / self.hours

    def _score(self, turn: Turn, content: Statement, now: frozenset[str], age: float) -> float:
        words = content.stems | content.values
        signalled = bool(self.signals) and self._signal.search(turn.text)
        parts = (
            len(words & now) / max(len(words), 1),
            math.pow(0.5, age / self.half_life),
            1.0 if signalled else min(1.0, len(content.values) / VALUES),
        )
        weights = (self.topic, self.freshness, self.importance)
        return math.fsum(weight * part for weight, part in zip(weights, parts, strict=True)) / math.fsum(weights)

    def _replaces(self, newer: Statement, older: Statement) -> bool:
        """True if a newer message on the same matter contradicts an older one."""
        # Common values are evidence for one matter; the other values are those that may differ.
        common = len(newer.values & older.values)
        same = common + len(newer.stems & older.stems) >= self.overlap * (common + len(newer.stems | older.stems)) > 0
        return same and newer.contradicts(older)

    def _cut(self, text: str, score: float, now: frozenset[str]) -> str:
        """A whole message, or its best sentences in their order, by its score."""
        parts = pieces(text, self.language)
        if score >= self.whole or len(parts) < 2:
            return text
        worth = [self._worth(part, now) for part in parts]
        most = max(1, math.floor(len(parts) * score / self.whole))
        best = sorted(range(len(parts)), key=lambda place: (-worth[place], place))[:most]
        return " ".join(parts[place] for place in sorted(best))

    def _worth(self, part: str, now: frozenset[str]) -> int:
        content = read_statement(part, self.language)
        return len((content.stems | content.values) & now) + len(content.values)
