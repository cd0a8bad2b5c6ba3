"""A bundle without a generator as a model of MLflow: from questions to passages."""

from threading import Lock
from typing import Any

from mlflow.pyfunc.model import PythonModel, PythonModelContext
from pydantic import BaseModel

from rag.bundle.open_bundle import Bundle
from rag.execution.sweep.open_config import required_question
from rag.pipeline.shapes.answer_json import found_passages
from rag.plugins.mlflow_registry.load_bundle import client_errors, opened


class StepPlace(BaseModel):
    """Rank (from 1) and score of a passage after a step."""

    rank: int
    score: float


class PassagePages(BaseModel):
    """The first and the last page of a passage, from 1."""

    first: int
    last: int


class RetrievedPassage(BaseModel):
    """A retrieved passage: `chunk` is `doc_id:start-end`, `section` the headings of most of its text.

    `page` is null for a document without pages.
    """

    number: int
    chunk: str
    doc_id: str
    start: int
    end: int
    section: str
    page: PassagePages | None = None
    text: str
    score: float
    metadata: dict[str, Any]
    steps: dict[str, StepPlace]
    indexed: str | None


class RetrievedPassages(BaseModel):
    """The passages for a question, best first, and the hash of the bundle."""

    bundle: str
    question: str
    passages: list[RetrievedPassage]


class BundleRetriever(PythonModel):
    """Retrieves passages for questions: what `rag ask --passages --json` prints, and the bundle's hash."""

    bundle: Bundle

    def load_context(self, context: PythonModelContext) -> None:
        """Open the bundle of the model."""
        self.bundle = opened(context.artifacts, context.model_config)
        self._lock = Lock()  # models and indexes need not be thread-safe

    def predict(self, model_input: list[str]) -> list[RetrievedPassages]:  # type: ignore[override]
        """Retrieve passages for every question."""
        pipeline = self.bundle.pipeline
        with client_errors(), self._lock:
            queries = [required_question(question) for question in model_input]
            traces = pipeline.traces(queries)
        return [
            RetrievedPassages.model_validate(
                {
                    "bundle": self.bundle.digest,
                    "question": query.text,
                    "passages": found_passages(pipeline.corpus, trace, pipeline.k),
                }
            )
            for query, trace in zip(queries, traces, strict=True)
        ]
