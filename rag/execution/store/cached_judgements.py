"""Judgements by what was judged: trials that give the same answer from the same contexts have it judged once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from rag.config.identity import code_identity, digest
from rag.core.adapters import records_from
from rag.core.assessments import Case, Spent, Verdict
from rag.core.roles import Judge
from rag.evaluation.attribution import PassageJudge, found_relevant, judged, related
from rag.execution.store.cached_vectors import Segments, item_id
from rag.execution.store.serialisation import json_values
from rag.execution.store.store import Entry, Store

BLOCK = 64
"""Texts that are judged between two writes."""
Row = Sequence[Any]
"""A judgement as JSON values, its tokens and its cost."""
Item = TypeVar("Item")
Pairs = Sequence[tuple[str, str]]


class Judgements(Segments[Row]):
    """Rows of judgements by item."""

    block = BLOCK

    def encode(self, values: Mapping[bytes, Row]) -> Entry:
        """Rows as the JSON of an entry."""
        return Entry(meta={"judgements": {item.hex(): row for item, row in values.items()}})

    def decode(self, entry: Entry) -> Mapping[bytes, Row]:
        """The rows of an entry."""
        return {bytes.fromhex(item): row for item, row in entry.meta["judgements"].items()}


class StoredJudge:
    """A judge whose judgements are stored by text, contexts and question; a judgement that failed is made again."""

    def __init__(self, judge: Judge, store: Store, identity: str) -> None:
        self.judge_ = judge
        self.stored = Judgements(store, f"judgements/{digest(identity, code_identity(__name__))}")

    @property
    def threshold(self) -> float:
        """The threshold of the judge."""
        return self.judge_.threshold

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """The verdicts of the judge; each distinct case is judged once."""
        return [verdict for verdict, _ in self.judge_spending(cases)]

    def relate(self, pairs: Pairs) -> list[float]:
        """The relevance of texts to questions; each distinct pair is judged once."""
        return [value for value, _ in self.relate_spending(pairs)]

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """The verdicts, each with the tokens and the cost of making it."""
        ids = [item_id("case", case.question, case.text, *case.contexts) for case in cases]
        rows = self._rows(ids, cases, judged, lambda verdict: not verdict.failures)
        return [(records_from(Verdict, verdict), spent) for verdict, spent in rows]

    def relate_spending(self, pairs: Pairs) -> list[tuple[float, Spent]]:
        """The relevance of texts, each with the tokens and the cost of judging it; NaN where judging failed."""
        return self._rows([item_id("pair", *pair) for pair in pairs], pairs, related, _is_number)

    def passages_spending(self, pairs: Pairs) -> list[tuple[float, Spent]]:
        """The relevance of contexts, as `relate_spending`."""
        kind = "passage" if isinstance(self.judge_, PassageJudge) else "pair"
        return self._rows([item_id(kind, *pair) for pair in pairs], pairs, found_relevant, _is_number)

    def _rows(
        self,
        ids: Sequence[bytes],
        items: Sequence[Item],
        judge: Callable[[Judge, Sequence[Item]], Sequence[tuple[Any, Spent]]],
        succeeded: Callable[[Any], bool],
    ) -> list[tuple[Any, Spent]]:
        def compute(numbers: Sequence[int]) -> Iterator[tuple[Row, bool]]:
            for value, spent in judge(self.judge_, [items[number] for number in numbers]):
                yield (*json_values([value]), spent.tokens, spent.cost), succeeded(value)

        return [(value, Spent(tokens, cost)) for value, tokens, cost in self.stored.values(ids, compute)]


def _is_number(value: float) -> bool:
    return value == value
