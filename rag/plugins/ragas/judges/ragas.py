"""ragas as a judge (Es et al. 2024, "RAGAs"): its own metrics and prompts, with any of our generators and embedders."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rag.components.judges.claim_judge import ModelJudge
from rag.core.assessments import Case, Claim, Spent, Verdict
from rag.core.checks import check_whole
from rag.core.errors import ConfigError, required
from rag.core.models.pinned import readable
from rag.core.roles import Embedder, fingerprint
from rag.core.text.citations import without_markers
from rag.core.text.refusals import claims
from rag.plugins.ragas import evaluators
from rag.plugins.ragas.evaluators import Measured, Model, Vectoriser

WHERE = "judge"


@dataclass(frozen=True, kw_only=True)
class RagasJudge(ModelJudge):
    """Support is ragas' faithfulness of the whole text, which counts as one claim because ragas makes its own statements.

    The relevance of an answer is its answer relevancy: the cosine of the question with `questions` questions that the model
    makes up for the answer. The relevance of a context is its context relevance. `unasked` replaces an empty question, which
    ragas refuses. A text without contexts has the support 0.
    """

    encoder: Embedder
    unasked: str
    questions: int = 3
    concurrency: int = 4
    runtime: ClassVar[tuple[str, ...]] = ("concurrency",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("judge.questions", self.questions, 1)
        check_whole("judge.runtime.concurrency", self.concurrency, 1)
        if not self.unasked.strip():
            raise ConfigError("judge.unasked", "is empty", "any question, because ragas refuses an empty one")
        required(WHERE, "ragas")

    def fingerprint(self) -> str:
        """The fingerprints of the generator and the encoder."""
        return f"{fingerprint(self.generator)}+{fingerprint(self.encoder)}"

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """The verdicts, with the tokens and cost of each."""
        texts = [claims(case.text, self.patterns) for case in cases]
        asked = [number for number, (spans, _) in enumerate(texts) if spans and any(map(str.strip, cases[number].contexts))]
        measured = dict(zip(asked, self._faithfulness([cases[number] for number in asked]), strict=True))
        return [
            _verdict(case.text, bool(spans), abstained, measured.get(number))
            for number, (case, (spans, abstained)) in enumerate(zip(cases, texts, strict=True))
        ]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The answer relevancy of each text, NaN without a value, with tokens and cost; 0 for an empty text."""
        return self._related(pairs, self._answer_relevancy)

    def passages_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The context relevance of each text, as in `relate_spending`."""
        return self._related(pairs, self._context_relevance)

    def _related(self, pairs: Sequence[tuple[str, str]], measure: Any) -> list[tuple[float, Spent]]:
        asked = [number for number, (_, text) in enumerate(pairs) if text.strip()]
        measured = dict(zip(asked, measure([pairs[number] for number in asked]) if asked else (), strict=True))
        rows = (measured.get(number, Measured(0.0, "", Spent())) for number in range(len(pairs)))
        # A cosine may be negative.
        return [(max(0.0, min(1.0, row.value)) if row.value == row.value else row.value, row.spent) for row in rows]

    def _faithfulness(self, cases: Sequence[Case]) -> list[Measured]:
        if not cases:
            return []
        metric = evaluators.metrics(WHERE).Faithfulness

        async def measure(number: int, model: Model) -> Any:
            case = cases[number]
            question, text = self._question(case.question), readable(without_markers(case.text))
            contexts = [readable(context) for context in case.contexts]
            return await metric(llm=model).ascore(user_input=question, response=text, retrieved_contexts=contexts)

        return self._measured(len(cases), measure)

    def _answer_relevancy(self, pairs: Sequence[tuple[str, str]]) -> list[Measured]:
        metric, vectors = evaluators.metrics(WHERE).AnswerRelevancy, Vectoriser(self.encoder)

        async def measure(number: int, model: Model) -> Any:
            question, text = pairs[number]
            scorer = metric(llm=model, embeddings=vectors, strictness=self.questions)
            return await scorer.ascore(user_input=self._question(question), response=readable(text))

        return self._measured(len(pairs), measure)

    def _context_relevance(self, pairs: Sequence[tuple[str, str]]) -> list[Measured]:
        metric = evaluators.metrics(WHERE).ContextRelevance

        async def measure(number: int, model: Model) -> Any:
            question, text = pairs[number]
            scorer = metric(llm=model, max_retries=1)  # `Model` itself asks for invalid replies again.
            return await scorer.ascore(user_input=self._question(question), retrieved_contexts=[readable(text)])

        return self._measured(len(pairs), measure)

    def _question(self, question: str) -> str:
        return readable(question).strip() or self.unasked

    def _measured(self, count: int, measure: Any) -> list[Measured]:
        models = [Model(self.generator, self.attempts, self.again) for _ in range(count)]
        return evaluators.measured(models, measure, self.concurrency)


def _verdict(text: str, has_claims: bool, abstained: bool, measured: Measured | None) -> tuple[Verdict, Spent]:
    if not has_claims:
        return Verdict((), abstained), Spent()
    if measured is None:
        return Verdict((Claim(0, len(text), 0.0),)), Spent()
    return Verdict((Claim(0, len(text), measured.value, failure=measured.wrong),)), measured.spent
