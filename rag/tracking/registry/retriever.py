"""A bundle without a generator as a model of MLflow: questions in, passages out."""

from threading import Lock
from typing import Any

from mlflow.pyfunc.model import PythonModel, PythonModelContext
from pydantic import BaseModel

from rag.bundle.open_bundle import Bundle
from rag.execution.sweep.open_config import required_question
from rag.pipeline.answer_json import found_passages
from rag.tracking.registry.load_bundle import opened, refused


class Place(BaseModel):
    """Where a step had a passage: its rank from 1, and its score."""

    rank: int
    score: float


class Passage(BaseModel):
    """A passage that was found: the characters [start, end) of a document; `section` holds the headings above most of it."""

    number: int
    chunk: str
    doc_id: str
    start: int
    end: int
    section: str
    text: str
    score: float
    metadata: dict[str, Any]
    steps: dict[str, Place]


class Found(BaseModel):
    """What was found for a question, best first, in the bundle with that hash."""

    bundle: str
    question: str
    passages: list[Passage]


class BundleRetriever(PythonModel):
    """Finds the passages of every question: what `rag search --json` prints, and the bundle's hash."""

    bundle: Bundle

    def load_context(self, context: PythonModelContext) -> None:
        """Open the bundle beside the model."""
        self.bundle = opened(context.artifacts, context.model_config)
        # Whether models and indexes may be asked by several threads at once is nothing that they promise.
        self._alone = Lock()

    def predict(self, model_input: list[str]) -> list[Found]:  # type: ignore[override]
        """The passages of every question."""
        pipeline = self.bundle.pipeline
        with refused(), self._alone:
            queries = [required_question(question) for question in model_input]
            traces = pipeline.traces(queries)
        return [
            Found.model_validate(
                {
                    "bundle": self.bundle.digest,
                    "question": query.text,
                    "passages": found_passages(pipeline.corpus, trace, pipeline.k),
                }
            )
            for query, trace in zip(queries, traces, strict=True)
        ]
