"""Natural language inference: a cross-encoder reads a passage and a claim together and predicts entailment.

Laban et al. 2022, "SummaC": the support of a claim is its best entailment by any passage. Weights are read from safetensors
only, and no code of a repository is run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from rag.components.judges.claim_judge import ClaimJudge
from rag.components.judges.passages import WINDOW, Passages
from rag.core.assessments import Case, Claim, Verdict
from rag.core.checks import check_whole
from rag.core.errors import ConfigError
from rag.core.models.pinned import PinnedComponent, readable
from rag.core.models.sentence_models import load_cross_encoder
from rag.core.progress import blocks
from rag.core.text.citations import without_markers
from rag.core.text.refusals import claims
from rag.core.text.templates import check_template, fill
from rag.core.text.values.words import words

TURN = Lock()
"""One thread at a time loads or calls a model, because each call of its tokenizer sets the padding."""


@dataclass(frozen=True)
class NliJudge(PinnedComponent, ClaimJudge):
    """Support is the greatest probability of entailment by one of the `most` passages that share the rarest words.

    `model` is a folder or a hub id with a `revision`; one of its labels begins with `entail`. A passage is three sentences in a
    row; passage and claim together are cut to `max_length` tokens. A claim that a context contains word for word has support 1.
    The relevance of a text is the entailment of `relevance` with the question in it (Yin et al. 2019, classification by
    entailment). `batch_size` is 1 because padding changes the last bits of a score.
    """

    role: ClassVar[str] = "judge"
    runtime: ClassVar[tuple[str, ...]] = ("device", "batch_size", "cache")
    languages: ClassVar[tuple[str, ...]] = ("english",)
    model: str
    relevance: str
    revision: str | None = None
    most: int = 8
    max_length: int = 512
    device: str = "cpu"
    batch_size: int = 1
    cache: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for where, value in (("most", self.most), ("max_length", self.max_length), ("runtime.batch_size", self.batch_size)):
            check_whole(f"judge.{where}", value, 1)
        check_template("judge.relevance", self.relevance, ("question",))
        self.source  # noqa: B018 - checks the model

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case."""
        return [self._verdict(case) for (case,) in blocks(cases, "answers judged")]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """How far each text entails that it answers the question; 0 for an empty text."""
        return [self._related(question, text) if text.strip() else 0.0 for ((question, text),) in blocks(pairs, "pairs judged")]

    def _related(self, question: str, text: str) -> float:
        return self._entailed([(text, fill(self.relevance, {"question": question}))])[0]

    def _verdict(self, case: Case) -> Verdict:
        spans, abstained = claims(case.text, self.patterns)
        passages = Passages(case.contexts)
        return Verdict(tuple(self._claim(case, start, end, passages) for start, end in spans), abstained)

    def _claim(self, case: Case, start: int, end: int, passages: Passages) -> Claim:
        text = without_markers(case.text[start:end])
        claimed = words(text)
        if where := passages.quoting(claimed):
            return Claim(start, end, 1.0, (where,))
        recalls = passages.recalls({word.stem: passages.rarity(word.stem) for word in claimed if word.meaning})[-1]
        read = [passages.span(int(first), WINDOW) for first in np.argsort(-recalls, kind="stable")[: self.most]]
        if not read:
            return Claim(start, end, 0.0)
        entailed = self._entailed([(case.contexts[at.context - 1][at.start : at.end], text) for at in read])
        best = int(np.argmax(entailed))
        return Claim(start, end, entailed[best], (read[best],))

    def _entailed(self, pairs: list[tuple[str, str]]) -> list[float]:
        with TURN:
            model, label = _load(self.source.folder, self.device, self.max_length)
            texts = [(readable(passage), readable(claim)) for passage, claim in pairs]
            logits = model.predict(texts, batch_size=self.batch_size, show_progress_bar=False)
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return [float(value) for value in raised[:, label] / raised.sum(axis=1)]


@lru_cache(maxsize=2)
def _load(folder: Path, device: str, max_length: int) -> tuple[Any, int]:
    """The model, and the number of its label for entailment."""
    model = load_cross_encoder("judge", folder, device, max_length)
    return model, _entailment(model.config.id2label, folder)


def _entailment(labels: dict[int, str], folder: Path) -> int:
    numbers = [number for number, name in labels.items() if name.lower().startswith("entail")]
    if len(numbers) != 1 or len(labels) < 2:
        what = f"{folder} has the labels {', '.join(labels.values())}"
        raise ConfigError("judge.model", what, "a model of natural language inference, with one label `entailment`")
    return numbers[0]
