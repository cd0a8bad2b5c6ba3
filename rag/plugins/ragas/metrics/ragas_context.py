"""ragas' metrics with a reference answer: a model compares the contexts, or the answer, with it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rag.core.checks import check_whole
from rag.core.errors import required
from rag.core.models.pinned import readable
from rag.core.roles import Generator
from rag.core.text.citations import without_markers
from rag.core.types import Answer, Example
from rag.plugins.ragas import evaluators
from rag.plugins.ragas.evaluators import Model

CONTEXTS = ("user_input", "retrieved_contexts", "reference")
METRICS = {
    "precision": ("ContextPrecision", CONTEXTS),
    "recall": ("ContextRecall", CONTEXTS),
    "factual_correctness": ("FactualCorrectness", ("response", "reference")),
    "noise_sensitivity": ("NoiseSensitivity", (*CONTEXTS, "response")),
}
"""The classes of ragas with what they read."""


@dataclass(frozen=True)
class RagasContext:
    """Contexts, or an answer, compared with the first reference answer (Es et al. 2024, "RAGAs").

    `precision`: the average precision of the contexts that the model calls useful for the answer. `recall`: the share of its
    statements that the model finds in the contexts. `factual_correctness`: the F1 of the claims of answer and reference, 0 for
    an answer that declines. `noise_sensitivity`: the share of the statements of an answer that are wrong and follow from a
    context that is of use, so less is better; it takes 3 + 2 requests for each context. An invalid reply is answered with
    `again`, up to `attempts` replies; if all are invalid the value is NaN.
    """

    which: Literal["precision", "recall", "factual_correctness", "noise_sensitivity"]
    generator: Generator
    again: str
    attempts: int = 2
    judge: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole(f"{self._where}.attempts", self.attempts, 1)
        required(self._where, "ragas")

    @property
    def _where(self) -> str:
        return f"metric.ragas_{'' if 'response' in METRICS[self.which][1] else 'context_'}{self.which}"

    def applies(self, example: Example, answer: Answer) -> bool:
        """True if there is a reference answer, and a question, a context, and an answer that does not decline, where needed."""
        return all(self._given(example, answer).values())

    def _given(self, example: Example, answer: Answer) -> dict[str, Any]:
        given = {
            "user_input": readable(answer.query.text).strip(),
            "retrieved_contexts": [readable(hit.chunk.text) for hit in answer.contexts],
            "response": "" if answer.abstained else readable(without_markers(answer.reply.text)).strip(),
            "reference": readable(next((each for each in example.answers if each.strip()), "")),
        }
        return {field: given[field] for field in METRICS[self.which][1]}

    def measure(self, example: Example, answer: Answer) -> float:
        """A value in [0, 1]; NaN if it does not apply, and without a valid reply."""
        given = self._given(example, answer)
        if not all(given.values()):
            return 0.0 if self.which == "factual_correctness" and answer.abstained and given["reference"] else float("nan")

        async def measure(number: int, model: Model) -> Any:
            return await getattr(evaluators.metrics(self._where), METRICS[self.which][0])(llm=model).ascore(**given)

        (measured,) = evaluators.measured([Model(self.generator, self.attempts, self.again)], measure, 1)
        return min(1.0, measured.value) if measured.value == measured.value else measured.value
