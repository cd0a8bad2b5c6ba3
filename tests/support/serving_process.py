"""`rag serve` as a process."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from support.small_server import TWO_KEYS


@contextmanager
def serving(
    bundle: Path, folder: Path, descriptors: int = 0, **environment: str
) -> Iterator[tuple[str, "subprocess.Popen[str]", IO[str]]]:
    """A process that serves: its address, itself, and what it wrote so far on standard error.

    It may have so many `descriptors`; 0 leaves the limit as it is.
    """
    known = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "OTEL_", "MLFLOW_"))}
    known |= {"RAG_API_KEYS": ",".join(f"{name}:{hash_}" for name, hash_ in TWO_KEYS.entries), "COLUMNS": "200"} | environment

    def limit() -> None:
        if descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    command = [sys.executable, "-c", "from rag.cli import main; main()", "serve", "--port", "0", str(bundle)]
    with (folder / "errors").open("w", encoding="utf-8") as errors, (folder / "errors").open(encoding="utf-8") as written:
        pipes = {"stdout": subprocess.PIPE, "stderr": errors, "text": True, "preexec_fn": limit}
        with subprocess.Popen(command, cwd=folder, env=known, **pipes) as process:  # type: ignore[call-overload]
            try:
                line = next((line for line in process.stdout if line.startswith("http://")), "")
                assert line, written.read()
                yield line.split()[0], process, written
            finally:
                process.kill()
