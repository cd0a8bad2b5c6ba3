"""Our models and embedders behind the interfaces of ragas: our retries, limits, prices and stored replies apply.

ragas 0.4.3. Metrics and prompts are those of ragas; we read the replies: strict JSON in the form of the metric, with another
request if a reply does not fit.
"""

import asyncio
import json
import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from rag.core.assessments import Spent
from rag.core.errors import MissingExtraError, UserError
from rag.core.models.typed_reply import Typed, ask_typed, json_object
from rag.core.roles import Embedder, Generator
from rag.core.types import Message, Query, Request

Form = TypeVar("Form")
GREATEST: Mapping[str, int] = {"verdict": 1, "attributed": 1, "noncommittal": 1, "rating": 2}
"""Fields that ragas accepts with any whole number, though it computes with one from 0 up to this."""
ASKED = '"statements": ['
"""The beginning of the statements in a request for verdicts; its last place, because texts in JSON have other quotes."""


class UnreadableError(ValueError):
    """A model gave no reply that a metric of ragas can use."""


@dataclass
class Model:
    """A model of ragas for one measurement, with its tokens and cost, and the error that ended it.

    A reply that does not fit is answered with `again`, {problem} filled in, up to `attempts` replies in all. `unread` is the
    problem if none fits: a measurement without one of its replies has no value, even if ragas continues with the others.
    """

    generator: Generator
    attempts: int
    again: str
    spent: Spent = field(default_factory=Spent)
    broken: UserError | None = None
    unread: str = ""
    _asked: dict[str, int] = field(default_factory=dict)

    def generate(self, prompt: str, response_model: Callable[..., Form]) -> Form:
        """The reply in the form of the metric; UnreadableError if no reply fits."""
        sample = self._asked[prompt] = self._asked.get(prompt, -1) + 1
        request = Request(Query("ragas", ""), (), (Message("user", prompt),), sample=sample)
        asked = Typed[Form](request, lambda reply: self._read(prompt, reply, response_model))
        ask_typed(self.generator, [asked], self.attempts, self.again, falls_back=False)
        self.spent += asked.spent
        if asked.value is None:
            self.unread = asked.wrong
            raise UnreadableError(asked.wrong)
        return asked.value

    async def agenerate(self, prompt: str, response_model: Callable[..., Form]) -> Form:
        """As `generate`, in a thread, so that other requests continue."""
        try:
            return await asyncio.to_thread(self.generate, prompt, response_model)
        except UserError as error:
            self.broken = error  # Some metrics of ragas catch everything.
            raise

    def _read(self, prompt: str, text: str, form: Any) -> Any:
        try:
            parsed = form.model_validate(json_object(text))
        except ValidationError as error:
            raise ValueError(f"has another form: {str(error).splitlines()[0]}") from error
        fields = parsed.model_dump()
        self._check(fields)
        if "statements" in fields and "verdict" in str(form.model_json_schema()):
            asked, found = prompt.rindex(ASKED) + len(ASKED) - 1, len(fields["statements"])
            if found != (count := len(json.JSONDecoder().raw_decode(prompt, asked)[0])):
                raise ValueError(f"speaks of {found} statements, not of {count}")
        return parsed

    def _check(self, fields: Mapping[str, Any]) -> None:
        """ValueError for a reply of the right form with values from which ragas would compute a wrong number."""
        rows = [fields, *(row for part in fields.values() if isinstance(part, list) for row in part if isinstance(row, dict))]
        for name, value in (item for row in rows for item in row.items()):
            if name in GREATEST and not 0 <= value <= GREATEST[name]:
                raise ValueError(f"gives the {name} {value}, which is no whole number from 0 to {GREATEST[name]}")
            if name == "question" and not value.strip():
                raise ValueError("gives an empty question")


@dataclass(frozen=True)
class Vectoriser:
    """An embedder of ragas."""

    encoder: Embedder

    def embed_text(self, text: str) -> list[float]:
        """The vector of a text."""
        return [float(value) for value in self.encoder.embed_queries([text])[0]]

    async def aembed_text(self, text: str) -> list[float]:
        """The same as `embed_text`."""
        return self.embed_text(text)

    async def aembed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of several texts."""
        return [self.embed_text(text) for text in texts]


def metrics(where: str) -> Any:
    """The metrics of ragas, which accept our models; MissingExtraError at `where` if the package does not have them."""
    os.environ.setdefault("RAGAS_DO_NOT_TRACK", "true")
    try:
        import ragas.metrics.collections as collections
        from ragas.embeddings.base import BaseRagasEmbedding
        from ragas.llms.base import InstructorBaseRagasLLM
    except ModuleNotFoundError as error:
        raise MissingExtraError(where, "ragas", "ragas") from error
    InstructorBaseRagasLLM.register(Model)
    BaseRagasEmbedding.register(Vectoriser)
    return collections


@dataclass(frozen=True)
class Measured:
    """A value of a metric of ragas, NaN with a reason in `wrong`, and its tokens and cost."""

    value: float
    wrong: str
    spent: Spent


def measured(models: Sequence[Model], measure: Callable[[int, Model], Awaitable[Any]], concurrency: int) -> list[Measured]:
    """Measure with one model each, `concurrency` at once; a UserError of a generator ends the batch."""

    async def measure_one(number: int, model: Model, turn: asyncio.Semaphore) -> Measured:
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
        return list(await asyncio.gather(*(measure_one(number, model, turn) for number, model in enumerate(models))))

    with ThreadPoolExecutor(1) as apart:
        # In a thread of its own: the caller may have a running event loop, as in a notebook.
        return apart.submit(lambda: asyncio.run(every())).result()
