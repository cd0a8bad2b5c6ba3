"""The distillation of model2vec, its folder and its vectors."""

import logging
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from model2vec import StaticModel

from rag.components.embedders import minilm, packed, static
from rag.components.embedders.static import StaticEmbedder
from rag.core.models.tokenizers import minilm_folder, tokenizer


def stored(cache: Path) -> Path:
    (folder,) = [path for path in cache.iterdir() if path.is_dir()]
    assert folder.name.startswith("static-256-")
    return folder


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("small_distillation")
def test_the_released_weights_are_distilled() -> None:
    # With fewer pieces than dimensions there is no PCA: each vector is the mean of MiniLM's states, longer or shorter.
    model = static.distilled(minilm.DIMENSIONS, 1e-4)
    words = ("days", "s", "x")
    original = tokenizer(minilm_folder() / "tokenizer.json")
    states = packed.states(minilm.load("cpu", None), [original.encode(word).ids for word in words])
    for word, row in zip(words, states, strict=True):
        found, mean = model.embedding[model.tokenizer.token_to_id(word)].astype(np.float64), row.mean(axis=0)
        assert found @ mean / np.linalg.norm(found) / np.linalg.norm(mean) == pytest.approx(1, abs=1e-5)


def test_a_text_is_the_mean_of_its_pieces(small_static_cache: Path) -> None:
    embedder = StaticEmbedder(cache=str(small_static_cache))
    singles = embedder.embed_documents(["days", "we", "leave"])
    assert embedder.embed_documents(["days we leave"])[0] == pytest.approx(singles.mean(axis=0), abs=1e-6)


def test_model2vec_opens_the_folder_and_agrees(small_static_cache: Path) -> None:
    oracle = StaticModel.from_pretrained(stored(small_static_cache), quantize_to="float32", normalize=False)
    texts = ["we leave in days", "it is so"]
    found = StaticEmbedder(cache=str(small_static_cache)).embed_documents(texts)
    assert np.array_equal(found, oracle.encode(texts))


def test_opening_logs_no_warning(small_static_cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        static._opened.__wrapped__(stored(small_static_cache))
    assert caplog.records == []


def test_texts_without_a_known_piece_share_one_direction(small_static_cache: Path) -> None:
    empty, unknown = StaticEmbedder(cache=str(small_static_cache)).embed_documents(["", "\u2063\U0001f9ff"])
    assert np.array_equal(empty, unknown)
    assert (empty == np.float32(1e-3)).all()


@pytest.mark.system
@pytest.mark.usefixtures("small_distillation", "threads")
def test_distilling_asks_no_hub_and_gives_the_same_bytes_with_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("asked for an address")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with caplog.at_level(logging.WARNING):
        for number in (1, 2):
            torch.set_num_threads(number)
            static._distil(8, 1e-4, tmp_path / str(number))
    assert caplog.records == []
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_threads_wait_for_one_distillation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def distil(dimensions: int, sif: float, target: Path) -> None:
        made.append(target)
        target.mkdir()

    monkeypatch.setattr(static, "_distil", distil)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: StaticEmbedder(cache=str(tmp_path))._stored(), range(4)))
    assert list(found) == made


@pytest.mark.system
@pytest.mark.usefixtures("small_distillation")
def test_a_killed_distillation_leaves_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = StaticEmbedder(dimensions=8, cache=str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(StaticModel, "save_pretrained", lambda self, path: (path.mkdir(), (path / "x").touch(), 1 / 0))
        with pytest.raises(ZeroDivisionError):
            embedder._stored()
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and not path.name.endswith(".part")]
    assert embedder.embed_documents(["days"]).shape == (1, 8)
    assert not list(tmp_path.glob("*/x"))
