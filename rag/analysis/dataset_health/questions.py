"""Problems of a golden set that need no trial: near-duplicates across splits, and questions in the words of their passage."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag.components.analysers.words import WordAnalyser
from rag.components.chunkers.recursive import RecursiveChunker
from rag.components.indexes.bm25s import Bm25sIndex
from rag.core.types import Evidence, Example, spans_of
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.validation import similar_pairs
from rag.evaluation.gold_matching import judge
from rag.evaluation.gold_table import gold_table
from rag.pipeline.search.steps import chunk

LETTERS = re.compile(r"[^\W_]+")
GRAM = 4
"""Characters of the n-grams by which wordings are compared."""

ALIKE = 0.6
"""The Jaccard index of n-grams from which two wordings count as near-duplicates.

`rag data check` requires .9 of the words. At .6 of the n-grams Cranfield has two pairs across splits, both the same question
with one word changed, Chroma's questions have one, the handbook none; at .5 the first different questions appear.
"""

SHARE, MARGIN = 0.7, 1.5
"""A question gives itself away if its gold has at least SHARE of its words, by weight, and BM25 prefers the gold by MARGIN.

Calibrated on the handbook: 4 of 207 questions with gold. Of Chroma's questions, which a model wrote from the passages, it is
24 of 276, of Cranfield's none of 225.
"""

MEANING = WordAnalyser(stopwords="english_plus")
"""Splits a text into words with a meaning: BM25's own list of stop words keeps `which`, `what` and `how`."""

SIZE = 800
"""Characters of the chunks that BM25 ranks here: the default of the recursive chunker."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A question that a person should check, with the reason: a sentence without its full stop."""

    query_id: str
    text: str
    why: str


def near_duplicates(golden: Golden) -> tuple[Finding, ...]:
    """Questions that are nearly the same, with their history, as a question of another split: they bias the holdout."""
    texts = [" ".join([*(turn.text for turn in example.query.history), example.query.text]) for example in golden.examples]
    findings = []
    for number, other, alike in similar_pairs([_grams(text) for text in texts], ALIKE):
        first, second = golden.examples[number], golden.examples[other]
        if first.split != second.split:
            why = f"{alike:.0%} alike {second.query.query_id} in {second.split}: {second.query.text}"
            findings.append((alike, Finding(first.query.query_id, first.query.text, why)))
    return tuple(finding for _, finding in sorted(findings, key=lambda pair: -pair[0]))


def _grams(text: str) -> frozenset[str]:
    words = f" {' '.join(LETTERS.findall(text.casefold()))} "
    return frozenset(words[at : at + GRAM] for at in range(len(words) - GRAM + 1)) if words.strip() else frozenset()


def give_aways(golden: Golden) -> tuple[Finding, ...]:
    """Questions that word search answers by their words alone, the clearest first: they do not separate good search from bad.

    BM25 over chunks of SIZE characters ranks all of their gold first, and scores the next hit lower by a factor of MARGIN or
    more; and the gold has at least SHARE of their words, stemmed, without stop words, each weighted by its inverse document
    frequency over the chunks. Of a whole gold document the chunk with most of the words counts.
    """
    examples = golden.examples
    corpus = chunk(RecursiveChunker(size=SIZE), golden.documents)
    index = Bm25sIndex(WordAnalyser())
    gold = _Gold(golden, MEANING, corpus.texts, [golden.documents[doc].doc_id for doc in corpus.doc.tolist()])
    rankings = index.open(index.build(corpus.texts, None)).search([example.query.text for example in examples], None, 100)
    judged = judge(rankings, gold_table(corpus, examples))
    findings: list[tuple[float, Finding]] = []
    for row in np.flatnonzero(judged.answerable).tolist():
        groups = judged.group_ranks[row][judged.group_ranks[row] >= 0]
        margin = _margin(groups, judged.relevant[row][: judged.items[row]], rankings.scores[row])
        if margin >= MARGIN and (share := gold.share(examples[row])) >= SHARE:
            sure = "finds nothing else" if math.isinf(margin) else f"scores it {margin:.1f} times what follows"
            why = f"its gold holds {share:.0%} of its words by weight, and BM25 {sure}"
            findings.append((share, Finding(examples[row].query.query_id, examples[row].query.text, why)))
    return tuple(finding for _, finding in sorted(findings, key=lambda pair: -pair[0]))


def _margin(groups: np.ndarray, relevant: np.ndarray, scores: np.ndarray) -> float:
    """The score of the last needed hit divided by that of the first wrong one; 0 if a wrong hit comes before."""
    right = int(np.argmin(relevant)) if not relevant.all() else len(relevant)
    if not (groups > 0).all() or int(groups.max()) > right:
        return 0.0
    if right == len(relevant):
        return math.inf
    return float(scores[int(groups.max()) - 1] / scores[right]) if scores[right] > 0 else math.inf


class _Gold:
    """The words of gold, and the weight of each word in this corpus."""

    def __init__(self, golden: Golden, words: WordAnalyser, chunks: Sequence[str], owners: Sequence[str]) -> None:
        self.words = words
        self.texts = {document.doc_id: document.text for document in golden.documents}
        self.chunks: dict[str, list[frozenset[str]]] = {}
        for text, owner in zip(chunks, owners, strict=True):
            self.chunks.setdefault(owner, []).append(frozenset(words.terms(text)))
        self.size = len(chunks)
        self.common = Counter(term for chunks_of in self.chunks.values() for terms in chunks_of for term in terms)

    def weight(self, terms: Collection[str]) -> float:
        """The sum of BM25's inverse document frequencies, exact, so that the order of a set does not matter."""
        return math.fsum(math.log1p((self.size - self.common[term] + 0.5) / (self.common[term] + 0.5)) for term in terms)

    def share(self, example: Example) -> float:
        """The share of a question's weight in its gold: of each group the alternative with the greatest weight."""
        terms = frozenset(self.words.terms(example.query.text))
        common = [max(self._common(group, terms), key=self.weight, default=frozenset[str]()) for group in example.evidence]
        total = self.weight(terms)
        return self.weight(frozenset[str]().union(*common)) / total if total else 0.0

    def _common(self, group: Evidence, terms: frozenset[str]) -> Iterator[frozenset[str]]:
        for place in group.alternatives:
            if isinstance(place, str):
                yield from (terms & chunk for chunk in self.chunks.get(place, ()))
            else:
                quote = " ".join(self.texts[span.doc_id][span.start : span.end] for span in spans_of(place))
                yield terms.intersection(self.words.terms(quote))
