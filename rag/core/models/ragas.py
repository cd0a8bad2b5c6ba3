"""What ragas asks of a model and of an embedder, answered by ours: their retries, limits, prices and stored replies hold.

ragas 0.4.3. Its metrics are its own, prompts included; what is ours is how a reply is read: strict JSON that fits the form that
the metric asks for, asked for again where it does not.
"""

import asyncio
import importlib.util
import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from rag.core.assessments import Spent
from rag.core.errors import MissingExtraError, UserError
from rag.core.records import Message, Query, Request, Vectors
from rag.core.roles import Generator

Form = TypeVar("Form")
GREATEST: Mapping[str, int] = {"verdict": 1, "attributed": 1, "noncommittal": 1, "rating": 2}
"""What ragas takes as any whole number, though it reckons with one from 0 up to this."""


class Encoder(Protocol):
    """What is needed of an embedder."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """One row per text."""
        ...


class UnreadableError(ValueError):
    """A model gave nothing that a metric of ragas can use."""


@dataclass
class Model:
    """A model as ragas asks one, for one measurement: it counts what it takes, and keeps what ended it.

    A reply that does not fit is answered with `again`, {problem} filled in, up to `attempts` replies in all. `unread` is what
    was wrong where none did: a measurement without one of its replies has no value, also where ragas makes do with the others.
    """

    generator: Generator
    attempts: int
    again: str
    spent: Spent = field(default_factory=Spent)
    broken: UserError | None = None
    unread: str = ""
    _asked: dict[str, int] = field(default_factory=dict)
    _statements: int | None = None

    def generate(self, prompt: str, response_model: Callable[..., Form]) -> Form:
        """The reply as the form that ragas wants; UnreadableError where there is none."""
        sample = self._asked[prompt] = self._asked.get(prompt, -1) + 1
        messages: tuple[Message, ...] = (Message("user", prompt),)
        problem = ""
        for _ in range(self.attempts):
            (reply,) = self.generator.generate([Request(Query("ragas", ""), (), messages, sample=sample)])
            self.spent += Spent(reply.prompt_tokens + reply.completion_tokens, reply.cost)
            if reply.failure:
                raise self._given_up(reply.failure)
            try:
                form: Form = self._read(reply.text, response_model)
                return form
            except ValueError as error:
                problem = str(error).splitlines()[0]
            told = Message("assistant", reply.text), Message("user", self.again.replace("{problem}", problem))
            messages = (*messages, *told)
        raise self._given_up(f"the reply cannot be read: {problem}")

    async def agenerate(self, prompt: str, response_model: Callable[..., Form]) -> Form:
        """As `generate`, in a thread: others may be asked meanwhile."""
        try:
            return await asyncio.to_thread(self.generate, prompt, response_model)
        except UserError as error:
            self.broken = error  # Some metrics of ragas catch everything.
            raise

    def _given_up(self, why: str) -> UnreadableError:
        self.unread = why
        return UnreadableError(why)

    def _read(self, text: str, form: Any) -> Any:
        start, stop = text.find("{"), text.rfind("}")
        if start < 0 or stop < start:
            raise ValueError("it holds no JSON object")
        found = form.model_validate_json(text[start : stop + 1])
        self._check(found.model_dump())
        return found

    def _check(self, told: Mapping[str, Any]) -> None:
        """ValueError for what has the form, and from which ragas would reckon a number that nobody meant."""
        rows = [told, *(row for part in told.values() if isinstance(part, list) for row in part if isinstance(row, dict))]
        for name, value in (item for row in rows for item in row.items()):
            if name in GREATEST and not 0 <= value <= GREATEST[name]:
                raise ValueError(f"{name} is {value}, which is no whole number from 0 to {GREATEST[name]}")
            if name == "question" and not value.strip():
                raise ValueError("the question is empty")
        if "statements" in told:
            # The first list is what a text was cut into, the second has the verdicts on it.
            count = len(told["statements"])
            if self._statements not in (None, count):
                raise ValueError(f"it speaks of {count} statements, not of {self._statements}")
            self._statements = count


@dataclass(frozen=True)
class Vectoriser:
    """An embedder as ragas asks one."""

    encoder: Encoder

    def embed_text(self, text: str) -> list[float]:
        """The vector of a text."""
        return [float(value) for value in self.encoder.embed_queries([text])[0]]

    async def aembed_text(self, text: str) -> list[float]:
        """As `embed_text`."""
        return self.embed_text(text)

    async def aembed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of several texts."""
        return [self.embed_text(text) for text in texts]


def check_installed(where: str) -> None:
    """MissingExtraError naming `where` without the package; nothing of it is imported."""
    if importlib.util.find_spec("ragas") is None:
        raise MissingExtraError(where, "ragas", "ragas")


def metrics(where: str) -> Any:
    """The metrics of ragas, which take our models; MissingExtraError naming `where` where they are not in the package."""
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    try:
        import ragas.metrics.collections as found
        from ragas.embeddings.base import BaseRagasEmbedding
        from ragas.llms.base import InstructorBaseRagasLLM
    except ModuleNotFoundError as error:
        raise MissingExtraError(where, "ragas", "ragas") from error
    InstructorBaseRagasLLM.register(Model)
    BaseRagasEmbedding.register(Vectoriser)
    return found


@dataclass(frozen=True)
class Measured:
    """A value of a metric of ragas, NaN with what went wrong, and what it took."""

    value: float
    wrong: str
    spent: Spent


def measured(models: Sequence[Model], measure: Callable[[int, Model], Awaitable[Any]], concurrency: int) -> list[Measured]:
    """Measure with one model each, `concurrency` at once; a UserError of a generator ends the batch."""

    async def one(number: int, model: Model, turn: asyncio.Semaphore) -> Measured:
        async with turn:
            try:
                value, wrong = float((await measure(number, model)).value), ""
            except ValueError as error:
                value, wrong = math.nan, str(error)
            if model.broken:
                raise model.broken
            if model.unread:
                value, wrong = math.nan, model.unread
            return Measured(value, wrong or ("ragas gave no value" if math.isnan(value) else ""), model.spent)

    async def every() -> list[Measured]:
        turn = asyncio.Semaphore(concurrency)
        return list(await asyncio.gather(*(one(number, model, turn) for number, model in enumerate(models))))

    with ThreadPoolExecutor(1) as apart:
        # In a thread of its own: where this is called a loop may run already, as in a notebook.
        return apart.submit(lambda: asyncio.run(every())).result()
