"""Model files: fingerprints, refused folders, texts that a tokenizer can read."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.errors import ConfigError
from rag.core.models.pinned import PinnedModel, readable, sha256


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The smallest model folder."""
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text("{}", encoding="utf-8")
    (made / "model.safetensors").write_bytes(b"weights")
    return made


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    for number, content in enumerate((b"one", b"two")):
        path.write_bytes(content)
        os.utime(path, ns=(number, number))
        assert sha256(path) == hashlib.sha256(content).hexdigest()


def test_the_fingerprint_of_a_folder_covers_names_and_bytes_of_its_files(folder: Path) -> None:
    lines = (
        f"{name}\0{hashlib.sha256(data).hexdigest()}\n"
        for name, data in (("config.json", b"{}"), ("model.safetensors", b"weights"))
    )
    before = PinnedModel("embedder", str(folder)).fingerprint()
    assert before == f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"
    (folder / ".cache").mkdir()
    (folder / ".cache" / "note").touch()
    assert PinnedModel("embedder", str(folder)).fingerprint() == before
    (folder / "model.safetensors").rename(folder / "weights.safetensors")
    assert PinnedModel("embedder", str(folder)).fingerprint() != before


def test_the_fingerprint_of_a_hub_id_has_its_revision() -> None:
    assert PinnedModel("reranker", "owner/name", "v1.0").fingerprint() == "owner/name@v1.0"
    for moving in (None, "", "main", "HEAD"):
        with pytest.raises(ConfigError, match=r"reranker\.revision: .*\n.*pin it"):
            PinnedModel("reranker", "owner/name", moving)
    for model in ("./nowhere", "/nowhere/model", "a/b/c", "a b", ""):
        with pytest.raises(ConfigError, match=r"reranker\.model: there is no folder"):
            PinnedModel("reranker", model, "v1.0")


def test_a_folder_without_weights_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"{tmp_path} has no config\.json and no \*\.safetensors"):
        PinnedModel("embedder", str(tmp_path))
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"has no \*\.safetensors"):
        PinnedModel("embedder", str(tmp_path))


def test_pickled_weights_are_refused(folder: Path) -> None:
    (folder / "pytorch_model.bin").touch()
    PinnedModel("embedder", str(folder))
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / "pytorch_model.bin").touch()
    with pytest.raises(ConfigError, match=r"pickled weights only \(2_Dense/pytorch_model\.bin\)"):
        PinnedModel("embedder", str(folder))


@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=20))
def test_readable_text_has_the_same_offsets(text: str) -> None:
    found = readable(text)
    assert len(found) == len(text)
    assert found.encode("utf-8").decode("utf-8") == found
    assert all(a == b or "\ud800" <= a <= "\udfff" for a, b in zip(text, found, strict=True))
