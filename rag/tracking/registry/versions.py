"""Versions of a registered model, and the bundles that they are."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from rag.analysis import baseline
from rag.analysis.baseline import Baseline
from rag.bundle.files import Contents
from rag.bundle.layout import SCORES
from rag.bundle.manifest import Manifest
from rag.bundle.open_bundle import read
from rag.core.errors import DataError
from rag.execution.judges.calibration import Card
from rag.tracking.registry.load_bundle import ARTIFACT
from rag.tracking.registry.register import CHALLENGER, CHAMPION, TAG
from rag.tracking.registry.service import asked_for

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True)
class Version:
    """A version of a model, its bundle fetched to `path`; `cards` are the identities of judges that it has a card of."""

    model: str
    number: int
    digest: str
    path: Path
    manifest: Manifest
    scores: Baseline
    cards: frozenset[str]

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"{self.model} version {self.number}"


def champion(client: "MlflowClient", model: str) -> Any:
    """What MLflow knows of the version that the alias `champion` points at, None for none."""
    return asked_for(client.get_model_version_by_alias, model, CHAMPION)


def challenger(client: "MlflowClient", model: str, number: int | None) -> Any:
    """The same of the version with that number, or of `challenger`; DataError where there is none."""
    if asked_for(client.get_registered_model, model) is None:
        raise DataError(f"model {model}", "is not registered", f"rag register BUNDLE {model}")
    if number is None:
        found, what = asked_for(client.get_model_version_by_alias, model, CHALLENGER), f"has no {CHALLENGER}"
    else:
        found, what = asked_for(client.get_model_version, model, str(number)), f"has no version {number}"
    if found is None:
        known = sorted(int(one.version) for one in client.search_model_versions(f"name = '{model}'"))
        raise DataError(f"model {model}", what, f"--version {' or '.join(map(str, known))}, or rag register BUNDLE {model}")
    return found


@contextmanager
def fetched(found: Any) -> Iterator[Version]:
    """The version with its bundle in a folder that goes away again, every byte of it as it was registered.

    DataError for a version that is no bundle, or another one than was registered, or one that nobody measured.
    """
    where, uri = f"{found.name} version {found.version}", f"models:/{found.name}/{found.version}"
    digest = dict(found.tags).get(TAG)
    if digest is None:
        raise DataError(where, "is no bundle", f"register one: rag register BUNDLE {found.name}")
    with tempfile.TemporaryDirectory() as folder:
        path = _download(f"{uri}/{_place(uri, folder)}", folder)
        contents = read(path)
        if contents.digest != digest:
            what = f"is the bundle {contents.digest[:12]} now, and {digest[:12]} was registered"
            raise DataError(where, what, "find out who wrote there, and register the bundle again")
        scores = _scores(contents, where)
        yield Version(str(found.name), int(found.version), digest, path, contents.manifest, scores, _cards(contents))


def _place(uri: str, folder: str) -> str:
    """Where the bundle lies beside a model."""
    content = yaml.safe_load(_download(f"{uri}/MLmodel", folder).read_text("utf-8"))
    return str(content["flavors"]["python_function"]["artifacts"][ARTIFACT]["path"])


def _download(uri: str, folder: str) -> Path:
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(artifact_uri=uri, dst_path=folder))


def _scores(contents: Contents, where: str) -> Baseline:
    if SCORES not in contents.files:
        what = "holds no scores: its config was sealed, and nobody had measured it"
        raise DataError(where, what, "export a trial of a sweep: rag export EXPERIMENT")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SCORES
        path.write_bytes(contents.files[SCORES])
        return baseline.load(path, sealed=True)


def _cards(contents: Contents) -> frozenset[str]:
    cards = (data for name, data in contents.files.items() if name.startswith("cards/"))
    return frozenset(Card.from_json(json.loads(data)).judge for data in cards)
