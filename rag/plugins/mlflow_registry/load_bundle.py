"""Open the bundle of a registered model when MLflow loads the model."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.bundle.replay import replay
from rag.core.errors import DataError, UserError

ARTIFACT = "bundle"
"""Name of the artifact folder, and of the key in the model's config that holds the registered hash."""

UNTRACED = {"MLFLOW_TRACE_SAMPLING_RATIO": "0"}
"""Default that is set: traces hold questions and answers, so MLflow keeps none unless a user sets another value."""


def opened(artifacts: Mapping[str, str], config: Mapping[str, Any] | None) -> Bundle:
    """Open the bundle of a model; DataError for another bundle than the registered one, and for one that answers differently.

    `hosts` in the model's config are servers that were trusted with a key at registration.
    """
    for name, value in UNTRACED.items():
        os.environ.setdefault(name, value)
    path, settings = Path(artifacts[ARTIFACT]), dict(config or {})
    bundle = open_bundle(path, hosts=tuple(settings.get("hosts", ())))
    expected = str(settings.get(ARTIFACT, bundle.digest))
    if bundle.digest != expected:
        what = f"is the bundle {bundle.digest[:12]}, and {expected[:12]} was registered"
        raise DataError(str(path), what, "register it again: rag register")
    check_parity(bundle)
    return bundle


def check_parity(bundle: Bundle) -> None:
    """Raise DataError for a bundle that does not answer as it was measured."""
    if mismatches := replay(bundle).mismatches:
        what = f"does not answer as it was measured, in {len(mismatches)} points; the first: {mismatches[0]}"
        remedy = "rag verify shows all of them; install the versions that its manifest names"
        raise DataError(str(bundle.path), what, remedy)


@contextmanager
def client_errors() -> Iterator[None]:
    """Re-raise user errors as MlflowException, so that MLflow returns them to the client."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except UserError as error:
        raise MlflowException.invalid_parameter_value(str(error)) from error
