"""Looking after a store: what is in it, whether it is sound, what can go."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag.config.parameters import yaml_text
from rag.core.errors import StoreError
from rag.execution.store.store import Store

SPACES = ("stages", "rates", "vectors", "pairs", "replies", "judgements", "ledger", "looks", "latencies", "cards")
AGES = ("stages", "latencies", "ledger")
"""Spaces that `collect` clears; the finer ones are dear to compute and shared by everything; looks must not be forgotten."""


def at(root: Any) -> Store:
    """The store at the place that a config names, there already or not; StoreError for what can be no place."""
    if not isinstance(root, str) or not root.strip():
        raise StoreError("store", f"is {yaml_text(root)}", "set store=<folder or URL>")
    store = Store(root)
    if store.local:
        nearest = next(path for path in (Path(store.base), *Path(store.base).parents) if path.exists())
        if not nearest.is_dir():
            raise StoreError("store", f"{root!r} is no folder: {nearest} is a file", "set store=<folder or URL>")
    return store


def existing(root: str) -> Store:
    """The store at a place; StoreError where there is none, for an empty answer would hide a misspelt name."""
    store = at(root)
    if not store.files.exists(store.base):
        raise StoreError("store", f"there is none at {root!r}", "a sweep makes it; --store names another place")
    return store


def entries(store: Store, spaces: tuple[str, ...] = SPACES) -> Iterator[tuple[str, str]]:
    """Every (space, key) of a store."""
    for space in spaces:
        yield from ((space, key) for key in store.keys(space))


def present(store: Store, spaces: tuple[str, ...] = SPACES) -> Iterator[tuple[str, str, int, float]]:
    """Space, key, bytes and time of writing of every entry; what somebody else removes meanwhile is left out."""
    for space, key in entries(store, spaces):
        try:
            found = store.size(key), store.written(key)
        except FileNotFoundError:
            continue
        yield space, key, *found


def stats(store: Store) -> dict[str, Any]:
    """Entries and bytes by space."""
    found = {space: {"entries": 0, "bytes": 0} for space in SPACES}
    for space, _, size, _ in present(store):
        found[space]["entries"] += 1
        found[space]["bytes"] += size
    return {"store": store.root, "spaces": found}


def verify(store: Store) -> dict[str, Any]:
    """Read everything; a damaged entry is removed by the reading of it."""
    keys = [key for _, key in entries(store)]
    damaged = [key for key in keys if store.has(key) and store.read(key) is None]
    return {"store": store.root, "entries": len(keys), "damaged": damaged}


def collect(store: Store, days: float) -> dict[str, Any]:
    """Remove stage results that were written more than `days` ago, and temporary files of dead writers."""
    before = time.time() - days * 86400
    old = {key: size for _, key, size, written in present(store, AGES) if written < before}
    for key in old:
        store.remove(key)
    return {"store": store.root, "removed": len(old), "bytes": sum(old.values()), "orphans": store.clear_orphans()}
