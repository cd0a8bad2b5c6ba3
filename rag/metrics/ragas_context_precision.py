"""ragas' context precision: whether contexts that help towards the reference answer stand before the others."""

from dataclasses import dataclass
from typing import Any, ClassVar

from rag import ragas_models
from rag.errors import ConfigError
from rag.models import readable
from rag.ragas_models import Model
from rag.records import Answer, Example
from rag.roles import Generator, fingerprint


@dataclass(frozen=True)
class RagasContextPrecision:
    """Average precision of the contexts that a model calls useful for the first reference answer (Es et al. 2024, "RAGAs").

    A reply that does not fit is answered with `again`, up to `attempts` replies; where all do not, there is no value.
    """

    generator: Generator
    again: str
    attempts: int = 2
    judge: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ConfigError("metric.ragas_context_precision.attempts", f"is {self.attempts}", "1 or more")

    def fingerprint(self) -> str:
        """The generator's."""
        return fingerprint(self.generator)

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN without a reference answer or contexts, and where the model gave nothing that can be read."""
        contexts = [readable(hit.chunk.text) for hit in answer.contexts]
        question, references = readable(answer.query.text).strip(), [one for one in example.answers if one.strip()]
        if not (contexts and question and references):
            return float("nan")
        metric = ragas_models.metrics("metric.ragas_context_precision").ContextPrecision

        async def measure(number: int, model: Model) -> Any:
            reference = readable(references[0])
            return await metric(llm=model).ascore(user_input=question, retrieved_contexts=contexts, reference=reference)

        (found,) = ragas_models.measured([Model(self.generator, self.attempts, self.again)], measure, 1)
        return min(1.0, found.value) if found.value == found.value else found.value
