"""A tiny cross-encoder folder."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.tiny_model import VOCABULARY


def save_cross_encoder(folder: Path, labels: int = 1) -> Path:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(7)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(
        vocab_size=len(VOCABULARY), max_position_embeddings=64, num_labels=labels, initializer_range=0.5, **shape
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(vocab={token: number for number, token in enumerate(VOCABULARY)}).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer with one label that reads 64 tokens."""
    return save_cross_encoder(tmp_path_factory.mktemp("cross") / "tiny")


@pytest.fixture
def save_model() -> Callable[[Path, int], Path]:
    """Saves such a model with any number of labels."""
    return save_cross_encoder
