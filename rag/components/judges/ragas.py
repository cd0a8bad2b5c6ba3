"""ragas as a judge (Es et al. 2024, "RAGAs"): its own metrics, prompts included, over any of our generators and embedders."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from rag.components.judges.assertions import claims, refusals, without_markers
from rag.core.assessments import Case, Claim, Spent, Verdict
from rag.core.errors import ConfigError
from rag.core.models import ragas
from rag.core.models.pinned import readable
from rag.core.models.ragas import Encoder, Measured, Model, Vectoriser
from rag.core.roles import Generator, fingerprint

WHERE = "judge"


@dataclass(frozen=True)
class RagasJudge:
    """Support is ragas' faithfulness of the whole text, which is one claim here: ragas makes statements of its own.

    The relevance of an answer is its answer relevancy, by the cosine of the question with `questions` that a model makes up for
    the answer; that of a context is its context relevance. ragas refuses an empty question: `unasked` is asked in its place. A
    reply that does not fit is answered with `again`, up to `attempts` replies. A text without contexts has the support 0.
    `abstentions` are further regular expressions for sentences that say that nothing can be said.
    """

    generator: Generator
    encoder: Encoder
    again: str
    unasked: str
    questions: int = 3
    attempts: int = 2
    threshold: float = 0.5
    abstentions: Sequence[str] = ()
    concurrency: int = 4
    costly: ClassVar[bool] = True
    runtime: ClassVar[tuple[str, ...]] = ("concurrency",)

    def __post_init__(self) -> None:
        if not isinstance(self.generator, Generator):
            raise ConfigError("judge.generator", f"{type(self.generator).__name__} generates nothing", "a generator")
        for name, where in (("questions", ""), ("attempts", ""), ("concurrency", "runtime.")):
            if getattr(self, name) < 1:
                raise ConfigError(f"judge.{where}{name}", f"is {getattr(self, name)}", "1 or more")
        if not 0 <= self.threshold <= 1:
            raise ConfigError("judge.threshold", f"is {self.threshold}", "a support from 0 to 1")
        if not self.unasked.strip():
            raise ConfigError("judge.unasked", "is empty", "any question: ragas refuses none")
        self._patterns  # noqa: B018 - checks the expressions
        ragas.check_installed(WHERE)

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return refusals(self.abstentions)

    def fingerprint(self) -> str:
        """The generator's and the encoder's."""
        return f"{fingerprint(self.generator)}+{fingerprint(self.encoder)}"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case; a ServiceError of the generator ends the batch."""
        return [verdict for verdict, _ in self.judge_spending(cases)]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The answer relevancy of each text."""
        return [value for value, _ in self.relate_spending(pairs)]

    def judge_spending(self, cases: Sequence[Case]) -> list[tuple[Verdict, Spent]]:
        """The verdicts, and what each took."""
        found = [claims(case.text, self._patterns) for case in cases]
        asked = [number for number, (spans, _) in enumerate(found) if spans and any(map(str.strip, cases[number].contexts))]
        made = dict(zip(asked, self._faithfulness([cases[number] for number in asked]), strict=True))
        return [
            _verdict(case.text, bool(spans), abstained, made.get(number))
            for number, (case, (spans, abstained)) in enumerate(zip(cases, found, strict=True))
        ]

    def relate_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The answer relevancy of each text, NaN where there is none, and what it took; 0 for an empty text, unasked."""
        return self._related(pairs, self._answer_relevancy)

    def passages_spending(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, Spent]]:
        """The context relevance of each text, likewise."""
        return self._related(pairs, self._context_relevance)

    def _related(self, pairs: Sequence[tuple[str, str]], measure: Any) -> list[tuple[float, Spent]]:
        asked = [number for number, (_, text) in enumerate(pairs) if text.strip()]
        made = dict(zip(asked, measure([pairs[number] for number in asked]) if asked else (), strict=True))
        rows = (made.get(number, Measured(0.0, "", Spent())) for number in range(len(pairs)))
        # A cosine may lie below 0.
        return [(max(0.0, min(1.0, one.value)) if one.value == one.value else one.value, one.spent) for one in rows]

    def _faithfulness(self, cases: Sequence[Case]) -> list[Measured]:
        if not cases:
            return []
        metric = ragas.metrics(WHERE).Faithfulness

        async def measure(number: int, model: Model) -> Any:
            case = cases[number]
            asked, text = self._asked(case.question), readable(without_markers(case.text))
            contexts = [readable(context) for context in case.contexts]
            return await metric(llm=model).ascore(user_input=asked, response=text, retrieved_contexts=contexts)

        return self._measured(len(cases), measure)

    def _answer_relevancy(self, pairs: Sequence[tuple[str, str]]) -> list[Measured]:
        metric, vectors = ragas.metrics(WHERE).AnswerRelevancy, Vectoriser(self.encoder)

        async def measure(number: int, model: Model) -> Any:
            question, text = pairs[number]
            asked = metric(llm=model, embeddings=vectors, strictness=self.questions)
            return await asked.ascore(user_input=self._asked(question), response=readable(text))

        return self._measured(len(pairs), measure)

    def _context_relevance(self, pairs: Sequence[tuple[str, str]]) -> list[Measured]:
        metric = ragas.metrics(WHERE).ContextRelevance

        async def measure(number: int, model: Model) -> Any:
            question, text = pairs[number]
            asked = metric(llm=model, max_retries=1)  # Replies are asked for again by the model itself.
            return await asked.ascore(user_input=self._asked(question), retrieved_contexts=[readable(text)])

        return self._measured(len(pairs), measure)

    def _asked(self, question: str) -> str:
        return readable(question).strip() or self.unasked

    def _measured(self, count: int, measure: Any) -> list[Measured]:
        models = [Model(self.generator, self.attempts, self.again) for _ in range(count)]
        return ragas.measured(models, measure, self.concurrency)


def _verdict(text: str, claiming: bool, abstained: bool, made: Measured | None) -> tuple[Verdict, Spent]:
    if not claiming:
        return Verdict((), abstained), Spent()
    if made is None:
        return Verdict((Claim(0, len(text), 0.0),)), Spent()
    return Verdict((Claim(0, len(text), made.value, failure=made.wrong),)), made.spent
