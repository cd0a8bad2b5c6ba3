"""Counts the uses of a holdout: choosing by its results would be tuning on it, so every use is logged.

A use is a set of trials measured on the holdout, at least one of them for the first time. It is logged before the trials
run, so that an interrupted use and the run that completes it count once.
"""

from collections.abc import Collection

from rag.config.identity import digest
from rag.execution.store.store import Entry, Store


def log_use(store: Store, golden_digest: str, trials: Collection[str], experiment: str) -> int:
    """Log that trials are measured on a holdout, named by its golden digest; the number of uses so far."""
    earlier = store.keys(_space(golden_digest))
    seen = {trial for key in earlier for trial in (store.read_meta(key) or {}).get("trials", [])}
    if set(trials) <= seen:
        return len(earlier)
    entry = Entry(meta={"experiment": experiment, "trials": sorted(trials)})
    store.write(f"{_space(golden_digest)}/{digest(sorted(trials))}", entry)
    return count(store, golden_digest)


def count(store: Store, golden_digest: str) -> int:
    """The number of uses so far."""
    return len(store.keys(_space(golden_digest)))


def _space(golden_digest: str) -> str:
    return f"looks/{golden_digest}"
