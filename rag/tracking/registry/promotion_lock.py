"""One promotion of a model at a time, whoever promotes and from which machine."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import SystemRandom
from typing import TYPE_CHECKING
from uuid import uuid4

from rag.core.errors import ServiceError

if TYPE_CHECKING:
    from mlflow import MlflowClient

CLAIM = "assay.promoting."
"""How the tags of a registered model begin by which those who move its champion know of each other."""
STALE = 600.0
"""Seconds after which a claim is that of a process which died: it is held for the moment of moving alone."""
TRIES, PAUSE = 20, 0.5
"""How often somebody tries to be alone, and the longest pause between, in seconds."""


@contextmanager
def alone(client: "MlflowClient", model: str) -> Iterator[None]:
    """Move the champion of a model while nobody else does; ServiceError where somebody goes on doing it.

    MLflow cannot compare and set. So everybody says that he is at it before he looks whether somebody else is: of two who
    begin at once, one at least sees the other, and goes back.
    """
    for _ in range(TRIES):
        with _claim(client, model) as claim:
            if not _others(client.get_registered_model(model).tags, claim):
                yield
                return
        time.sleep(SystemRandom().uniform(0, PAUSE))
    raise ServiceError(f"model {model}", "is being promoted by somebody else at this moment", f"rag promote {model}")


@contextmanager
def _claim(client: "MlflowClient", model: str) -> Iterator[str]:
    claim = f"{CLAIM}{uuid4().hex}"
    client.set_registered_model_tag(model, claim, f"{time.time():.0f}")
    try:
        yield claim
    finally:
        client.delete_registered_model_tag(model, claim)


def _others(tags: Mapping[str, str], claim: str) -> list[str]:
    since = time.time() - STALE
    return [name for name, began in tags.items() if name.startswith(CLAIM) and name != claim and _seconds(began) > since]


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0
