"""Models in a bundle: copied into it, or named."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from support.command_line import Verb
from support.small_set import write_golden
from support.swept_trial import PLAIN, sweep, trials
from support.tiny_model import write_tiny
from support.unmeasured_bundles import seal

from rag.bundle.archive import pack
from rag.bundle.errors import BundleError
from rag.bundle.layout import KEPT
from rag.bundle.open_bundle import open_bundle
from rag.bundle.references import files_of, fingerprint_of, referenced
from rag.bundle.replay import replay
from rag.bundle.seal import export
from rag.components.embedders import minilm
from rag.config.build import Components
from rag.core.errors import ConfigError, DataError
from rag.core.models.pinned import PinnedModel
from rag.core.types import Query
from rag.execution.sweep.open_config import config_of

COMMIT = "a" * 40


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """A sweep of a model folder, which the config names in two places, and of the same model on the hub."""
    folder = tmp_path_factory.mktemp("swept")
    cache = folder / "cache"
    shutil.copytree(tiny, cache / "models--tiny--bert" / "snapshots" / COMMIT)
    axes = "  embedder:\n"
    axes += f"    folder: embedder.model={tiny} embedder.revision=null\n"
    axes += f"    hub: embedder.model=tiny/bert embedder.revision={COMMIT} embedder.runtime.cache={cache}\n"
    return sweep(
        folder, axes.rstrip(), fixed=[*PLAIN, "embedder=sentence_transformer", "reranker=mmr", "embedder.query_prefix=''"]
    )


def trial(place: Path, kind: str) -> str:
    (row,) = (row for row in trials(place) if row["choices"]["embedder"] == kind)
    return f"trial={row['trial']}"


@pytest.mark.parametrize("kind", ["folder", "hub"])
def test_a_copied_model_answers_alone(there: Path, tmp_path: Path, tiny: Path, kind: str) -> None:
    sealed = export(trial(there, kind), tmp_path / "b", with_models=True)
    (model,) = sealed.manifest.models
    assert (model.role, model.inside) == ("embedder", "models/embedder")
    assert (model.name, model.revision) == (("tiny", None) if kind == "folder" else ("tiny/bert", COMMIT))
    assert model.fingerprint == PinnedModel("embedder", str(sealed.path / "models/embedder")).fingerprint()
    config = json.loads((sealed.path / "config.json").read_text("utf-8"))
    assert config["embedder"]["model"] == config["reranker"]["embedder"]["model"] == "models/embedder"
    bundle = open_bundle(sealed.path)
    assert bundle.held
    assert bundle.pipeline.embedder.source.folder == Path(bundle.held.name) / "models/embedder"  # type: ignore[attr-defined]
    assert replay(bundle).mismatches == []
    pack(sealed.path, tmp_path / "b.tar.zst")
    assert replay(open_bundle(tmp_path / "b.tar.zst")).mismatches == []


def test_a_named_folder_must_be_given(there: Path, tmp_path: Path, tiny: Path, rag: Verb) -> None:
    sealed = export(trial(there, "folder"), tmp_path / "b")
    (model,) = sealed.manifest.models
    assert (model.name, model.inside, model.fingerprint) == ("tiny", None, PinnedModel("embedder", str(tiny)).fingerprint())
    for file in sealed.path.rglob("*"):
        assert file.is_dir() or str(tiny).encode() not in file.read_bytes()
    with pytest.raises(DataError, match="--model embedder="):
        open_bundle(sealed.path)
    assert replay(open_bundle(sealed.path, models={"embedder": tiny})).mismatches == []
    assert rag("verify", str(sealed.path), "--model", f"embedder={tiny}").code == 0
    assert rag("verify", str(sealed.path)).code == 2


def test_a_model_on_the_hub_is_named_by_its_commit_and_the_sha256_of_its_weights(
    there: Path, tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed = export(trial(there, "hub"), tmp_path / "b")
    known = {"model.safetensors": hashlib.sha256((tiny / "model.safetensors").read_bytes()).hexdigest()}
    assert [(model.role, model.weights) for model in sealed.manifest.models] == [
        ("check.off_topic.embedder", known),
        ("embedder", known),
        ("reranker.embedder", known),
    ]
    for model in sealed.manifest.models:
        assert (model.name, model.revision, model.fingerprint) == ("tiny/bert", COMMIT, f"tiny/bert@{COMMIT}")
        assert model.inside is None
    shutil.copytree(there / "cache", tmp_path / "cache")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    assert replay(open_bundle(sealed.path)).mismatches == []
    place = tmp_path / "cache/models--tiny--bert/snapshots" / COMMIT / "model.safetensors"
    changed = bytearray(place.read_bytes())
    changed[-1] ^= 1
    place.write_bytes(changed)
    with pytest.raises(BundleError, match=r"has sha256 .* at model.safetensors"):
        open_bundle(sealed.path)
    place.rename(place.with_name("other.safetensors"))
    with pytest.raises(BundleError, match=r"has sha256 of no file at model.safetensors"):
        open_bundle(sealed.path)


def test_other_files_of_a_model_are_left_out_or_refused(tiny: Path, tmp_path: Path) -> None:
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


def test_a_model_of_a_package_stays_a_reference() -> None:
    config = config_of(["embedder=minilm", "chunker=token"])
    models = referenced({name: config.get(name, []) for name in KEPT}, Components(), with_models=True).models
    assert [model.role for model in models] == ["check.off_topic.embedder", "embedder"]
    assert {(model.name, model.inside) for model in models} == {("MiniLmEmbedder", None)}
    assert {model.fingerprint[:7] for model in models} == {"sha256:"}


@pytest.mark.parametrize(
    ("embedder", "answering"),
    [("minilm", "generator=none"), ("sentence_transformer", "check=none"), ("minilm", "check=[citations]")],
)
def test_an_unused_embedder_is_neither_named_nor_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: str, answering: str
) -> None:
    monkeypatch.chdir(tmp_path)
    golden = write_golden(tmp_path / "golden")
    chosen = ["dataset=native", f"dataset.path={golden}", "index=[bm25s]", "fusion=single", f"embedder={embedder}"]
    seal(config_of([*chosen, answering]), tmp_path / "b")
    monkeypatch.setattr(minilm, "verified_weights", lambda: pytest.fail("the embedder was built"))
    bundle = open_bundle(tmp_path / "b")
    assert bundle.manifest.models == ()
    assert bundle.config["embedder"]["_target_"] == config_of([f"embedder={embedder}"])["embedder"]["_target_"]
    query = Query("q", "When does the ferry leave?")
    assert bundle.pipeline.trace(query).selected
    assert bundle.pipeline.answer(query).contexts
