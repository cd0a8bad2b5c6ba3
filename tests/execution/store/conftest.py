"""An empty store."""

from pathlib import Path

import pytest

from rag.execution.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "store"))
