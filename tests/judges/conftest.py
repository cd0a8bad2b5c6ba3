"""Judges, and a file of labels."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from judges.texts import CONTEXTS, SUPPORTED, UNSUPPORTED, WordEncoder

from rag.build import Components

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
