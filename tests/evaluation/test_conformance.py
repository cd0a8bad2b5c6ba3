"""Document gold scores as trec_eval scores it, to nine digits."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import pytrec_eval

from rag.components.metrics.hit import Hit
from rag.components.metrics.map import AveragePrecision
from rag.components.metrics.mrr import ReciprocalRank
from rag.components.metrics.ndcg import DiscountedGain
from rag.components.metrics.precision import Precision
from rag.components.metrics.recall import Recall
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.roles import RankingMetric
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.evaluation.scoring import document_rankings, gold_table, judge

CUTS = (1, 2, 3, 5, 10, 30)
SEEDS = range(6)
METRICS: dict[str, RankingMetric] = {
    "recall": Recall(),
    "P": Precision(),
    "success": Hit(),
    "map_cut": AveragePrecision(),
    "ndcg_cut": DiscountedGain(),
    "recip_rank": ReciprocalRank(),
}
Row = list[tuple[int, float]]


@dataclass(frozen=True)
class Case:
    """A corpus, questions with judgements in TREC's form, and the candidates of every question in any order."""

    corpus: Corpus
    qrels: list[dict[str, int]]
    candidates: list[Row]

    def examples(self) -> list[Example]:
        return [_example(number, grades) for number, grades in enumerate(self.qrels)]

    def rankings(self) -> Rankings:
        packed = Rankings.pack(self.candidates)
        return Rankings.ordered(packed.positions, packed.scores, depth=10**6)

    def document_lists(self) -> list[list[str]]:
        """Documents by their best chunk: the highest score, the earlier chunk where scores are equal."""
        names = [document.doc_id for document in self.corpus.documents]
        lists = []
        for row in self.candidates:
            best_first = sorted(row, key=lambda hit: (-hit[1], hit[0]))
            lists.append(list(dict.fromkeys(names[self.corpus.doc[position]] for position, _ in best_first)))
        return lists


def _example(number: int, grades: dict[str, int]) -> Example:
    # Documents that are judged and not relevant are in `judged` or in a group without a grade.
    aside = {name for name, grade in grades.items() if grade == 0 and len(name) % 2}
    evidence = tuple(Evidence((name,), grade) for name, grade in grades.items() if name not in aside)
    return Example(Query(f"q{number}", "?"), evidence, judged=frozenset(aside))


def _trec(case: Case, cut: int) -> list[dict[str, float]]:
    """trec_eval's values per question; runs are cut for recip_rank, which has no cut-off."""
    qrels = {f"q{number}": grades for number, grades in enumerate(case.qrels) if grades}
    measures = {f"{name}.{cut}" for name in METRICS if name != "recip_rank"}
    runs, short = {}, {}
    for number, documents in enumerate(case.document_lists()):
        # trec_eval orders by score, and ties by name: pass it our order.
        runs[f"q{number}"] = {name: -float(place) for place, name in enumerate(documents)}
        short[f"q{number}"] = {name: -float(place) for place, name in enumerate(documents[:cut])}
    values = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(runs)
    first = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(short)
    return [{**values.get(f"q{n}", {}), **first.get(f"q{n}", {})} for n in range(len(case.qrels))]


def assert_conforms(case: Case, cuts: Sequence[int] = CUTS) -> int:
    """Compare every metric at every cut; return the number of compared questions."""
    judged = judge(case.rankings(), gold_table(case.corpus, case.examples()))
    answerable = np.array([any(grade > 0 for grade in grades.values()) for grades in case.qrels])
    assert judged.answerable.tolist() == answerable.tolist()
    for cut in cuts:
        theirs = _trec(case, cut)
        for name, metric in METRICS.items():
            ours = metric.score(judged, np.full(len(judged), cut))
            key = name if name == "recip_rank" else f"{name}_{cut}"
            expected = np.where(answerable, [values.get(key, 0.0) for values in theirs], np.nan)
            np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-9, err_msg=key)
    return int(answerable.sum())


def make_corpus(chunks: Sequence[int], size: int = 10, step: int = 7) -> Corpus:
    """Documents of so many chunks each, that overlap by three characters."""
    documents = [Document(f"doc{'x' * (n % 3)}{n:03}", "." * (step * count + size)) for n, count in enumerate(chunks)]
    spans = [
        Span(d.doc_id, i * step, i * step + size) for d, count in zip(documents, chunks, strict=True) for i in range(count)
    ]
    return Corpus.of(documents, spans)


def generated(seed: int, questions: int = 125) -> Case:
    """Ties, several chunks of one document, short and missing lists, all grades, gold outside the corpus, no gold at all."""
    random = np.random.default_rng(seed)
    corpus = make_corpus(random.integers(0, 6, random.integers(1, 40)).tolist())
    names = [document.doc_id for document in corpus.documents] + ["absent1", "absent12"]
    qrels, candidates = [], []
    for _ in range(questions):
        known = random.choice(names, min(len(names), random.integers(0, 25)), replace=False)
        top = random.integers(1, 5)
        qrels.append({str(name): int(random.integers(0, top)) for name in known})
        found = random.permutation(len(corpus))[: random.choice([0, 1, 3, 20, 100, 300])]
        scores = random.integers(0, random.choice([2, 5, 1000]), len(found)) / 4
        candidates.append(list(zip(found.tolist(), scores.tolist(), strict=True)))
    return Case(corpus, qrels, candidates)


@pytest.mark.parametrize("seed", SEEDS)
def test_document_gold_scores_as_trec_eval_does(seed: int) -> None:
    assert assert_conforms(generated(seed)) > 60


def test_exported_document_rankings_are_the_judged_ones() -> None:
    case = generated(7)
    exported = document_rankings(case.rankings(), case.corpus)
    assert [[name for name, _ in row] for row in exported] == case.document_lists()
    judged = judge(case.rankings(), gold_table(case.corpus, case.examples()))
    lengths = [len(row) for row, gold in zip(exported, judged.answerable, strict=True) if gold]
    assert judged.items[judged.answerable].tolist() == lengths
    for row in exported:
        assert all(one[1] >= two[1] for one, two in pairwise(row))
