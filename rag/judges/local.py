"""A judge without a key: claims are held against their best passages by words and by the vectors of words.

Support is a logistic mix of a few measures: how well the weakest clause is carried by any passage (late interaction), how much
of the claim's rare words one passage holds, numbers and dates that no context has, names that no context has; their weights are
fitted to people's labels. A contradiction counts by a weight that is set by hand, for those labels hold few of them.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rag.claims import Case, Claim, Verdict
from rag.errors import ConfigError
from rag.judges.assertions import claims, refusals, without_markers
from rag.judges.measures import CONTRADICTION, MEASURES, QUOTED, SIGNS, Measured, measure
from rag.judges.mix import BIAS, fitted, mixed
from rag.judges.passages import Known, Passages, TokenEncoder
from rag.judges.relevance import NAMES, related

Floats = NDArray[np.float64]
WORDLESS = "holds no word that could be looked for"
Found = tuple[int, int, Measured]
"""Start and end of a claim, and what it measures."""
WEIGHTED = {**SIGNS, CONTRADICTION: -1}


@dataclass(frozen=True)
class LocalJudge:
    """Support is a probability: that a person who reads claim and contexts calls the claim supported.

    `weights` are the log-odds of each measure, which lies in [0, 1] (`rag.judges.measures`), and a `bias`. A claim that a
    context holds word for word has support 1. Vectors are compared with at most `most` sentences. `abstentions` are further
    regular expressions for sentences that say that nothing can be said. `fitted_on` is the sha256 of the labels that the
    weights come from: on those a card is made out of fold. Claims are judged without a look at the question. `relevance` are
    the log-odds by which a text speaks to a question (`rag.judges.relevance`), and a bias. For English.
    """

    encoder: TokenEncoder
    weights: Mapping[str, float]
    relevance: Mapping[str, float]
    threshold: float = 0.5
    abstentions: Sequence[str] = ()
    most: int = 32
    fitted_on: str = ""

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

    def measure(self, cases: Sequence[Case]) -> list[Floats]:
        """For every case what its claims measure, shape (claims, MEASURES): all that supports are made of."""
        found = ([measured.values for _, _, measured in part] for part, _ in self._measured(cases))
        return [np.array(rows, np.float64).reshape(-1, len(MEASURES)) for rows in found]

    def supports(self, measures: Floats) -> Floats:
        """The supports of claims with such measures."""
        values = mixed(measures[:, : len(WEIGHTED)], tuple(WEIGHTED), self.weights)
        return np.where(measures[:, MEASURES.index(QUOTED)] > 0, 1.0, values)

    def refitted(self, measures: Sequence[Floats], labels: Sequence[bool]) -> "LocalJudge":
        """This judge with its weights fitted to labelled cases, by the worst that any claim of a case measures.

        Cases without claims and quotations teach nothing. The weight of contradictions stays as it is.
        """
        signs = np.array([*SIGNS.values()], np.float64)
        pairs = zip(measures, labels, strict=True)
        known = [(rows, label) for rows, label in pairs if len(rows) and not (rows[:, -1].all() or np.isnan(rows).any())]
        worst = np.array([signs * (signs * rows[:, : len(signs)]).min(axis=0) for rows, _ in known])
        weights = fitted(worst, np.array([label for _, label in known]), SIGNS)
        return replace(self, weights={**self.weights, **weights})

    def _verdict(self, found: Sequence[Found], abstained: bool) -> Verdict:
        values = np.array([measured.values for _, _, measured in found], np.float64).reshape(-1, len(MEASURES))
        supports = self.supports(values).tolist()
        judged = zip(found, supports, strict=True)
        made = (
            Claim(start, end, support, measured.evidence, measured.lacking, WORDLESS if math.isnan(support) else "")
            for (start, end, measured), support in judged
        )
        return Verdict(tuple(made), abstained)

    def _measured(self, cases: Sequence[Case]) -> Iterator[tuple[list[Found], bool]]:
        """The claims of each case, and whether it abstains; cases in a row about the same contexts share their vectors."""
        passages, contexts = Passages(()), tuple[str, ...]()
        for case in cases:
            if case.contexts != contexts:
                passages, contexts = Passages(case.contexts, self._known), case.contexts
            spans, abstained = claims(case.text, self._patterns)
            texts = ((start, end, without_markers(case.text[start:end])) for start, end in spans)
            found = [(start, end, measure(text, passages, self.encoder, self.most)) for start, end, text in texts]
            # "Yes." in front of a claim is none; alone it is one that cannot be judged.
            yield [one for one in found if not math.isnan(one[2].values[0])] or found, abstained
