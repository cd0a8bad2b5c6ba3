"""Versions of a registered model, and their bundles."""

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
from rag.plugins.mlflow_registry.load_bundle import ARTIFACT
from rag.plugins.mlflow_registry.register import CHALLENGER, CHAMPION, TAG
from rag.plugins.mlflow_registry.service import found_or_none

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True)
class Version:
    """A version of a model, its bundle downloaded to `path`; `cards` are the keys of the cards in it that decide."""

    model: str
    number: int
    digest: str
    path: Path
    manifest: Manifest
    scores: Baseline
    cards: frozenset[str]

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"{self.model} version {self.number}"


def champion(client: "MlflowClient", model: str) -> Any:
    """MLflow's record of the version with the alias `champion`; None without one."""
    return found_or_none(client.get_model_version_by_alias, model, CHAMPION)


def challenger(client: "MlflowClient", model: str, number: int | None) -> Any:
    """MLflow's record of the version with a number, or with the alias `challenger`; DataError without one."""
    if found_or_none(client.get_registered_model, model) is None:
        raise DataError(f"model {model}", "is not registered", f"rag bundle register BUNDLE {model}")
    if number is None:
        version, what = found_or_none(client.get_model_version_by_alias, model, CHALLENGER), f"has no {CHALLENGER}"
    else:
        version, what = found_or_none(client.get_model_version, model, str(number)), f"has no version {number}"
    if version is None:
        known = sorted(int(other.version) for other in client.search_model_versions(f"name = '{model}'"))
        raise DataError(
            f"model {model}", what, f"--version {' or '.join(map(str, known))}, or rag bundle register BUNDLE {model}"
        )
    return version


@contextmanager
def fetched(record: Any) -> Iterator[Version]:
    """The version with its verified bundle in a temporary folder.

    DataError for a version that is not a bundle, or not the registered one, or one that was not measured.
    """
    where, uri = f"{record.name} version {record.version}", f"models:/{record.name}/{record.version}"
    digest = dict(record.tags).get(TAG)
    if digest is None:
        raise DataError(where, "is not a bundle", f"register one: rag bundle register BUNDLE {record.name}")
    with tempfile.TemporaryDirectory() as folder:
        path = _download(f"{uri}/{_place(uri, folder)}", folder)
        contents = read(path)
        if contents.digest != digest:
            what = f"is the bundle {contents.digest[:12]} now, and {digest[:12]} was registered"
            raise DataError(where, what, "find out what changed it, and register the bundle again")
        cards = [Card.from_json(json.loads(data)) for name, data in contents.files.items() if name.startswith("cards/")]
        judges = frozenset(card.key for card in cards) - {card.key for card in cards if not card.decides}
        scores = _scores(contents, where)
        yield Version(str(record.name), int(record.version), digest, path, contents.manifest, scores, judges)


def _place(uri: str, folder: str) -> str:
    """The path of the bundle among the files of a model."""
    content = yaml.safe_load(_download(f"{uri}/MLmodel", folder).read_text("utf-8"))
    return str(content["flavors"]["python_function"]["artifacts"][ARTIFACT]["path"])


def _download(uri: str, folder: str) -> Path:
    from mlflow.artifacts import download_artifacts

    return Path(download_artifacts(artifact_uri=uri, dst_path=folder))


def _scores(contents: Contents, where: str) -> Baseline:
    if SCORES not in contents.files:
        what = "holds no scores: its config was sealed without a measurement"
        raise DataError(where, what, "export a trial of a sweep: rag export EXPERIMENT")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / SCORES
        path.write_bytes(contents.files[SCORES])
        return baseline.load(path, sealed=True)
