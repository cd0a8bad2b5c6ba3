"""Notices of a config on standard error: servers that are asked, and files that replace those of Assay."""

import logging
import sys
from contextlib import suppress


class Notices(logging.Handler):
    """Writes each line once per process."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.written: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line without control characters, which names of files may contain."""
        from rag.reporting.terminal.output import visible

        line = visible(record.getMessage())
        if line not in self.written:
            self.written.add(line)
            with suppress(OSError, AttributeError):
                sys.stderr.write(f"{line}\n")
