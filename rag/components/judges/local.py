"""A judge without a model server: it compares claims with their best passages by words and by token vectors.

Support is a logistic mix of a few measures (`rag.components.judges.measures`). Their weights are fitted to human labels of
several data sets, which have equal weight. The measures of a text are the means of its claims, weighted by content, so that one
doubtful sentence lowers the support of a long answer and does not decide it. The weights of contradictions and of near copies
with a changed word are set by hand, because the labels have few of them.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from rag.components.judges.claim_judge import ClaimJudge
from rag.components.judges.measures import BY_HAND, MEASURES, QUOTED, SIGNS, Measured, gathered, measure
from rag.components.judges.mix import BIAS, fitted, mixed
from rag.components.judges.passages import Passages, TokenVectors, quoting_claims
from rag.core.arrays import Floats
from rag.core.assessments import Case, Claim, Verdict
from rag.core.checks import check_whole
from rag.core.encoded_passages import TokenEncoder
from rag.core.errors import ConfigError
from rag.core.memo import Recent
from rag.core.numbers import unit_rows
from rag.core.progress import blocks
from rag.core.text.citations import without_markers
from rag.core.text.sentences import blocks as paragraphs
from rag.core.text.sentences import sentences
from rag.core.text.values.words import words

Weights = Mapping[str, float]
WORDLESS = "has no word to compare"
MeasuredClaim = tuple[int, int, Measured]
"""Start and end of a claim, and its measures."""
WEIGHTED = {**SIGNS, **BY_HAND}
ALL = 1 - 1e-9
"""The least share of quoted claims of a text that counts as quoted as a whole."""


@dataclass(frozen=True)
class LocalJudge(ClaimJudge):
    """Support is the probability that a person calls a text, or a claim of it, supported by the contexts.

    `weights` are the log-odds of each measure, which is in [0, 1], and a `bias`. A claim that a context contains word for word
    has support 1. Vectors are compared with at most `most` sentences. `fitted_on` maps the sha256 of each file of labels behind
    the weights to the weights fitted to the other files: a card on these labels uses those. The question is not used for
    claims. `relevance` are the log-odds of the relevance of a text to a question (`rag.components.judges.local`), and a
    bias.
    """

    encoder: TokenEncoder
    weights: Weights
    relevance: Weights
    most: int = 32
    fitted_on: Mapping[str, Weights] = field(default_factory=dict)
    languages: ClassVar[tuple[str, ...]] = ("english",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("judge.most", self.most, 1)
        for name, what, remedy in self._problems():
            raise ConfigError(f"judge.{name}", what, remedy)

    def _problems(self) -> Iterator[tuple[str, str, str]]:
        if not hasattr(self.encoder, "embed_tokens"):
            what = f"{type(self.encoder).__name__} gives no token vectors"
            yield "encoder", what, "an embedder with embed_tokens, such as MiniLmEmbedder"
        if set(self.weights) != {BIAS, *WEIGHTED}:
            yield "weights", f"names {', '.join(self.weights)}", f"a number each for {', '.join((BIAS, *WEIGHTED))}"
        for name, sign in WEIGHTED.items():
            if not self.weights.get(name, 0.0) * sign >= 0:
                yield f"weights.{name}", f"is {self.weights[name]}", f"a number {'>' if sign > 0 else '<'}= 0"
        if set(self.relevance) != {BIAS, *NAMES}:
            yield "relevance", f"names {', '.join(self.relevance)}", f"a number each for {', '.join((BIAS, *NAMES))}"

    @cached_property
    def _recent(self) -> TokenVectors:
        return Recent()

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case."""
        return [self._verdict(*measured) for measured in self._measured(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The relevance of the text in each (question, text), in [0, 1]."""
        return related(pairs, self.encoder, self.relevance)

    def measure(self, cases: Sequence[Case]) -> Floats:
        """The measures of each text, shape (texts, MEASURES); NaN for a text without a claim that can be judged."""
        rows = [gathered([measured for _, _, measured in claims]) for claims, _ in self._measured(cases)]
        return np.array(rows, np.float64).reshape(-1, len(MEASURES))

    def supports(self, measures: Floats) -> Floats:
        """The supports of claims or texts with these measures, shape (rows,)."""
        values = mixed(measures[:, : len(WEIGHTED)], tuple(WEIGHTED), self.weights)
        return np.where(measures[:, MEASURES.index(QUOTED)] >= ALL, 1.0, values)

    def refitted(self, measures: Sequence[Floats], labels: Sequence[Sequence[bool]]) -> "LocalJudge":
        """This judge with weights fitted to the texts of several sets, which have equal weight.

        Texts without claims, and quotations, are left out. The weights of BY_HAND stay as they are.
        """
        used = [~np.isnan(rows[:, 0]) & ~(rows[:, -1] >= ALL) for rows in measures]
        total = sum(int(known.sum()) for known in used)
        counts = [np.full(int(known.sum()), total / len(used) / max(int(known.sum()), 1)) for known in used]
        values = np.concatenate([rows[known, : len(SIGNS)] for rows, known in zip(measures, used, strict=True)])
        targets = np.concatenate([np.array(own, np.bool_)[known] for own, known in zip(labels, used, strict=True)])
        return replace(self, weights={**self.weights, **fitted(values, targets, SIGNS, np.concatenate(counts))})

    def without(self, digest: str) -> "LocalJudge":
        """The judge fitted without the labels with this sha256."""
        return replace(self, weights=self.fitted_on[digest], fitted_on={})

    def _verdict(self, claims: Sequence[MeasuredClaim], abstained: bool) -> Verdict:
        measures = [measured for _, _, measured in claims]
        rows = np.array([*(measured.values for measured in measures), gathered(measures)], np.float64)
        *supports, whole = self.supports(rows).tolist()
        judged = (
            Claim(start, end, support, measured.evidence, measured.lacking, WORDLESS if math.isnan(support) else "")
            for (start, end, measured), support in zip(claims, supports, strict=True)
        )
        return Verdict(tuple(judged), abstained, None if math.isnan(whole) else whole)

    def _measured(self, cases: Sequence[Case]) -> Iterator[tuple[list[MeasuredClaim], bool]]:
        """The claims of each case, and whether it abstains; cases in a row with the same contexts share their passages."""
        passages, contexts = Passages(()), tuple[str, ...]()
        for (case,) in blocks(cases, "answers judged"):
            if case.contexts != contexts:
                passages, contexts = Passages(case.contexts, self._recent), case.contexts
            spans, abstained = quoting_claims(case.text, self.patterns)
            texts = ((start, end, without_markers(case.text[start:end])) for start, end in spans)
            measured = [(start, end, measure(text, passages, self.encoder, self.most)) for start, end, text in texts]
            # "Yes." before a claim is not a claim; alone it is a claim that cannot be judged.
            yield [claim for claim in measured if not math.isnan(claim[2].values[0])] or measured, abstained


NAMES = ("cosine", "words")
"""The measures: the greatest cosine of the question with the text or a sentence of it, and the share of its words there."""
MOST = 2
"""The number of sentences of a text whose vectors are compared: those that share the most words with the question."""


def related(pairs: Sequence[tuple[str, str]], encoder: TokenEncoder, weights: Mapping[str, float]) -> list[float]:
    """The relevance of each text to its question in [0, 1]; 0 if one of them has no word to compare."""
    measures = measured(pairs, encoder)
    values = np.where(np.isnan(measures).any(axis=1), 0.0, mixed(np.nan_to_num(measures), NAMES, weights))
    return [float(value) for value in values]


def measured(pairs: Sequence[tuple[str, str]], encoder: TokenEncoder) -> Floats:
    """The measures of each (question, text), shape (pairs, NAMES), in [0, 1]; NaN if one of them has no word to compare."""
    wanted = {question: _stems(question) for question, _ in pairs}
    parts = [pieces(text, wanted[question]) if wanted[question] else [] for question, text in pairs]
    asked = list(dict.fromkeys(question for (question, _), own in zip(pairs, parts, strict=True) if own))
    compared = list(dict.fromkeys(piece for own in parts for piece in own))
    measures = np.full((len(pairs), len(NAMES)), np.nan)
    if not compared:
        return measures
    # One batch: an embedder with stored vectors writes one entry per call.
    ours, theirs = unit_rows(encoder.embed_queries(asked)), unit_rows(encoder.embed_documents(compared))
    question_row, piece_row = ({text: row for row, text in enumerate(texts)} for texts in (asked, compared))
    for number, ((question, text), own) in enumerate(zip(pairs, parts, strict=True)):
        if own:
            cosine = float((theirs[[piece_row[piece] for piece in own]] @ ours[question_row[question]]).max())
            shared = len(wanted[question] & _stems(text)) / len(wanted[question])
            measures[number] = max(0.0, min(1.0, cosine)), shared
    return measures


def pieces(text: str, wanted: Collection[str]) -> list[str]:
    """The text and its MOST sentences with the most of the wanted words, each once; empty for a text without words."""
    if not words(text):
        return []
    spans = (span for block in paragraphs(text) for span in sentences(text, block))
    shared = [(len(_stems(own) & set(wanted)), own) for own in (text[start:end] for start, end in spans)]
    return list(dict.fromkeys([text, *(own for count, own in sorted(shared, key=lambda scored: -scored[0])[:MOST] if count)]))


@lru_cache(maxsize=1 << 14)
def _stems(text: str) -> frozenset[str]:
    return frozenset(word.stem for word in words(text) if word.meaning)
