"""MLflow's model registry, at the address where sweeps are tracked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rag.plugins.mlflow_registry.load_bundle import UNTRACED
from rag.tracking import mlflow_client
from rag.tracking.connection import explain_errors
from rag.tracking.sweep_runs import FOLDER

if TYPE_CHECKING:
    from mlflow import MlflowClient

MISSING = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "NOT_FOUND")
"""Error codes of MLflow for an unknown model, version or alias."""


@contextmanager
def registry(again: str) -> Iterator["MlflowClient"]:
    """A client of the registry, which MLflow's own functions use too meanwhile; ServiceError names the command `again`."""
    for name, value in UNTRACED.items():
        os.environ.setdefault(name, value)
    uri = mlflow_client.prepare(None, FOLDER)
    import mlflow

    # MLflow keeps an address in this process, and in the environment of processes that it starts.
    variables = environment(MLFLOW_TRACKING_URI=uri, MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false")
    with explain_errors(uri, f"once it is fixed: {again}"), variables:
        mlflow.set_tracking_uri(uri)
        try:
            yield mlflow.MlflowClient(uri)
        finally:
            mlflow.set_tracking_uri(None)  # type: ignore[arg-type]


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Set environment variables in a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def found_or_none(find: Any, *arguments: str) -> Any:
    """The result of a client's method; None if MLflow knows no such model, version or alias."""
    from mlflow.exceptions import MlflowException

    try:
        return find(*arguments)
    except MlflowException as error:
        if error.error_code in MISSING:
            return None
        raise
