"""Every shipped experiment, composed once: its trials equal those of each alone, can be built, and need no file of ours."""

import itertools
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rag.config.compose import compose, resolve, shipped
from rag.config.experiment import Experiment, load
from rag.config.search_space import Trial
from rag.config.validation import check
from rag.core.errors import ProblemsError
from rag.core.roles import ROLES
from rag.execution.graph.plan import components_for
from rag.execution.store.store import Store

Composed = tuple[Experiment, list[Trial]]
EXPERIMENTS = sorted(path.stem for path in shipped("experiments").glob("*.yaml"))
PUBLIC = ["bm25", "chunking", "conversations", "embedders", "fusion", "grid", "injection", "rewriting", "terms", "windows"]
"""The experiments that ask questions of a public data set; datasets/README.md lists the same."""


@pytest.fixture(scope="module", params=EXPERIMENTS)
def declared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    """An experiment and its trials, in an empty folder; RAG_DATA is set for those over public data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder := tmp_path_factory.mktemp("empty"))
        patch.delenv("RAG_DATA", raising=False)
        if request.param in PUBLIC:
            patch.setenv("RAG_DATA", str(folder / "data"))
        found = load(request.param)
        yield found, found.trials()


def test_trials_are_composed_as_if_each_were_alone(declared: Composed) -> None:
    found, trials = declared
    assert len(trials) == math.prod(len(choices) for choices in found.axes.values()), "two of its trials are the same"
    last = trials[-1]
    bundles = (each.overrides for axis, choices in found.axes.items() for each in choices if each.label == last.choices[axis])
    alone = resolve(compose([*found.fixed, *itertools.chain(*bundles)]))
    assert json.dumps(last.config) == json.dumps({key: alone[key] for key in last.config})
    assert alone.keys() == last.config.keys()


def test_all_trials_can_be_built(declared: Composed, here: Path) -> None:
    components = components_for(Store(str(here / "store")))
    found, trials = declared
    assert found.question.endswith("?")
    for trial in trials:
        check(trial.config)
        for role in ROLES.keys() & trial.config.keys():
            part = trial.config[role]
            for key, node in part.items() if role in ("index", "metric", "selector") else [(role, part)]:
                components.role(role, node, key)


def test_only_public_data_must_be_named(declared: Composed, monkeypatch: pytest.MonkeyPatch) -> None:
    found, trials = declared
    if found.name not in PUBLIC:
        assert not [text for trial in trials for text in texts(trial.config) if text.startswith(("../", "None"))]
        assert not [trial.name for trial in trials if "data" in trial.config]
        return
    monkeypatch.delenv("RAG_DATA")
    with pytest.raises(ProblemsError) as refused:
        replace(found, axes={axis: choices[:1] for axis, choices in found.axes.items()}).trials()
    assert {problem.what for problem in refused.value.problems} == {"needs a public data set"}
    (remedy,) = {problem.remedy for problem in refused.value.problems}
    assert "export RAG_DATA=" in remedy
    assert f"`{found.name}`" in Path(remedy.split("; ")[1].split(" lists ")[0]).read_text("utf-8")


def texts(value: object) -> list[str]:
    """All texts in a config."""
    if isinstance(value, dict | list):
        return [text for part in (value.values() if isinstance(value, dict) else value) for text in texts(part)]
    return [value] if isinstance(value, str) else []


def test_data_may_be_named_for_one_run() -> None:
    assert load("chunking", ["data=elsewhere"]).trials()[0].config["dataset"]["path"] == "elsewhere/chroma-a"
