"""MiniLM from the installed wheel against the library that it was made with."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rag.components.embedders import minilm
from rag.components.embedders.minilm import MiniLmEmbedder, MiniLmInt8Embedder
from rag.core.errors import ConfigError
from rag.core.models.bert import built, opened
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


LENGTHS = [*TEXTS, *("day " * length for length in range(1, 40, 5)), *("night and day " * length for length in range(1, 80, 4))]
"""More texts than `bert.MANY`, so that threads share them."""


@pytest.mark.parametrize("made", [MiniLmEmbedder, MiniLmInt8Embedder])
def test_a_vector_is_the_same_in_any_batch_thread_and_process_to_the_last_bit(
    made: type[MiniLmEmbedder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = made(threads=1), made(threads=2)
    alone = np.concatenate([one.embed_documents([text]) for text in LENGTHS])
    assert np.array_equal(one.embed_documents(LENGTHS), alone)
    assert np.array_equal(two.embed_documents(LENGTHS[::-1])[::-1], alone)
    assert np.array_equal(two.embed_queries(LENGTHS), alone)
    few = [f"{text} {number}" for text in TEXTS for number in range(4)]  # texts of one length are read together
    assert np.array_equal(one.embed_documents(few), np.concatenate([one.embed_documents([text]) for text in few]))
    program = f"""
import sys
from rag.components.embedders.minilm import {made.__name__}
texts = {LENGTHS!r}
sys.stdout.buffer.write({made.__name__}(2).embed_documents(texts).tobytes())
assert not {{"torch", "transformers"}} & set(sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ran.stdout == alone.tobytes()


def test_int8_keeps_directions_and_its_model_is_the_one_it_names(embedder: MiniLmEmbedder, tmp_path: Path) -> None:
    rounded = MiniLmInt8Embedder(cache=str(tmp_path))
    cosines = (rounded.embed_documents(TEXTS) * embedder.embed_documents(TEXTS)).sum(axis=1)
    assert ((cosines > 0.97) & (cosines < 0.99999)).all()
    assert rounded.fingerprint() != embedder.fingerprint()
    (made,) = tmp_path.iterdir()
    assert hashlib.sha256(made.read_bytes()).hexdigest() == minilm.INT8_SHA256


def test_a_damaged_int8_model_is_made_anew_and_a_folder_without_write_access_does_no_harm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / f"minilm-int8-{minilm.INT8_SHA256[:16]}.onnx"
    path.write_bytes(b"something else")
    whole = minilm._int8(tmp_path)
    assert "is damaged and is made anew" in caplog.text
    assert path.read_bytes() == whole
    (tmp_path / "file").touch()
    assert minilm._int8(tmp_path / "file" / "cache") == whole
    assert "cannot be written" in caplog.text


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    monkeypatch.setattr(minilm, "minilm_folder", lambda: tmp_path)
    with pytest.raises(ConfigError, match=r"have sha256 \w{64}, not 53aa51172d14"):
        MiniLmEmbedder().fingerprint()
    with pytest.raises(ConfigError, match="force-reinstall"):
        minilm.load("elsewhere")


def test_a_model_that_the_runtime_cannot_load_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"ONNX Runtime \S+ cannot load the model: (.|\n)*embedder=hashing"):
        opened(b"something else")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"onnxruntime cannot be imported (.|\n)*pip install onnxruntime"):
        built(minilm_folder())
