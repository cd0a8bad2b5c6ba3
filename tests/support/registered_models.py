"""Requests to registered models, and the files that MLflow keeps of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag.plugins.mlflow_registry.register import Registered

Place = Callable[[str], Path]
QUESTIONS = ["What does the amber lantern cost?", "How does one mend the copper kettle?", "Who paints the lighthouse?"]


def request(*texts: str) -> dict[str, Any]:
    """A request with a conversation: user and assistant take turns, and the last message is the question."""
    return {"input": [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]}


def bundle_folder(client: Any, registered: Registered) -> Path:
    """The bundle in the artifacts of a version."""
    source = client.get_model_version_download_uri(registered.model, str(registered.version))
    (manifest,) = Path(source.removeprefix("file://")).rglob("manifest.json")
    return manifest.parent
