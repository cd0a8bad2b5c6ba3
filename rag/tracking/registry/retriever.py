"""A bundle without a generator as a model of MLflow: questions in, passages out."""

from threading import Lock

from mlflow.pyfunc.model import PythonModel, PythonModelContext
from pydantic import BaseModel

from rag.bundle.open_bundle import Bundle
from rag.execution.sweep.open_config import provenance, required_question
from rag.tracking.registry.load_bundle import opened, refused


class Place(BaseModel):
    """Where a step had a passage: its rank from 1, and its score."""

    rank: int
    score: float


class Passage(BaseModel):
    """A passage that was found: `chunk` is `doc_id:start-end`, `section` the headings that most of it stands under."""

    rank: int
    score: float
    chunk: str
    section: str
    text: str
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
                {"bundle": self.bundle.digest, "question": query.text, "passages": provenance(pipeline, trace)}
            )
            for query, trace in zip(queries, traces, strict=True)
        ]
