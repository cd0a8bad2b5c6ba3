"""MLflow's model registry, spoken to with our errors, at the address where sweeps are tracked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rag.core.errors import ServiceError
from rag.core.redaction import redacted_text
from rag.tracking import mlflow_client, run_records
from rag.tracking.registry.load_bundle import UNTRACED
from rag.tracking.sweep_runs import FOLDER

if TYPE_CHECKING:
    from mlflow import MlflowClient

MISSING = ("RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "NOT_FOUND")
"""How MLflow says that it knows no model, no version or no alias of a name."""


@contextmanager
def registry(again: str) -> Iterator["MlflowClient"]:
    """A client of the registry, where MLflow's own functions look meanwhile too; ServiceError names the command `again`."""
    for name, value in {**run_records.ENVIRONMENT, **UNTRACED}.items():
        os.environ.setdefault(name, value)
    uri = mlflow_client.prepare(None, FOLDER)
    import mlflow
    from mlflow.exceptions import MlflowException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        # MLflow remembers an address in this process, and in the environment of those that it starts.
        with run_records.quiet(), environment(MLFLOW_TRACKING_URI=uri, MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false"):
            mlflow.set_tracking_uri(uri)
            try:
                yield mlflow.MlflowClient(uri)
            finally:
                mlflow.set_tracking_uri(None)  # type: ignore[arg-type]
    except (MlflowException, SQLAlchemyError, OSError) as error:
        what = f"MLflow cannot be used: {run_records.error_line(error)}"
        raise ServiceError(redacted_text("", uri), what, f"when it is mended: {again}") from error


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Variables that are set in a block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def asked_for(found: Any, *arguments: str) -> Any:
    """What a function of a client finds, None where MLflow knows no such thing."""
    from mlflow.exceptions import MlflowException

    try:
        return found(*arguments)
    except MlflowException as error:
        if error.error_code in MISSING:
            return None
        raise
