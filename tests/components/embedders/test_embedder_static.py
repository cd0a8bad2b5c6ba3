"""The distillation of MiniLM, its file and its vectors."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from rag.components.embedders import minilm, static
from rag.components.embedders.static import StaticEmbedder
from rag.core.errors import ConfigError
from rag.core.models.tokenizers import minilm_folder, tokenizer


@pytest.mark.usefixtures("small_distillation")
def test_a_piece_has_the_mean_of_its_states_weighted_by_zipf() -> None:
    # With fewer pieces than dimensions there is no PCA.
    found = static.distilled(minilm.DIMENSIONS, 1e-4)
    pieces = tokenizer(minilm_folder() / "tokenizer.json")
    kept = [number for number in range(len(found)) if found[number].any()]
    assert [pieces.id_to_token(number) for number in kept] == ["[PAD]", *"abcdefghijklmnopqrstuvwxyz", "days"]
    means = np.array([minilm.load().bert.states([pieces.encode(word).ids])[0].mean(axis=0) for word in ("a", "days")])
    ranks = 1 / np.arange(2, len(kept) + 3)  # [UNK] has the second rank and no vector
    weights = 1e-4 / (1e-4 + ranks / ranks.sum())
    assert found[[kept[1], kept[-1]]] == pytest.approx(means * weights[[2, -1], None], abs=1e-6)


def test_components_are_those_of_a_singular_value_decomposition() -> None:
    rows = np.random.default_rng(3).normal(size=(60, 5)) * [5, 1, 4, 2, 3] + 7
    left, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    found = static._first_components(rows, 3)
    assert np.abs(found) == pytest.approx(np.abs(left * sizes)[:, :3])
    assert (found.max(axis=0) > -found.min(axis=0)).all()


def test_a_text_is_the_mean_of_its_pieces(small_static_cache: Path) -> None:
    embedder = StaticEmbedder(cache=str(small_static_cache))
    singles = embedder.embed_documents(["days", "we", "leave"])
    assert embedder.embed_documents(["days \U0001f9ff we leave"])[0] == pytest.approx(singles.mean(axis=0), abs=1e-6)


def test_texts_without_a_known_piece_share_one_direction(small_static_cache: Path) -> None:
    empty, unknown = StaticEmbedder(cache=str(small_static_cache)).embed_documents(["", "\u2063\U0001f9ff"])
    assert np.array_equal(empty, unknown)
    assert (empty == np.float32(1e-3)).all()


def test_threads_wait_for_one_distillation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Path] = []

    def distil(dimensions: int, sif: float, target: Path) -> None:
        made.append(target)
        target.touch()

    monkeypatch.setattr(static, "_distil", distil)
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: StaticEmbedder(cache=str(tmp_path))._stored(), range(4)))
    assert list(found) == made


@pytest.mark.usefixtures("small_distillation")
def test_half_precision_is_stored_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    embedder = StaticEmbedder(dimensions=8, cache=str(tmp_path))
    assert embedder.embed_documents(["days"]).shape == (1, 8)
    path = embedder._stored()
    assert load_file(path)["rows"].dtype == np.float16
    copy = path.rename(tmp_path / "other.safetensors")
    copy.write_bytes(copy.read_bytes()[:1000])
    with pytest.raises(ConfigError, match=r"other.safetensors is damaged (.|\n)*delete it"):
        static._opened(copy)
