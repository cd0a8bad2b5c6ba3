"""The distillation by its parts, and the folder that it leaves."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from model2vec import StaticModel

from rag.embedders import minilm, static
from rag.embedders.static import StaticEmbedder, principal, word_pieces, zipf_weights
from rag.embedders.tokens import tokenizer
from rag.errors import ConfigError


def test_weights_by_hand() -> None:
    # Three words with frequencies 1/2 : 1/3 : 1/4, that is 6/13, 4/13 and 3/13.
    assert zipf_weights(3, 0.5) == pytest.approx([0.5 / (0.5 + share / 13) for share in (6, 4, 3)])


def test_principal_components_by_hand() -> None:
    # Points on a line through (1, 1) in the direction (3, 4): one component holds all, its largest score is positive.
    rows = np.array([[1 + 3 * t, 1 + 4 * t] for t in (-2, 0, 3, -1)], np.float32)
    assert principal(rows, 1)[:, 0] == pytest.approx([-10, 0, 15, -5])
    assert principal(-rows, 2) == pytest.approx(np.array([[-10, 0], [0, 0], [15, 0], [-5, 0]]), abs=1e-9)


def test_pieces_that_never_stand_for_text_are_left_out() -> None:
    pieces = tokenizer(minilm.folder() / "tokenizer.json")
    kept = word_pieces(pieces)
    names = {pieces.id_to_token(number) for number in kept}
    assert len(kept) == 29523
    assert not names & {"[PAD]", "[unused7]", "[CLS]", "[MASK]"}
    assert {"[", "]", "leave", "##ing"} <= names


def test_a_text_is_the_mean_of_its_pieces(small_static_cache: Path) -> None:
    embedder = StaticEmbedder(cache=str(small_static_cache))
    pieces = tokenizer(minilm.folder() / "tokenizer.json")
    kept = word_pieces(pieces)[1000:1600]
    words = [token for token in map(pieces.id_to_token, kept) if token.isalpha()][:3]
    singles = embedder.embed_documents(words)
    assert embedder.embed_documents([" ".join(words)])[0] == pytest.approx(singles.mean(axis=0), abs=1e-6)


def test_model2vec_opens_the_folder_and_agrees(small_static_cache: Path) -> None:
    (folder,) = [path for path in small_static_cache.iterdir() if path.is_dir()]
    assert folder.name.startswith("static-256-")
    oracle = StaticModel.from_pretrained(folder, quantize_to="float32")
    texts = ["all the days of the year", "what does he say"]
    found = StaticEmbedder(cache=str(small_static_cache)).embed_documents(texts)
    assert np.array_equal(found, oracle.encode(texts))


def test_texts_without_a_known_piece_share_one_direction(small_static_cache: Path) -> None:
    empty, unknown = StaticEmbedder(cache=str(small_static_cache)).embed_documents(["", "\u2063\U0001f9ff"])
    assert np.array_equal(empty, unknown)
    assert (empty == np.float32(1e-3)).all()


def test_distilling_again_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = word_pieces(tokenizer(minilm.folder() / "tokenizer.json"))
    monkeypatch.setattr(static, "word_pieces", lambda pieces: every[1000:1040])
    for name in ("a", "b"):
        static._distil(8, 1e-4, tmp_path / name)
    first, second = (path.read_bytes() for path in sorted(tmp_path.glob("*/model.safetensors")))
    assert first == second


def test_those_who_ask_together_wait_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def distil(dimensions: int, sif: float, target: Path) -> None:
        made.append(target)
        target.mkdir()

    monkeypatch.setattr(static, "_distil", distil)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: StaticEmbedder(cache=str(tmp_path))._stored(), range(4)))
    assert list(found) == made


def test_a_killed_distillation_leaves_nothing_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = word_pieces(tokenizer(minilm.folder() / "tokenizer.json"))
    monkeypatch.setattr(static, "word_pieces", lambda pieces: every[1000:1040])
    embedder = StaticEmbedder(dimensions=8, cache=str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(StaticModel, "save_pretrained", lambda self, path: (path.mkdir(), (path / "x").touch(), 1 / 0))
        with pytest.raises(ZeroDivisionError):
            embedder._stored()
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and not path.name.endswith(".part")]
    assert embedder.embed_documents(["days"]).shape == (1, 8)
    assert not list(tmp_path.glob("*/x"))


def test_parameters_name_the_folder() -> None:
    with pytest.raises(ConfigError, match=r"embedder\.dimensions: found 385"):
        StaticEmbedder(dimensions=385)
    with pytest.raises(ConfigError, match=r"embedder\.sif: found 0"):
        StaticEmbedder(sif=0)
