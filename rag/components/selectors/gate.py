"""Drops candidates that do not entail an answer to the question, by a judge's relevance of a text to a question."""

from collections.abc import Sequence

import numpy as np

from rag.core.checks import check_number, check_whole
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.memo import Recent
from rag.core.rankings import Rankings
from rag.core.roles import Judge, fingerprint, is_costly

GAP = "\x1f"
"""Between a question and a text in the key of a score."""


class GateSelector:
    """Keeps the hits among the first `depth` that score `theta` or more, or else the best of them; the others are dropped.

    The score is `judge.relate`: with a model of natural language inference the entailment of "this answers the question" by
    the text that indexes read (Yin et al. 2019), with `judge=local` the relevance by vectors and shared words. Hits behind
    `depth` are dropped unread, so that a strict gate does not let in hits that no model has read. The order stays.
    """

    def __init__(self, judge: Judge, theta: float = 0.5, depth: int = 20) -> None:
        check_number("selector.gate.theta", theta, 0, 1)
        check_whole("selector.gate.depth", depth, 1)
        if is_costly(judge):
            raise ConfigError("selector.gate.judge", "asks a chat model for every candidate", "choose judge nli or local")
        self.judge, self.theta, self.depth = judge, float(theta), depth
        self._known: Recent[float] = Recent(1 << 15)

    def fingerprint(self) -> str:
        """The fingerprint of the judge."""
        return fingerprint(self.judge)

    def select_for(self, questions: Sequence[str], rankings: Rankings, corpus: Corpus) -> Rankings:
        """The hits that pass, at least one of each question; ConfigError for rankings that a selector widened."""
        if rankings.ranks is not None:
            raise ConfigError("selector.gate", "comes behind a selector that adds chunks", "write the gate before it")
        kept = np.zeros(rankings.positions.shape, dtype=bool)
        for row, scores in enumerate(self._scores(questions, rankings, corpus)):
            kept[row, : len(scores)] = np.array(scores) >= min(self.theta, max(scores, default=0.0))
        return rankings.where(kept)

    def reason(self, question: str, position: int, ranking: Rankings, corpus: Corpus) -> str:
        """The score of a hit that is dropped, or that no model has read it; empty for one that passes."""
        first = [each for each, _ in ranking.first(self.depth).row(0)]
        if position not in first:
            return f"not among the first {self.depth} candidates, which the gate reads"
        (scores,) = self._scores([question], ranking, corpus)
        score = scores[first.index(position)]
        return "" if score >= min(self.theta, max(scores)) else f"entailment {score:.2f} is below {self.theta:g}"

    def _scores(self, questions: Sequence[str], rankings: Rankings, corpus: Corpus) -> list[list[float]]:
        """The scores of the first `depth` hits; those of recent pairs are known."""
        heads = [[position for position, _ in rankings.first(self.depth).row(row)] for row in range(len(rankings))]
        rows = [
            [f"{question}{GAP}{corpus.index_text(each)}" for each in head]
            for question, head in zip(questions, heads, strict=True)
        ]
        values = iter(self._known([key for row in rows for key in row], self._related))
        return [[next(values) for _ in row] for row in rows]

    def _related(self, keys: list[str]) -> list[float]:
        return self.judge.relate([(question, text) for question, _, text in (key.partition(GAP) for key in keys)])
