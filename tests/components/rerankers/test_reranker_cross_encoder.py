"""Cross-encoders, on a tiny model made here."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from rag.components.rerankers.cross_encoder import CrossEncoderReranker
from rag.core.errors import ConfigError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PASSAGES = ["leave", "days of leave", "a boiler.", ""]


def score(reranker: CrossEncoderReranker, query: str = "days") -> list[float]:
    return reranker.score([query], [PASSAGES], [[0.0] * len(PASSAGES)])[0]


def test_scores_are_the_logits_of_the_model(tiny_cross_encoder: Path) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(tiny_cross_encoder).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny_cross_encoder)
    with torch.inference_mode():
        logits = [model(**tokenizer([["days", text]], return_tensors="pt")).logits.item() for text in PASSAGES]
    found = score(CrossEncoderReranker(str(tiny_cross_encoder), max_length=64))
    assert found == pytest.approx(logits, abs=1e-5)
    assert len(set(found)) == len(PASSAGES)


def test_long_passages_are_cut(tiny_cross_encoder: Path) -> None:
    reranker = CrossEncoderReranker(str(tiny_cross_encoder), max_length=16)
    ((long, longer),) = reranker.score(["days"], [["leave " * 20, "leave " * 900]], [[0.0, 0.0]])
    assert long == longer


def test_batches_give_nearly_the_same(tiny_cross_encoder: Path) -> None:
    alone, together = (CrossEncoderReranker(str(tiny_cross_encoder), max_length=64, batch_size=size) for size in (1, 4))
    assert score(together) == pytest.approx(score(alone), abs=1e-5)


def test_a_model_with_several_labels_is_refused(tmp_path: Path, save_model: Callable[[Path, int], Path]) -> None:
    with pytest.raises(ConfigError, match=r"reranker\.model: .* has 3 labels"):
        score(CrossEncoderReranker(str(save_model(tmp_path / "three", 3)), max_length=64))
