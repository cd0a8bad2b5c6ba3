"""Judgements by what was judged: trials that give the same answer from the same contexts have it judged once."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from rag.config.identity import code_identity, digest
from rag.core.assessments import Case, Spent, Verdict
from rag.core.roles import Judge
from rag.evaluation.attribution import PassageJudge, found_relevant, judged, related
from rag.execution.store.cached_vectors import item_id
from rag.execution.store.serialisation import json_values, verdict_of
from rag.execution.store.store import Entry, Store

BLOCK = 64
"""Texts that are judged between two writes."""
Told = Mapping[str, Any]
Asked = TypeVar("Asked")


class StoredJudge:
    """A judge whose judgements are kept by text, contexts and question; what it could not judge is asked again."""

    def __init__(self, judge: Judge, store: Store, identity: str) -> None:
        self.judge_, self.store = judge, store
        self.space = f"judgements/{digest(identity, code_identity(__name__))}"
        self._known: dict[str, Told] = {}
        self._seen: set[str] = set()

    @property
    def threshold(self) -> float:
        """The judge's."""
        return self.judge_.threshold

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """As the judge does, but each distinct case once."""
        return [verdict for verdict, _ in self.judge_spending(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """As the judge does, but each distinct pair once."""
        return [value for value, _ in self.relate_spending(pairs)]

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """The verdicts, and what each took when it was made."""
        keys = [item_id("case", case.question, case.text, *case.contexts).hex() for case in cases]
        rows = self._rows(keys, cases, self._verdicts)
        return [(verdict_of(row["verdict"]), _spent(row)) for row in rows]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The values, and what each took when it was made."""
        rows = self._rows([item_id("pair", *pair).hex() for pair in pairs], pairs, self._values)
        return [(math.nan if row["value"] is None else row["value"], _spent(row)) for row in rows]

    def passages_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The relevance of contexts, and what each took when it was made."""
        kind = "passage" if isinstance(self.judge_, PassageJudge) else "pair"
        rows = self._rows([item_id(kind, *pair).hex() for pair in pairs], pairs, self._relevances)
        return [(math.nan if row["value"] is None else row["value"], _spent(row)) for row in rows]

    def _verdicts(self, cases: Sequence[Case]) -> Iterator[tuple[Told, bool]]:
        for verdict, spent in judged(self.judge_, cases):
            (told,) = json_values([verdict])
            yield {"verdict": told, **json_values([spent])[0]}, not verdict.failures

    def _values(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[Told, bool]]:
        return map(_told, related(self.judge_, pairs))

    def _relevances(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[Told, bool]]:
        return map(_told, found_relevant(self.judge_, pairs))

    def _rows(
        self, keys: Sequence[str], asked: Sequence[Asked], judge: Callable[[Sequence[Asked]], Iterator[tuple[Told, bool]]]
    ) -> list[Told]:
        """What is told of everything that is asked, from the store where it is; what was judged is written, block by block."""
        if not self._known.keys() >= set(keys):
            self._refresh()
        missing = list({key: number for number, key in enumerate(keys) if key not in self._known}.values())
        found = dict(self._known)
        for start in range(0, len(missing), BLOCK):
            numbers = missing[start : start + BLOCK]
            made = dict(zip((keys[number] for number in numbers), judge([asked[number] for number in numbers]), strict=True))
            found |= {key: told for key, (told, _) in made.items()}
            self._write({key: told for key, (told, whole) in made.items() if whole})
        return [found[key] for key in keys]

    def _refresh(self) -> None:
        for key in self.store.keys(self.space):
            if key not in self._seen and (meta := self.store.read_meta(key)):
                self._seen.add(key)
                self._known.update(meta["judgements"])

    def _write(self, made: Mapping[str, Told]) -> None:
        if made:
            key = f"{self.space}/{item_id(*made).hex()}"
            self.store.write(key, Entry(meta={"judgements": dict(made)}))
            self._seen.add(key)
            self._known.update(made)


def _told(one: tuple[float, Spent]) -> tuple[Told, bool]:
    value, spent = one
    return {"value": None if math.isnan(value) else value, **json_values([spent])[0]}, not math.isnan(value)


def _spent(row: Told) -> Spent:
    return Spent(row["tokens"], math.nan if row["cost"] is None else row["cost"])
