"""A bundle without a generator as a model of MLflow: questions in, passages out."""

from threading import Lock
from typing import Any

from mlflow.pyfunc.model import PythonModel, PythonModelContext

from rag.answering import asked, provenance
from rag.bundle.opened import Bundle
from rag.registry.opening import opened, refused


class BundleRetriever(PythonModel):
    """Finds the passages of every question: what `rag search --json` prints, and the bundle's hash."""

    bundle: Bundle

    def load_context(self, context: PythonModelContext) -> None:
        """Open the bundle beside the model."""
        self.bundle = opened(context.artifacts, context.model_config)
        # Whether models and indexes may be asked by several threads at once is nothing that they promise.
        self._alone = Lock()

    def predict(self, model_input: list[str]) -> list[dict[str, Any]]:  # type: ignore[override]
        """The passages of every question."""
        pipeline = self.bundle.pipeline
        with refused(), self._alone:
            queries = [asked(question) for question in model_input]
            traces = pipeline.traces(queries)
        return [
            {"bundle": self.bundle.digest, "question": query.text, "passages": provenance(pipeline, trace)}
            for query, trace in zip(queries, traces, strict=True)
        ]
