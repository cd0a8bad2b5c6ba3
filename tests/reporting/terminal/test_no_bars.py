"""No library draws a progress bar into standard error that is a file."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.small_set import write_golden

SCRIPT = """
import sys
from rag import cli

def run(*arguments):
    sys.argv = ["rag", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code, (arguments, end.code)

run("run", "--no-track", *"dataset=native dataset.path=golden embedder=hashing latency=0 generator=none".split())

import huggingface_hub.utils
import mlflow.environment_variables as mlflow
import tqdm.auto

list(tqdm.auto.tqdm(range(3), desc="as model2vec draws it"))
list(huggingface_hub.utils.tqdm(range(3), desc="as the hub draws it"))
assert not mlflow.MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR.get()
"""


@pytest.mark.system
def test_no_bar_is_drawn_into_a_file(here: Path) -> None:
    write_golden(here / "golden")
    with Path("err.txt").open("wb") as file:
        done = subprocess.run([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=file, check=False, timeout=300)
    said = Path("err.txt").read_bytes().decode()
    assert done.returncode == 0, said
    assert b"recall@5" in done.stdout
    assert [mark for mark in ("\r", "\x1b", "%|", "it/s", "━", "█") if mark in said] == [], said
