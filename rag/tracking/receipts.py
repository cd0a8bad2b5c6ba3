"""What was last sent to a database file of MLflow: where it and the file are as they were, MLflow is not imported."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rag.config.identity import digest
from rag.core.files import replace_text
from rag.tracking.connection import sqlite_file
from rag.tracking.run_content import SweepRun


class Receipt:
    """The receipt of a sweep for a tracking URI; there is none for a server, whose runs others may change."""

    def __init__(self, record: SweepRun, uri: str, folder: Path) -> None:
        self._database = sqlite_file(uri)
        self._path = folder / "sent" / f"{digest(uri, record.experiment)[:16]}.json"
        trials = [replace(trial, tags=_lasting(trial.tags)) for trial in record.trials]
        content = asdict(replace(record, trials=trials, tags=_lasting(record.tags)))
        self._content = digest(json.dumps(content, sort_keys=True, default=str))  # a metric may be NaN

    def parent(self) -> str | None:
        """The id of the parent run, if this content was sent and the file was not written to since; else None."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = json.loads(self._path.read_text("utf-8"))
            if self._database and (kept["content"], kept["files"]) == (self._content, self._files()):
                return str(kept["parent"])
        return None

    def write(self, parent: str) -> None:
        """Note that all was sent."""
        if self._database:
            with suppress(OSError):  # it is sent again, which changes nothing
                replace_text(self._path, json.dumps({"content": self._content, "files": self._files(), "parent": parent}))

    def _files(self) -> list[Any]:
        """Sizes and times of the database file and of its write-ahead log."""
        paths = [Path(f"{self._database}{suffix}") for suffix in ("", "-wal")]
        return [[path.stat().st_size, path.stat().st_mtime_ns] if path.exists() else None for path in paths]


def _lasting(tags: Mapping[str, str]) -> dict[str, str]:
    """Tags without the commit: the same results from another commit are not new."""
    return {name: value for name, value in tags.items() if name != "git.commit"}
