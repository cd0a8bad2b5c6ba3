"""Every measurement runs in an empty folder, with the public data and the distilled model."""

from pathlib import Path

import pytest
from bench.measuring import DATA, MODELS


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    MODELS.mkdir(parents=True, exist_ok=True)
    (tmp_path / ".rag").mkdir()
    (tmp_path / ".rag" / "models").symlink_to(MODELS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_DATA", str(DATA))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path
