"""German and Spanish questions with the words of three languages, by language, and whole documents against an oracle."""

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
import Stemmer
from bench.measuring import Report, swept
from bm25s import stopwords

from rag.core.arrays import Ints
from rag.core.types import document_of
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.slices import slices_along
from rag.evaluation.scores import Scores
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.evaluation.statistics.summary import summarise
from rag.execution.sweep import trial_scores

pytestmark = pytest.mark.bench

COLUMNS = ("ndcg@10", "recall@5")
STOP = {"english": "EN", "german": "GERMAN", "spanish": "SPANISH"}
"""The lists of stop words of the trials that stem; the trial `words` compares all words as they are written."""


def found(*overrides: str) -> tuple[Golden, dict[str, Scores]]:
    """The golden set, and the scores of every trial of the experiment by its language."""
    done, store = swept("languages", *overrides)
    trials = {each.trial.name: trial_scores.read_scores(each, done.plan, store).scores for each in done.plan.trials}
    return done.plan.trials[0].golden, trials


def test_each_language_is_found_best_with_its_own_words(bench: Path) -> None:
    golden, trials = found("metrics=[ndcg@10,recall@5]")
    gaps = ("minus english", "low", "high", "minus words", "low", "high")
    columns = ("questions", "language", "n", "clusters", "metric", "mean", "low", "high", *gaps)
    report = Report("BM25 on tramway, chunks of 800 characters", columns)
    for part in slices_along(golden, ("tag", "kind")):
        members = np.flatnonzero(part.members & [bool(example.evidence) for example in golden.examples])
        for name in trials if len(members) else ():
            for column in COLUMNS:
                report.row(part.name, name, *figures(golden, members, trials, name, column))
    report.show()
    for tag in slices_along(golden, ("tag",)):
        own = trials[tag.name.removeprefix("tag=")].column("ndcg@10")[tag.members]
        assert np.nanmean(own) > np.nanmean(trials["words"].column("ndcg@10")[tag.members])


def figures(golden: Golden, members: Ints, trials: dict[str, Scores], name: str, column: str) -> list[object]:
    """n, clusters, metric, the mean with its interval, and the differences from the words of English and from all words."""
    scores = {key: each.column(column)[members, None] for key, each in trials.items()}
    ids = tuple(golden.examples[row].query.query_id for row in members)
    own = summarise(
        Scores(ids, (column,), scores[name], trials[name].failed[members]), [golden.examples[row] for row in members]
    )
    cluster = np.unique(cluster_numbers(golden.examples)[members], return_inverse=True)[1].astype(np.int64)
    gaps = [family(scores[name] - scores[base], cluster) for base in ("english", "words")]
    numbers = (own.mean, own.low, own.high, *(side for gap in gaps for side in (gap.mean, gap.low, gap.high)))
    return [own.n[0], own.clusters[0], column, *(float(values[0]) for values in numbers)]


def terms(text: str, language: str) -> list[str]:
    words = re.findall(r"\b\w{2,}\b", text.lower())
    if language == "words":
        return words
    stop = getattr(stopwords, f"STOPWORDS_{STOP[language]}")
    return [Stemmer.Stemmer(language).stemWord(word) for word in words if word not in stop]


def ranked(golden: Golden, language: str) -> dict[str, dict[str, float]]:
    """BM25 over whole documents as Lucene counts it, from its formula: question → document → minus its rank."""
    bags = {document.doc_id: Counter(terms(document.text, language)) for document in golden.documents}
    mean = sum(bag.total() for bag in bags.values()) / len(bags)
    having = Counter(term for bag in bags.values() for term in bag)
    weight = {term: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for term, n in having.items()}
    runs = {}
    for example in golden.examples:
        asked = [term for term in terms(example.query.text, language) if term in weight]
        size = {doc: 1.2 * (0.25 + 0.75 * bag.total() / mean) for doc, bag in bags.items()}
        scores = {doc: sum(weight[t] * bag[t] / (bag[t] + size[doc]) for t in asked) for doc, bag in bags.items()}
        best_first = sorted((doc for doc in bags if scores[doc] > 0), key=lambda doc: -round(scores[doc], 6))
        # trec_eval breaks ties by name; these are broken by the order of the corpus.
        runs[example.query.query_id] = {doc: -float(rank) for rank, doc in enumerate(best_first)}
    return runs


def test_whole_documents_score_as_pytrec_eval_scores_plain_bm25(bench: Path) -> None:
    golden, trials = found("chunker=whole", "metrics=[ndcg@10,recall@5]")
    qrels = {
        example.query.query_id: {document_of(place): 1 for group in example.evidence for place in group.alternatives}
        for example in golden.examples
        if example.evidence
    }
    for name in (*STOP, "words"):
        told = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "recall.5"}).evaluate(ranked(golden, name))
        for column, measure in (("ndcg@10", "ndcg_cut_10"), ("recall@5", "recall_5")):
            for example, value in zip(golden.examples, trials[name].column(column), strict=True):
                if example.evidence:
                    assert value == pytest.approx(told[example.query.query_id][measure], abs=1e-6), example.query
