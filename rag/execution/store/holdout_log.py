"""How often a holdout was looked at. Whoever chooses by what a holdout says has tuned on it: so every look is written down.

A look is a set of trials that were measured on the holdout, at least one of them for the first time. It is noted before the
measuring begins, so that a broken-off look and the one that completes it are the same.
"""

from collections.abc import Collection

from rag.config.identity import digest
from rag.execution.store.store import Entry, Store


def look(store: Store, golden_digest: str, trials: Collection[str], experiment: str) -> int:
    """Note that trials are measured on a holdout, known by its golden digest; how many looks there have been, this included."""
    earlier = store.keys(_space(golden_digest))
    seen = {trial for key in earlier for trial in (store.read_meta(key) or {}).get("trials", [])}
    if set(trials) <= seen:
        return len(earlier)
    entry = Entry(meta={"experiment": experiment, "trials": sorted(trials)})
    store.write(f"{_space(golden_digest)}/{digest(sorted(trials))}", entry)
    return count(store, golden_digest)


def count(store: Store, golden_digest: str) -> int:
    """How many looks there have been."""
    return len(store.keys(_space(golden_digest)))


def _space(golden_digest: str) -> str:
    return f"looks/{golden_digest}"
