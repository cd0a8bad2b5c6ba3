"""Statistics, verification and cleaning of a store."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag.config.parameters import yaml_text
from rag.core.errors import StoreError
from rag.execution.store.store import Store

SPACES: tuple[str, ...] = ("stages", "parses", "signatures", "rates", "vectors", "pairs")
SPACES += ("replies", "judgements", "ledger", "looks", "scored", "latencies", "cards")
AGES = ("stages", "parses", "latencies", "ledger")
"""Spaces that `collect` clears: `parses` hold texts of files that may be gone.

The others are costly to compute and shared by all trials, or count looks at a holdout and trials that were scored.
"""


def at(root: Any) -> Store:
    """The store that a config names, whether it exists or not; StoreError for what is not a folder or a URL."""
    if not isinstance(root, str) or not root.strip():
        raise StoreError("store", f"is {yaml_text(root)}", "set store=<folder or URL>")
    store = Store(root)
    if store.local:
        nearest = next(path for path in (Path(store.base), *Path(store.base).parents) if path.exists())
        if not nearest.is_dir():
            raise StoreError("store", f"{root!r} is not a folder: {nearest} is a file", "set store=<folder or URL>")
    return store


def existing(root: str) -> Store:
    """The store at a place; StoreError where there is none, because an empty answer would hide a misspelt name."""
    store = at(root)
    if not store.files.exists(store.base):
        raise StoreError("store", f"there is none at {root!r}", "a sweep makes it; --store names another place")
    return store


def entries(store: Store, spaces: tuple[str, ...] = SPACES) -> Iterator[tuple[str, str]]:
    """Every (space, key) of a store."""
    for space in spaces:
        yield from ((space, key) for key in store.keys(space))


def present(store: Store, spaces: tuple[str, ...] = SPACES) -> Iterator[tuple[str, str, int, float]]:
    """Space, key, bytes and time of writing of every entry, except those that another process removes meanwhile."""
    for space, key in entries(store, spaces):
        with suppress(FileNotFoundError):
            yield space, key, store.size(key), store.written(key)


def is_old(store: Store, key: str, code: str) -> bool:
    """Whether the result of a stage was computed by code other than `code`: no key of today's code leads to it."""
    meta = store.read_meta(key)
    return meta is not None and meta.get("cost", {}).get("code") != code


def stats(store: Store, code: str = "") -> dict[str, Any]:
    """Entries and bytes by space; with `code`, a hash of the code of stages, also `old`: stage results of other code."""
    counts = {space: {"entries": 0, "bytes": 0} for space in (*SPACES, *(["old"] if code else []))}
    for space, key, size, _ in present(store):
        for name in (space, *(["old"] if code and space == "stages" and is_old(store, key, code) else [])):
            counts[name]["entries"] += 1
            counts[name]["bytes"] += size
    old = {"old": counts.pop("old")} if code else {}
    return {"store": store.root, "spaces": counts} | old


def verify(store: Store) -> dict[str, Any]:
    """Read every entry, which removes the damaged ones."""
    keys = [key for _, key in entries(store)]
    damaged = [key for key in keys if store.has(key) and store.read(key) is None]
    return {"store": store.root, "entries": len(keys), "damaged": damaged}


def collect(store: Store, days: float, code: str = "") -> dict[str, Any]:
    """Remove stage results and parsed files that were not used for `days`, and temporary files of processes that ended.

    With `code`, a hash of the code of stages, stage results of other code are removed at any age.
    """
    before = time.time() - days * 86400
    found = list(present(store, AGES))
    old = {key: size for _, key, size, written in found if written < before}
    old |= {key: size for space, key, size, _ in found if code and space == "stages" and is_old(store, key, code)}
    for key in old:
        store.remove(key)
    return {"store": store.root, "removed": len(old), "bytes": sum(old.values()), "orphans": store.clear_orphans()}
