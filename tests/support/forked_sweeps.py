"""A process that imports and composes once, then forks sweeps: a kill hits their work and not their imports.

It reads lines `number of sweeps at once, folder`. It prints the process ids, `begun` where the first work begins, and the exit
codes. What sweep 0 prints is in `0.out` and `0.err` of its folder. The first argument is a folder with a `study.yaml`.
"""

import os
import sys
from pathlib import Path

import bm25s  # noqa: F401
import faiss  # noqa: F401
import mlflow.store.model_registry.sqlalchemy_store
import mlflow.store.tracking.sqlalchemy_store  # noqa: F401
import openai  # noqa: F401
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import mlflow_tables

from rag import cli
from rag.config import experiment
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.reporting.terminal import progress, recommendation  # noqa: F401
from rag.tracking import mlflow_client


def swept(folder: str, sweep: int) -> int:
    """The process id of a sweep in a folder."""
    if child := os.fork():
        return child
    os.setsid()
    os.chdir(folder)
    told = os.dup(1)
    experiment.Experiment.trials = lambda self: [sweep or os.write(told, b"begun\n"), *TRIALS][1:]
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{sweep}.{name}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
    try:
        cli.main()
    except SystemExit as ended:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code or 0)
    os._exit(99)


def say(*words: object) -> None:
    """Print words on one line."""
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


os.chdir(sys.argv[1])
mlflow_tables.copy_instead_of_migrating(pytest.MonkeyPatch())
mlflow_client.prepare(None, Path("tables"))
study = experiment.load("study.yaml")
TRIALS = study.trials()
experiment.Experiment.trials = lambda self: TRIALS
plan.make(study, Store("store"))
sys.argv = ["rag", "sweep", "study.yaml", "--json"]
say("ready")
for line in sys.stdin:
    count, place = line.rstrip("\n").split(" ", 1)
    processes = [swept(place, sweep) for sweep in range(int(count))]
    say(*processes)
    say(*(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in processes))
