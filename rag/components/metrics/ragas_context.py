"""ragas' context precision and recall: what contexts do for the reference answer, as a model sees it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rag.core.errors import ConfigError
from rag.core.models import ragas
from rag.core.models.pinned import readable
from rag.core.models.ragas import Model
from rag.core.records import Answer, Example
from rag.core.roles import Generator, fingerprint


@dataclass(frozen=True)
class RagasContext:
    """Contexts against the first reference answer (Es et al. 2024, "RAGAs").

    `precision`: the average precision of those that a model calls useful for it, whether they stand before the others.
    `recall`: the share of its statements that a model finds in them. A reply that does not fit is answered with `again`, up to
    `attempts` replies; where all do not, there is no value.
    """

    which: Literal["precision", "recall"]
    generator: Generator
    again: str
    attempts: int = 2
    judge: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ConfigError(f"{self._where}.attempts", f"is {self.attempts}", "1 or more")
        ragas.check_installed(self._where)

    @property
    def _where(self) -> str:
        return f"metric.ragas_context_{self.which}"

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def applies(self, example: Example, answer: Answer) -> bool:
        """Whether there is a reference answer, a question and a context."""
        return bool(answer.contexts and readable(answer.query.text).strip() and _references(example))

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN where it does not apply, and where the model gave nothing that can be read."""
        if not self.applies(example, answer):
            return float("nan")
        found = ragas.metrics(self._where)
        metric = found.ContextPrecision if self.which == "precision" else found.ContextRecall
        contexts, question = [readable(hit.chunk.text) for hit in answer.contexts], readable(answer.query.text).strip()
        reference = readable(_references(example)[0])

        async def measure(number: int, model: Model) -> Any:
            return await metric(llm=model).ascore(user_input=question, retrieved_contexts=contexts, reference=reference)

        (told,) = ragas.measured([Model(self.generator, self.attempts, self.again)], measure, 1)
        return min(1.0, told.value) if told.value == told.value else told.value


def _references(example: Example) -> list[str]:
    return [one for one in example.answers if one.strip()]
