"""A small sweep that ran: what the tests of bundles export, verify and serve."""

import contextlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support.small_set import write_golden

from rag import cli

PLAIN = ("dataset.path=golden", "latency=0", "generator=extractive")
FIXED = (*PLAIN, "embedder=hashing", "embedder.dimensions=64")
AXES = """\
  chunker: ["chunker=fixed chunker.size=60", "chunker=recursive chunker.size=80"]
  k: k=2,3"""


def sweep(folder: Path, axes: str = AXES, name: str = "small", fixed: Sequence[str] = FIXED) -> Path:
    """Sweep an experiment over the small golden set in a folder, as `rag sweep` does; the folder, in which verbs work."""
    if not (folder / "golden").is_dir():
        write_golden(folder / "golden")
    (folder / "experiments").mkdir(exist_ok=True)
    text = (
        f"question: Does it work?\ndataset: native\nsplit: all\ncontrols: false\nfixed: {json.dumps([*fixed])}\naxes:\n{axes}\n"
    )
    (folder / "experiments" / f"{name}.yaml").write_text(text, "utf-8")
    called(folder, "sweep", name, "--no-track")
    return folder


def swept(folder: Path, axes: str = AXES) -> Path:
    """As `sweep`; without the file of the experiment an export composes no config, which takes most of its time."""
    sweep(folder, axes)
    (folder / "experiments" / "small.yaml").unlink()
    return folder


def called(folder: Path, *arguments: str) -> str:
    """What a verb prints in a folder; it must succeed."""
    said = io.StringIO()
    with contextlib.chdir(folder), patch.object(sys, "argv", ["rag", *arguments]), contextlib.redirect_stdout(said):
        try:
            cli.main()
        except SystemExit as ended:
            if ended.code:
                raise AssertionError(said.getvalue()) from ended
    return said.getvalue()


def trials(folder: Path, name: str = "small") -> list[dict[str, Any]]:
    """The rows of the leaderboard, best first."""
    board = json.loads((folder / "reports" / name / "leaderboard.json").read_text("utf-8"))
    return list(board["trials"])
