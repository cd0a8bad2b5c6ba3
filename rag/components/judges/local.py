"""A judge without a key: claims are held against their best passages by words and by the vectors of words.

Support is a logistic mix of a few measures (`rag.components.judges.measures`), whose weights are fitted to people's labels of
several sets, each set counting alike. A text measures what its claims measure on average, by their content, so that one
doubtful sentence lowers the support of a long answer and does not decide it. Contradictions and near copies with a changed word
count by weights that are set by hand, for those labels hold few of them.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag.components.judges.assertions import quoting_claims, refusals, without_markers
from rag.components.judges.measures import BY_HAND, MEASURES, QUOTED, SIGNS, Measured, gathered, measure
from rag.components.judges.mix import BIAS, fitted, mixed
from rag.components.judges.passages import Known, Passages, TokenEncoder
from rag.components.judges.relevance import NAMES, related
from rag.core.assessments import Case, Claim, Verdict
from rag.core.errors import ConfigError

Floats = NDArray[np.float64]
Weights = Mapping[str, float]
WORDLESS = "holds no word that could be looked for"
Found = tuple[int, int, Measured]
"""Start and end of a claim, and what it measures."""
WEIGHTED = {**SIGNS, **BY_HAND}
ALL = 1 - 1e-9
"""The share of a text from which it counts as quoted as a whole."""


@dataclass(frozen=True)
class LocalJudge:
    """Support is a probability: that a person who reads a text, or a claim of it, and the contexts calls it supported.

    `weights` are the log-odds of each measure, which lies in [0, 1], and a `bias`. A claim that a context holds word for word
    has support 1. Vectors are compared with at most `most` sentences. `abstentions` are further regular expressions for
    sentences that say that nothing can be said. `fitted_on` has, by the sha256 of every file of labels that the weights come
    from, the weights that the other files give: a card on those labels is made with these. Claims are judged without a look at
    the question. `relevance` are the log-odds by which a text speaks to a question (`rag.components.judges.relevance`), and a
    bias. For English.
    """

    encoder: TokenEncoder
    weights: Weights
    relevance: Weights
    threshold: float = 0.5
    abstentions: Sequence[str] = ()
    most: int = 32
    fitted_on: Mapping[str, Weights] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, what, remedy in self._problems():
            raise ConfigError(f"judge.{name}", what, remedy)
        self._patterns  # noqa: B018 - checks the expressions

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
        if not 0 <= self.threshold <= 1:
            yield "threshold", f"is {self.threshold}", "a support from 0 to 1"
        if self.most < 1:
            yield "most", f"is {self.most}", "1 sentence or more"

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return refusals(self.abstentions)

    @cached_property
    def _known(self) -> Known:
        return Known()

    def fingerprint(self) -> str:
        """The encoder's."""
        return self.encoder.fingerprint()

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case."""
        return [self._verdict(*found) for found in self._measured(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How far the text of each (question, text) is about what the question asks."""
        return related(pairs, self.encoder, self.relevance)

    def measure(self, cases: Sequence[Case]) -> Floats:
        """What each text measures, shape (texts, MEASURES); NaN for one without a claim that can be judged."""
        rows = [gathered([measured for _, _, measured in found]) for found, _ in self._measured(cases)]
        return np.array(rows, np.float64).reshape(-1, len(MEASURES))

    def supports(self, measures: Floats) -> Floats:
        """The supports of claims or texts with such measures."""
        values = mixed(measures[:, : len(WEIGHTED)], tuple(WEIGHTED), self.weights)
        return np.where(measures[:, MEASURES.index(QUOTED)] >= ALL, 1.0, values)

    def refitted(self, measures: Sequence[Floats], labels: Sequence[Sequence[bool]]) -> "LocalJudge":
        """This judge with its weights fitted to the texts of several sets, each of which counts as much as any other.

        Texts without claims and quotations teach nothing. The weights of BY_HAND stay as they are.
        """
        taught = [~np.isnan(rows[:, 0]) & ~(rows[:, -1] >= ALL) for rows in measures]
        total = sum(int(known.sum()) for known in taught)
        counts = [np.full(int(known.sum()), total / len(taught) / max(int(known.sum()), 1)) for known in taught]
        values = np.concatenate([rows[known, : len(SIGNS)] for rows, known in zip(measures, taught, strict=True)])
        said = np.concatenate([np.array(own, np.bool_)[known] for own, known in zip(labels, taught, strict=True)])
        return replace(self, weights={**self.weights, **fitted(values, said, SIGNS, np.concatenate(counts))})

    def without(self, digest: str) -> "LocalJudge":
        """The judge that has seen nothing of some of the labels that it was fitted on."""
        return replace(self, weights=self.fitted_on[digest], fitted_on={})

    def _verdict(self, found: Sequence[Found], abstained: bool) -> Verdict:
        measures = [measured for _, _, measured in found]
        rows = np.array([*(one.values for one in measures), gathered(measures)], np.float64)
        *supports, whole = self.supports(rows).tolist()
        made = (
            Claim(start, end, support, measured.evidence, measured.lacking, WORDLESS if math.isnan(support) else "")
            for (start, end, measured), support in zip(found, supports, strict=True)
        )
        return Verdict(tuple(made), abstained, None if math.isnan(whole) else whole)

    def _measured(self, cases: Sequence[Case]) -> Iterator[tuple[list[Found], bool]]:
        """The claims of each case, and whether it abstains; cases in a row about the same contexts share their vectors."""
        passages, contexts = Passages(()), tuple[str, ...]()
        for case in cases:
            if case.contexts != contexts:
                passages, contexts = Passages(case.contexts, self._known), case.contexts
            spans, abstained = quoting_claims(case.text, self._patterns)
            texts = ((start, end, without_markers(case.text[start:end])) for start, end in spans)
            found = [(start, end, measure(text, passages, self.encoder, self.most)) for start, end, text in texts]
            # "Yes." in front of a claim is none; alone it is one that cannot be judged.
            yield [one for one in found if not math.isnan(one[2].values[0])] or found, abstained
