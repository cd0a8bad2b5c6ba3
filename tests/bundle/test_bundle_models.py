"""Models of bundles: inside, given by the caller, or on the hub; compared before anything loads them."""

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.forged_bundles import forged, node, refusal, resealed

from rag.bundle import files
from rag.bundle import open_bundle as opening
from rag.bundle.archive import pack
from rag.bundle.open_bundle import open_bundle
from rag.core.errors import ConfigError, StoreError
from rag.core.models.pinned import PinnedModel

CROSS = "rag.components.rerankers.cross_encoder.CrossEncoderReranker"
EMBEDDER = "rag.components.embedders.sentence_transformer.SentenceTransformerEmbedder"
MODULES = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A folder that looks like a model; it is never loaded."""
    folder = tmp_path / "weights"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "config.json").write_text('{"model_type": "bert"}', "utf-8")
    (folder / "modules.json").write_text(json.dumps(MODULES), "utf-8")
    (folder / "1_Pooling" / "config.json").write_text("{}", "utf-8")
    (folder / "README.md").write_text("# A model\n", "utf-8")
    return folder


def model(folder: Path, inside: bool, **changed: Any) -> dict[str, Any]:
    known = {"role": "reranker", "name": "mine", "fingerprint": PinnedModel("reranker", str(folder)).fingerprint()}
    return {**known, "revision": None, "inside": "models/reranker" if inside else None, **changed}


def with_model(base: Path, target: Path, weights: Path, inside: bool, **changed: Any) -> Path:
    """A bundle whose reranker is a model folder."""
    made = forged(base, target, node("reranker", target=CROSS, model="models/reranker"))
    if inside:
        shutil.copytree(weights, made / "models/reranker")
    return resealed(made, lambda manifest: manifest.update(models=[model(weights, inside, **changed)]))


@pytest.mark.parametrize("form", ["b", "b.tar.zst"])
def test_a_model_inside_is_a_copy_that_stays_as_long_as_the_bundle(
    base: Path, tmp_path: Path, weights: Path, form: str
) -> None:
    pack(with_model(base, tmp_path / "b", weights, inside=True), tmp_path / "b.tar.zst")
    opened = open_bundle(tmp_path / form)
    folder = Path(opened.pipeline.reranker.model)  # type: ignore[attr-defined]
    # A change of the bundle does not change the files that a library reads later.
    (tmp_path / "b/models/reranker/model.safetensors").write_bytes(b"Weights")
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert (folder / "1_Pooling/config.json").read_text("utf-8") == "{}"
    assert folder.stat().st_uid == os.geteuid()
    assert folder.parents[1].stat().st_mode & 0o077 == 0
    assert "models/reranker/model.safetensors" not in opened.files
    del opened
    assert not folder.exists()


def test_a_model_that_is_exchanged_after_it_was_verified_is_not_read(
    base: Path, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = with_model(base, tmp_path / "b", weights, inside=True)
    check = opening.read_folder

    def swapping(*given: Any) -> Any:
        found = check(*given)
        (made / "models/reranker/config.json").write_text('{"auto_map": {"AutoModel": "x.Y"}}', "utf-8")
        return found

    monkeypatch.setattr(opening, "read_folder", swapping)
    opened = open_bundle(made)
    folder = Path(opened.pipeline.reranker.model)  # type: ignore[attr-defined]
    assert (folder / "config.json").read_text("utf-8") == '{"model_type": "bert"}'


def test_no_room_for_a_model_is_reported(base: Path, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = with_model(base, tmp_path / "b", weights, inside=True)
    (tmp_path / "models").write_text("", "utf-8")  # a file in place of the folder, because root may write to any folder
    monkeypatch.setattr(files, "TemporaryDirectory", lambda prefix: SimpleNamespace(name=str(tmp_path)))
    with pytest.raises(StoreError, match="TMPDIR"):
        open_bundle(made)


def test_a_model_that_is_named_must_be_given(base: Path, tmp_path: Path, weights: Path) -> None:
    made = with_model(base, tmp_path / "b", weights, inside=False)
    assert "--model reranker=<folder>" in refusal(made).remedy
    opened = open_bundle(made, models={"reranker": weights})
    assert Path(opened.pipeline.reranker.model) == weights  # type: ignore[attr-defined]


@pytest.mark.parametrize("inside", [True, False])
def test_another_model_is_refused(base: Path, tmp_path: Path, weights: Path, inside: bool) -> None:
    made = with_model(base, tmp_path / "b", weights, inside, fingerprint="sha256:" + "0" * 64)
    error = refusal(made, models={} if inside else {"reranker": weights})
    assert "has the fingerprint sha256:" in error.what
    assert "reranker" in error.where


def test_a_folder_of_the_same_name_here_is_not_taken_for_the_hub(
    base: Path, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(weights, tmp_path / "owner" / "name")
    made = forged(base, tmp_path / "b", node("embedder", target=EMBEDDER, model="owner/name", revision="0" * 40))
    assert "would be taken for it" in refusal(made).what


def test_a_model_on_the_hub_is_known_by_its_revision(base: Path, tmp_path: Path) -> None:
    made = forged(base, tmp_path / "b", node("embedder", target=EMBEDDER, model="owner/name", revision="0" * 40))
    listed = {"role": "embedder", "name": "owner/name", "fingerprint": f"owner/name@{'0' * 40}", "revision": "0" * 40}
    opened = open_bundle(resealed(made, lambda manifest: manifest.update(models=[listed])))
    assert opened.manifest.models[0].name == "owner/name"
    with pytest.raises(ConfigError, match="not the role of a model folder"):
        open_bundle(made, models={"embedder": tmp_path})
    listed["fingerprint"] = f"owner/name@{'1' * 40}"
    assert "has the fingerprint" in refusal(resealed(made, lambda manifest: manifest.update(models=[listed]))).what


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("modules.json", [{**MODULES[0], "type": "os.system"}], "is 'os.system'"),
        ("modules.json", [{"path": ""}], "is None"),
        ("config.json", {"auto_map": {"AutoModel": "modeling.Model"}}, "code of its own"),
        ("1_Pooling/config.json", {"deep": [{"custom_pipelines": {"x": 1}}]}, "code of its own"),
        ("adapter_config.json", {"base_model_name_or_path": "stranger/model"}, "changes another model"),
        ("modeling.py", "", "not a file of a bundle"),
        ("../../x.json", "", "not a file of a bundle"),
    ],
)
def test_a_model_that_brings_code_is_refused(
    base: Path, tmp_path: Path, weights: Path, name: str, content: Any, words: str
) -> None:
    (weights / name).parent.mkdir(exist_ok=True)
    (weights / name.replace("../", "")).write_text(json.dumps(content), "utf-8")
    made = with_model(base, tmp_path / "b", weights, inside=True)
    if name.startswith(".."):
        shutil.copy(weights / "x.json", made / "x.json")
    assert words in str(refusal(made))
