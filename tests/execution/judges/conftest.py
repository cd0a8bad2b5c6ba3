"""Judges, a file of labels, and trust in the classes of `support`."""

import pytest
from support.judge_fixtures import save_nli, shipped, small_set, tiny_nli, words_only

__all__ = ["save_nli", "shipped", "small_set", "tiny_nli", "words_only"]


@pytest.fixture(autouse=True)
def _trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))
