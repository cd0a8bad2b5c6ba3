"""How long people wait for a verb: processor seconds of whole processes."""

import sys
from pathlib import Path

from bench.measuring import Finished, Row, Rows, rag, run

ASKED = "How many days of leave do I get?"


def least(times: int, *arguments: str) -> Finished:
    """The cheapest of some runs of a verb."""
    return min((rag(*arguments) for _ in range(times)), key=lambda each: each.cpu)


def verbs(folder: Path) -> Rows:
    """Verbs on an empty store and again, beside an interpreter that imports numpy."""
    bare = min(run(sys.executable, "-c", "import numpy").cpu for _ in range(5))
    untracked = ("sweep", "lexical", "--no-track")
    commands: list[tuple[str, int, tuple[str, ...]]] = [
        ("rag --help", 3, ("--help",)),
        ("rag list", 2, ("list",)),
        ("rag plan quickstart", 2, ("plan", "quickstart")),
        ("rag ask, nothing stored", 1, ("ask", ASKED)),
        ("rag ask, again", 2, ("ask", ASKED)),
        ("rag sweep lexical, nothing stored, no MLflow", 1, untracked),
        ("the same again", 2, untracked),
        ("the same with MLflow, first time", 1, ("sweep", "lexical")),
        ("the same with MLflow, again", 2, ("sweep", "lexical")),
        ("rag report lexical", 1, ("report", "lexical")),
        ("rag study baseline lexical", 1, ("study", "baseline", "lexical")),
        ("rag gate lexical, a change that is computed", 1, ("gate", "lexical", "index.bm25s.k1=1.3")),
        ("the same again", 1, ("gate", "lexical", "index.bm25s.k1=1.3")),
    ]
    for what, times, arguments in commands:
        found = least(times, *arguments)
        yield Row(what, found.cpu, "CPU s", "python -c 'import numpy'", bare, found.told)
