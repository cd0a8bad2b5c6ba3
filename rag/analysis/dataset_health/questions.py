"""What a golden set gives away without a trial: questions that stand in both splits, questions that name their passage."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from rag.analysis.dataset_health.findings import Finding
from rag.components.chunkers.recursive import RecursiveChunker
from rag.components.indexes.bm25s import Bm25sIndex
from rag.components.indexes.terms import Words
from rag.core.records import Evidence, Example, Span
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.validation import candidates
from rag.evaluation.gold_matching import judge
from rag.evaluation.gold_table import gold_table
from rag.pipeline.steps import chunk

PLAIN = re.compile(r"[^\W_]+")
GRAM = 4
"""Characters in the pieces that wordings are compared by."""

ALIKE = 0.6
"""Share of common pieces (Jaccard) from which two wordings count as near-duplicates.

`rag dataset check` asks for .9 of the words. At .6 of the pieces Cranfield has two pairs across splits, both the same question
with a word changed, Chroma's questions one, the handbook none; at .5 pairs begin that ask for other things.
"""

SHARE, MARGIN = 0.7, 1.5
"""A question gives itself away where its gold holds at least SHARE of its words, weighted, and BM25 is sure by MARGIN.

Calibrated on the handbook, where that is 4 of 207 questions with gold; on Chroma's questions, which a model wrote from the
passages, it is 24 of 276, on Cranfield's none of 225.
"""

MEANING = Bm25sIndex(stopwords="en_plus").words
"""How words that mean something are told apart: BM25's own list of stop words keeps `which`, `what` and `how`."""

SIZE = 800
"""Characters of the chunks that BM25 ranks here: the default of the recursive chunker."""


def near_duplicates(golden: Golden) -> tuple[Finding, ...]:
    """Questions that are worded nearly like one of another split, with what was said before them: a holdout knows them then."""
    said = [" ".join([*(turn.text for turn in example.query.history), example.query.text]) for example in golden.examples]
    grams = [_grams(text) for text in said]
    found = []
    for one, other in candidates(grams, ALIKE):
        first, second = golden.examples[one], golden.examples[other]
        alike = len(grams[one] & grams[other]) / len(grams[one] | grams[other])
        if first.split != second.split and alike >= ALIKE:
            why = f"{alike:.0%} alike {second.query.query_id} in {second.split}: {second.query.text}"
            found.append((alike, Finding(first.query.query_id, first.query.text, why)))
    return tuple(finding for _, finding in sorted(found, key=lambda pair: -pair[0]))


def _grams(text: str) -> frozenset[str]:
    plain = f" {' '.join(PLAIN.findall(text.casefold()))} "
    return frozenset(plain[at : at + GRAM] for at in range(len(plain) - GRAM + 1)) if plain.strip() else frozenset()


def give_aways(golden: Golden) -> tuple[Finding, ...]:
    """Questions that word search finds for the words alone, most telling first: they cannot tell good search from any.

    Plain BM25 over chunks of SIZE characters puts all of their gold first, and what follows scores less by MARGIN or more; and
    the gold holds at least SHARE of their words, each weighted by its inverse document frequency over the chunks, without words
    that only make sentences and stemmed. Of a whole gold document the chunk counts that holds most.
    """
    examples = golden.examples
    corpus = chunk(RecursiveChunker(size=SIZE), golden.documents)
    index = Bm25sIndex()
    gold = _Gold(golden, MEANING, corpus.texts, [golden.documents[doc].doc_id for doc in corpus.doc.tolist()])
    rankings = index.open(index.build(corpus.texts, None)).search([example.query.text for example in examples], None, 100)
    judged = judge(rankings, gold_table(corpus, examples))
    found: list[tuple[float, Finding]] = []
    for row in np.flatnonzero(judged.answerable).tolist():
        groups = judged.group_ranks[row][judged.group_ranks[row] >= 0]
        margin = _margin(groups, judged.relevant[row][: judged.items[row]], rankings.scores[row])
        if margin >= MARGIN and (share := gold.share(examples[row])) >= SHARE:
            sure = "finds nothing else" if math.isinf(margin) else f"scores it {margin:.1f} times what follows"
            why = f"its gold holds {share:.0%} of its words by weight, and BM25 {sure}"
            found.append((share, Finding(examples[row].query.query_id, examples[row].query.text, why)))
    return tuple(finding for _, finding in sorted(found, key=lambda pair: -pair[0]))


def _margin(groups: np.ndarray, relevant: np.ndarray, scores: np.ndarray) -> float:
    """How much more the last hit that is needed scores than the first that is wrong; 0 where something wrong comes before."""
    right = int(np.argmin(relevant)) if not relevant.all() else len(relevant)
    if not (groups > 0).all() or int(groups.max()) > right:
        return 0.0
    if right == len(relevant):
        return math.inf
    return float(scores[int(groups.max()) - 1] / scores[right]) if scores[right] > 0 else math.inf


class _Gold:
    """The words of gold, and what each word weighs in this corpus."""

    def __init__(self, golden: Golden, words: Words, chunks: Sequence[str], owners: Sequence[str]) -> None:
        self.words = words
        self.texts = {document.doc_id: document.text for document in golden.documents}
        self.chunks: dict[str, list[frozenset[str]]] = {}
        for text, owner in zip(chunks, owners, strict=True):
            self.chunks.setdefault(owner, []).append(frozenset(words.terms(text)))
        self.size = len(chunks)
        self.common = Counter(term for held in self.chunks.values() for terms in held for term in terms)

    def weight(self, terms: Collection[str]) -> float:
        """The summed inverse document frequencies, as BM25 has them: exactly, for a set is read in any order."""
        return math.fsum(math.log1p((self.size - self.common[term] + 0.5) / (self.common[term] + 0.5)) for term in terms)

    def share(self, example: Example) -> float:
        """The share of a question's weight that its gold holds: of each group the alternative that holds most."""
        asked = frozenset(self.words.terms(example.query.text))
        held = [max(self._held(group, asked), key=self.weight, default=frozenset[str]()) for group in example.evidence]
        total = self.weight(asked)
        return self.weight(frozenset[str]().union(*held)) / total if total else 0.0

    def _held(self, group: Evidence, asked: frozenset[str]) -> Iterator[frozenset[str]]:
        for place in group.alternatives:
            if isinstance(place, Span):
                yield asked.intersection(self.words.terms(self.texts[place.doc_id][place.start : place.end]))
            else:
                yield from (asked & terms for terms in self.chunks.get(place, ()))
