"""A sweep over the small golden set that asks a scripted model, for tests of replay, budgets and errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.scripted_server import Script, answer, serving
from support.small_set import write_golden

from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.graph.plan import Plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep

QUESTIONS = 6
"""Questions of the small golden set."""

KEY = "sk-very-secret-0123456789abcdef"


def write_study(folder: Path, axes: str = "  k: k=2", fixed: str = "", generator: str = "openai") -> Path:
    """An experiment whose trials all ask a model; its path."""
    golden = folder / "golden"
    if not golden.exists():
        write_golden(golden)
    held = (
        f'["dataset.path={golden}", "index=[bm25s]", fusion=single, embedder=hashing, latency=0, generator={generator}{fixed}]'
    )
    path = folder / "study.yaml"
    path.write_text(
        f"question: What does it take?\ndataset: native\nsplit: all\nholdout: 0\ncontrols: false\nfixed: {held}\n"
        f"objective: token_f1\naxes:\n{axes}\n",
        "utf-8",
    )
    return path


def ask_of(script: Script, monkeypatch: pytest.MonkeyPatch, key: str = KEY) -> None:
    """Let generator=openai ask this server with this key."""
    monkeypatch.setenv("OPENAI_BASE_URL", script.url)
    monkeypatch.setenv("OPENAI_MODEL", "tiny")
    monkeypatch.setenv("OPENAI_API_KEY", key)


@contextmanager
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    """Let generator=openai ask a server whose replies take 100 tokens each, 90 of them for the prompt."""
    with serving(answer(lambda question: f"It is {len(question)}.", {"prompt_tokens": 90, "completion_tokens": 10})) as server:
        ask_of(server, monkeypatch)
        yield server


def planned(study: Path, store: Store, *overrides: str) -> Plan:
    """The plan of a study under some overrides."""
    return plan.make(load(str(study), overrides), store)


def swept(made: Plan, store: Store) -> sweep.Sweep:
    """Run a plan in this process."""
    return sweep.run(made, store, {"mode": "inline"}, lambda key, outcome: None)


def replies(made: Plan, store: Store) -> list[Any]:
    """The texts of all answers, None for questions that failed, trial by trial."""
    found = [store.read_meta(made.stages[str(trial.ends.check)].entry) for trial in made.trials]
    return [[answer and answer["reply"]["text"] for answer in meta["answers"]] for meta in found if meta]
