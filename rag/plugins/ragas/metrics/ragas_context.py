"""ragas' context precision and recall: a model compares the contexts with the reference answer."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rag.core.checks import check_whole
from rag.core.models.pinned import readable
from rag.core.roles import Generator, fingerprint
from rag.core.types import Answer, Example
from rag.plugins.ragas import evaluators
from rag.plugins.ragas.evaluators import Model


@dataclass(frozen=True)
class RagasContext:
    """Contexts compared with the first reference answer (Es et al. 2024, "RAGAs").

    `precision`: the average precision of the contexts that the model calls useful for the answer. `recall`: the share of its
    statements that the model finds in the contexts. An invalid reply is answered with `again`, up to `attempts` replies; if all
    are invalid the value is NaN.
    """

    which: Literal["precision", "recall"]
    generator: Generator
    again: str
    attempts: int = 2
    judge: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole(f"{self._where}.attempts", self.attempts, 1)
        evaluators.check_installed(self._where)

    @property
    def _where(self) -> str:
        return f"metric.ragas_context_{self.which}"

    def fingerprint(self) -> str:
        """The fingerprint of the generator."""
        return fingerprint(self.generator)

    def applies(self, example: Example, answer: Answer) -> bool:
        """True if there is a reference answer, a question and a context."""
        return bool(answer.contexts and readable(answer.query.text).strip() and _references(example))

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN if it does not apply, and without a valid reply."""
        if not self.applies(example, answer):
            return float("nan")
        metrics = evaluators.metrics(self._where)
        metric = metrics.ContextPrecision if self.which == "precision" else metrics.ContextRecall
        contexts, question = [readable(hit.chunk.text) for hit in answer.contexts], readable(answer.query.text).strip()
        reference = readable(_references(example)[0])

        async def measure(number: int, model: Model) -> Any:
            return await metric(llm=model).ascore(user_input=question, retrieved_contexts=contexts, reference=reference)

        (measured,) = evaluators.measured([Model(self.generator, self.attempts, self.again)], measure, 1)
        return min(1.0, measured.value) if measured.value == measured.value else measured.value


def _references(example: Example) -> list[str]:
    return [answer for answer in example.answers if answer.strip()]
