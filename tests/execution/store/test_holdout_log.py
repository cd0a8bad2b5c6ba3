"""Uses of a holdout."""

from pathlib import Path

from rag.execution.store import holdout_log, maintenance
from rag.execution.store.store import Entry, Store

GOLDEN = "ab" * 32


def test_a_use_is_a_set_of_trials_with_a_new_one(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert holdout_log.count(store, GOLDEN) == 0
    assert holdout_log.log_use(store, GOLDEN, ["a", "b"], "one") == 1
    assert holdout_log.log_use(store, GOLDEN, ["b", "a"], "one") == 1
    assert holdout_log.log_use(store, GOLDEN, ["b", "c"], "one") == 2
    assert holdout_log.log_use(store, GOLDEN, ["a", "c"], "two") == 2
    assert holdout_log.count(store, GOLDEN) == 2
    assert holdout_log.log_use(store, "cd" * 32, ["a"], "one") == 1


def test_nothing_that_clears_a_store_forgets_a_use(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    holdout_log.log_use(store, GOLDEN, ["a"], "one")
    store.write("stages/abc", Entry(meta={}))
    assert maintenance.collect(store, days=0.0)["removed"] == 1
    assert holdout_log.count(store, GOLDEN) == 1
    assert maintenance.stats(store)["spaces"]["looks"]["entries"] == 1
    assert maintenance.verify(store) == {"store": str(tmp_path), "entries": 1, "damaged": []}
