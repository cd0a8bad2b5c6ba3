"""The bundle beside a model of MLflow, opened by whatever loads the model."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.bundle.replay import replay
from rag.core.errors import DataError, UserError

ARTIFACT = "bundle"
"""The name of the folder, and of the key of a model's config that holds the hash which it was registered with."""

UNTRACED = {"MLFLOW_TRACE_SAMPLING_RATIO": "0"}
"""Set unless somebody has set it: a trace of MLflow holds question and answer, and is kept only where that is asked for."""


def opened(artifacts: Mapping[str, str], config: Mapping[str, Any] | None) -> Bundle:
    """Open the bundle of a model; DataError where it is another one than was registered, or answers otherwise than it did.

    `hosts` of the model's config are servers that whoever registered it trusts with a key.
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
def refused() -> Iterator[None]:
    """Say what a user can mend in MLflow's words, which reach whoever asked."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except UserError as error:
        raise MlflowException.invalid_parameter_value(str(error)) from error
