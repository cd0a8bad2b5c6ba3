"""Fixtures: judges, and a file of labels."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.judge_texts import CONTEXTS, SUPPORTED, UNSUPPORTED, WordEncoder

from rag.config.build import Components

CONF = Path(__file__).parents[2] / "conf" / "judge"


@pytest.fixture
def words_only() -> WordEncoder:
    return WordEncoder()


@pytest.fixture(scope="session")
def shipped() -> Any:
    """The judge as conf/judge/local.yaml has it."""
    return Components().role("judge", yaml.safe_load((CONF / "local.yaml").read_text("utf-8")))


@pytest.fixture
def small_set(tmp_path: Path) -> Path:
    """The texts above as a file of labels."""
    rows = [{"text": text, "contexts": list(CONTEXTS), "supported": True} for text in SUPPORTED]
    rows += [{"text": text, "contexts": list(CONTEXTS), "supported": False} for text in UNSUPPORTED]
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _save_nli(folder: Path, labels: tuple[str, ...]) -> Path:
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(7)
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters), "."]
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: number for number, label in enumerate(labels)}}
    config = BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, initializer_range=0.5, **shape, **names)
    BertForSequenceClassification(config).save_pretrained(folder)
    BertTokenizerFast(vocab={token: number for number, token in enumerate(vocabulary)}).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_nli(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of one layer that tells contradiction, entailment and neutral, and reads 64 tokens."""
    return _save_nli(tmp_path_factory.mktemp("nli") / "tiny", ("contradiction", "entailment", "neutral"))


@pytest.fixture
def save_nli(tmp_path: Path) -> Callable[[tuple[str, ...]], Path]:
    """Saves such a model with other labels."""
    return lambda labels: _save_nli(tmp_path / "other", labels)
