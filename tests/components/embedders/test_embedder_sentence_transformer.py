"""Sentence transformers, on a tiny model: folders, the hub's cache, prefixes, refused models."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rag.components.embedders.sentence_transformer import SentenceTransformerEmbedder
from rag.core.errors import ConfigError, ServiceError
from rag.pipeline.search import unread_text

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXTS = ["annual leave", "days", ""]


def test_equals_the_library(tiny_model: Path) -> None:
    from sentence_transformers import SentenceTransformer

    oracle = SentenceTransformer(str(tiny_model), device="cpu", local_files_only=True)
    found = SentenceTransformerEmbedder(str(tiny_model)).embed_documents(TEXTS)
    assert found.shape == (3, 16)
    assert np.array_equal(found, np.concatenate([oracle.encode([text]) for text in TEXTS]))


def test_prefixes_are_added_before_texts(tiny_model: Path) -> None:
    plain = SentenceTransformerEmbedder(str(tiny_model))
    prefixed = SentenceTransformerEmbedder(str(tiny_model), query_prefix="leave ", document_prefix="days ")
    own = SentenceTransformerEmbedder(str(tiny_model), query_prefix=None, document_prefix=None)
    assert np.array_equal(prefixed.embed_queries(["a b"]), plain.embed_queries(["leave a b"]))
    assert np.array_equal(prefixed.embed_documents(["a b"]), plain.embed_documents(["days a b"]))
    assert not np.array_equal(plain.embed_queries(["a b"]), prefixed.embed_queries(["a b"]))
    assert np.array_equal(own.embed_queries(["a b"]), prefixed.embed_queries(["a b"]))
    assert np.array_equal(own.embed_documents(["a b"]), plain.embed_documents(["a b"]))


@pytest.mark.parametrize(("prefix", "taken"), [("", 0), ("days ", 1), (None, 2)])
def test_the_window_is_that_of_the_library(tiny_model: Path, tmp_path: Path, prefix: str | None, taken: int) -> None:
    from sentence_transformers import SentenceTransformer

    shutil.copytree(tiny_model, tmp_path / "tiny")
    replaced(tmp_path / "tiny" / "config_sentence_transformers.json", prompts={"passage": "leave days "})
    for given, named in (({}, 64), ({"max_seq_length": 20}, 20)):
        replaced(tmp_path / "tiny" / "sentence_bert_config.json", **given)
        oracle = SentenceTransformer(str(tmp_path / "tiny"), device="cpu", local_files_only=True)
        assert oracle.max_seq_length == named
        assert SentenceTransformerEmbedder(str(tmp_path / "tiny"), document_prefix=prefix).window() == named - 2 - taken


def test_a_model_without_a_maximum_length_reads_all(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "tiny")
    replaced(tmp_path / "tiny" / "tokenizer_config.json", model_max_length=10**30)
    replaced(tmp_path / "tiny" / "config.json", max_position_embeddings=-1)
    assert SentenceTransformerEmbedder(str(tmp_path / "tiny")).window() is None


def test_the_window_of_an_unfetched_model_is_unknown(tmp_path: Path) -> None:
    embedder = SentenceTransformerEmbedder("tiny/bert", COMMIT, cache=str(tmp_path))
    with pytest.raises(ConfigError, match="tiny/bert is not fetched yet"):
        embedder.window()
    assert unread_text.unread(embedder, TEXTS) is None


def replaced(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def test_a_hub_id_is_read_from_the_cache_at_its_commit(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "models--tiny--bert" / "snapshots" / COMMIT)
    embedder = SentenceTransformerEmbedder("tiny/bert", COMMIT, cache=str(tmp_path))
    assert embedder.fingerprint() == f"tiny/bert@{COMMIT}"
    assert np.array_equal(embedder.embed_documents(TEXTS), SentenceTransformerEmbedder(str(tiny_model)).embed_documents(TEXTS))
    assert len(embedder.token_offsets("leave days")) == 2


def test_a_hub_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    embedder = SentenceTransformerEmbedder("tiny/bert", COMMIT, cache=str(tmp_path))
    with pytest.raises(ServiceError, match=rf"embedder\.model: tiny/bert@{COMMIT} cannot be fetched"):
        embedder.embed_documents(["x"])


def test_code_of_a_model_is_not_run(tiny_model: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_model, copy)
    modules = json.loads((copy / "modules.json").read_text(encoding="utf-8"))
    modules[0]["type"] = "modeling.Evil"
    (copy / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (copy / "modeling.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        SentenceTransformerEmbedder(str(copy)).embed_documents(["x"])
    assert not (tmp_path / "ran").exists()


def test_an_unknown_device_is_refused(tiny_model: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be loaded on 'nowhere'"):
        SentenceTransformerEmbedder(str(tiny_model), device="nowhere").embed_documents(["x"])
