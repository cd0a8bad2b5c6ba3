"""Models that an export takes along, and those that it names."""

import shutil
from pathlib import Path

import pytest
import yaml
from swept import PLAIN, sweep, trials
from tiny_model import write_tiny
from verbs import verb

from rag.bundle.archive import pack
from rag.bundle.opened import open_bundle
from rag.bundle.parity import replay
from rag.bundle.references import files_of, fingerprint_of
from rag.bundle.seal import export
from rag.errors import ConfigError, DataError
from rag.models import PinnedModel

COMMIT = "a" * 40


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """A sweep of a model that is a folder, which stands in two places of the config, and of the same one on the hub."""
    folder = tmp_path_factory.mktemp("swept")
    cache = folder / "cache"
    shutil.copytree(tiny, cache / "models--tiny--bert" / "snapshots" / COMMIT)
    axes = "  embedder:\n"
    axes += f"    folder: embedder.model={tiny} embedder.revision=null\n"
    axes += f"    hub: embedder.model=tiny/bert embedder.revision={COMMIT} embedder.runtime.cache={cache}\n"
    return sweep(
        folder, axes.rstrip(), fixed=[*PLAIN, "embedder=sentence_transformer", "reranker=mmr", "embedder.query_prefix=''"]
    )


@pytest.fixture
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def trial(place: Path, kind: str) -> str:
    (row,) = (row for row in trials(place) if row["choices"]["embedder"] == kind)
    return f"trial={row['trial']}"


@pytest.mark.parametrize("kind", ["folder", "hub"])
def test_a_model_that_was_taken_along_answers_alone(there: Path, tmp_path: Path, tiny: Path, kind: str) -> None:
    sealed = export(trial(there, kind), tmp_path / "b", with_models=True)
    (model,) = sealed.manifest.models
    assert (model.role, model.inside) == ("embedder", "models/embedder")
    assert (model.name, model.revision) == (("tiny", None) if kind == "folder" else ("tiny/bert", COMMIT))
    assert model.fingerprint == PinnedModel("embedder", str(sealed.path / "models/embedder")).fingerprint()
    config = yaml.safe_load((sealed.path / "config.yaml").read_text("utf-8"))
    assert config["embedder"]["model"] == config["reranker"]["embedder"]["model"] == "models/embedder"
    bundle = open_bundle(sealed.path)
    assert bundle.held
    assert bundle.pipeline.embedder.source.folder == Path(bundle.held.name) / "models/embedder"  # type: ignore[attr-defined]
    assert replay(bundle) == []
    pack(sealed.path, tmp_path / "b.tar.zst")
    assert replay(open_bundle(tmp_path / "b.tar.zst")) == []


def test_a_folder_that_is_named_must_be_given(
    there: Path, tmp_path: Path, tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = export(trial(there, "folder"), tmp_path / "b")
    (model,) = sealed.manifest.models
    assert (model.name, model.inside, model.fingerprint) == ("tiny", None, PinnedModel("embedder", str(tiny)).fingerprint())
    for file in sealed.path.rglob("*"):
        assert file.is_dir() or str(tiny).encode() not in file.read_bytes()
    with pytest.raises(DataError, match="--model embedder="):
        open_bundle(sealed.path)
    assert replay(open_bundle(sealed.path, models={"embedder": tiny})) == []
    rag = verb(capsys, monkeypatch)
    assert rag("verify", str(sealed.path), "--model", f"embedder={tiny}").code == 0
    assert rag("verify", str(sealed.path)).code == 2


def test_a_model_on_the_hub_is_named_by_its_commit(there: Path, tmp_path: Path) -> None:
    sealed = export(trial(there, "hub"), tmp_path / "b")
    known = {(model.role, model.name, model.revision, model.fingerprint, model.inside) for model in sealed.manifest.models}
    assert ("embedder", "tiny/bert", COMMIT, f"tiny/bert@{COMMIT}", None) in known
    assert open_bundle(sealed.path).digest == sealed.digest


def test_what_no_bundle_holds_is_left_or_refused(tiny: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny, folder)
    whole = fingerprint_of(files_of(folder, "embedder"))
    assert whole == PinnedModel("embedder", str(folder)).fingerprint()
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "notes.txt").write_text("", "utf-8")
    assert fingerprint_of(files_of(folder, "embedder")) == whole
    (folder / "spiece.model").write_bytes(b"")
    with pytest.raises(ConfigError, match="--with-models"):
        files_of(folder, "embedder")


def test_what_comes_with_a_package_stays_a_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(sweep(tmp_path, "  index: index=[bm25s]", fixed=[*PLAIN, "embedder=minilm", "fusion=single"]))
    sealed = export("small", tmp_path / "b", with_models=True)
    (model,) = sealed.manifest.models
    assert (model.name, model.inside) == ("MiniLmEmbedder", None)
    assert model.fingerprint.startswith("sha256:")
    assert open_bundle(sealed.path).digest == sealed.digest
