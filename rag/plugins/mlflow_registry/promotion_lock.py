"""A lock for the promotion of a model, across machines."""

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
"""Prefix of the tags of a registered model by which promotions see each other."""
STALE = 600.0
"""Seconds after which a claim is that of a dead process: it is held only while the alias moves."""
TRIES, PAUSE = 20, 0.5
"""Number of attempts, and the longest pause between two, in seconds."""


@contextmanager
def alone(client: "MlflowClient", model: str) -> Iterator[None]:
    """Lock a model against other promotions; ServiceError if these hold it during all attempts.

    MLflow has no compare-and-set. So a promotion first writes its claim and then looks for others: of two that begin at once,
    at least one sees the other, and withdraws.
    """
    for _ in range(TRIES):
        claim = f"{CLAIM}{uuid4().hex}"
        client.set_registered_model_tag(model, claim, f"{time.time():.0f}")
        try:
            if not _has_others(client.get_registered_model(model).tags, claim):
                yield
                return
        finally:
            client.delete_registered_model_tag(model, claim)
        time.sleep(SystemRandom().uniform(0, PAUSE))
    raise ServiceError(f"model {model}", "is being promoted by another process", f"rag promote {model}")


def _has_others(tags: Mapping[str, str], claim: str) -> bool:
    others = [began for name, began in tags.items() if name.startswith(CLAIM) and name != claim]
    return any(began.isdecimal() and float(began) > time.time() - STALE for began in others)
