"""Waiting for changes of the files of a folder."""

import threading
from collections.abc import Iterator
from pathlib import Path

from rag.core.errors import DataError
from rag.documents.folder.file_tree import listed

QUIET, LONGEST = 300, 5000
"""Milliseconds without a change after which changes are reported, and after which they are reported in any case."""
PAUSE, EVERY = 100, 50
"""Milliseconds between two looks at the events, and looks between two listings without an event."""

State = dict[str, tuple[int, int, int]]


def changes(folder: Path, stop: threading.Event | None = None) -> Iterator[set[str]]:
    """Yield the doc_ids of the files that were added, changed or removed since the set before, hidden files aside.

    The first set is empty: it comes when the folder is watched, so that a load after it misses nothing. A file is changed if
    its time of change, size or inode is. Drives that report no events, such as network drives, are listed every 5 seconds.
    The iterator ends with `stop`. DataError where there is no such folder; Ctrl-C raises KeyboardInterrupt.
    """
    from watchfiles import watch

    if not folder.is_dir():
        raise DataError(str(folder), "there is no such folder", "name the folder of the documents")
    known = _state(folder)
    events = watch(
        folder, watch_filter=None, debounce=LONGEST, step=QUIET, stop_event=stop, rust_timeout=PAUSE, yield_on_timeout=True
    )
    for number, event in enumerate(events):
        if number and not event and number % EVERY:
            continue
        now = _state(folder)
        changed = {name for name in known.keys() | now.keys() if known.get(name) != now.get(name)}
        if not number:
            yield set()
        if changed:
            yield changed
        known = now


def _state(folder: Path) -> State:
    found: State = {}
    for name, path in listed(folder, ["**/*"])[0].items():
        try:
            status = path.stat()
        except FileNotFoundError:
            continue  # removed since the listing
        found[name] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found
