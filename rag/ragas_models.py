"""What ragas asks of a model and of an embedder, answered by ours: their retries, limits, prices and stored replies hold.

ragas 0.4.3. Its metrics are its own, prompts included; what is ours is how a reply is read: strict JSON that fits the form that
the metric asks for, asked for again where it does not.
"""

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from rag.claims import Spent
from rag.errors import MissingExtraError, UserError
from rag.records import Message, Query, Request, Vectors
from rag.roles import Generator

Form = TypeVar("Form")


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

    A reply that does not fit is answered with `again`, {problem} filled in, up to `attempts` replies in all.
    """

    generator: Generator
    attempts: int
    again: str
    spent: Spent = field(default_factory=Spent)
    broken: UserError | None = None
    _asked: dict[str, int] = field(default_factory=dict)

    def generate(self, prompt: str, response_model: Callable[..., Form]) -> Form:
        """The reply as the form that ragas wants; UnreadableError where there is none."""
        sample = self._asked[prompt] = self._asked.get(prompt, -1) + 1
        messages: tuple[Message, ...] = (Message("user", prompt),)
        problem = ""
        for _ in range(self.attempts):
            (reply,) = self.generator.generate([Request(Query("ragas", ""), (), messages, sample=sample)])
            self.spent += Spent(reply.prompt_tokens + reply.completion_tokens, reply.cost)
            if reply.failure:
                raise UnreadableError(reply.failure)
            try:
                form: Form = _read(reply.text, response_model)
                return form
            except ValueError as error:
                problem = str(error).splitlines()[0]
            told = Message("assistant", reply.text), Message("user", self.again.replace("{problem}", problem))
            messages = (*messages, *told)
        raise UnreadableError(f"the reply cannot be read: {problem}")

    async def agenerate(self, prompt: str, response_model: Callable[..., Form]) -> Form:
        """As `generate`, in a thread: others may be asked meanwhile."""
        try:
            return await asyncio.to_thread(self.generate, prompt, response_model)
        except UserError as error:
            self.broken = error  # Some metrics of ragas catch everything.
            raise


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


def metrics(where: str) -> Any:
    """The metrics of ragas, which take our models; MissingExtraError naming `where` without the package."""
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
            return Measured(value, wrong or ("ragas gave no value" if math.isnan(value) else ""), model.spent)

    async def every() -> list[Measured]:
        turn = asyncio.Semaphore(concurrency)
        return list(await asyncio.gather(*(one(number, model, turn) for number, model in enumerate(models))))

    with ThreadPoolExecutor(1) as apart:
        # In a thread of its own: where this is called a loop may run already, as in a notebook.
        return apart.submit(lambda: asyncio.run(every())).result()


def _read(text: str, form: Any) -> Any:
    start, stop = text.find("{"), text.rfind("}")
    if start < 0 or stop < start:
        raise ValueError("it holds no JSON object")
    return form.model_validate_json(text[start : stop + 1])
