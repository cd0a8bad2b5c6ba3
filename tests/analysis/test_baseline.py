"""A baseline as a file: its content, and its round trip."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag.analysis import baseline
from rag.analysis.baseline import Baseline
from rag.core.errors import DataError
from rag.evaluation.scoring import Scores
from rag.execution.sweep.trial_scores import Result

CONFIG = {"chunker": {"_target_": "rag.components.chunkers.fixed.FixedChunker", "size": 40}, "k": 5}


def kept(**given: Any) -> Baseline:
    scores = Scores(("q2", "q1"), ("recall@5", "ndcg@10"), np.array([[1 / 3, math.nan], [1.0, 0.5]]), np.array([True, False]))
    result = Result("ab12", "fixed · 40", {"chunker": "fixed"}, CONFIG, scores, {"q1": "d1", "q2": "d2"}, {"golden": "g"})
    return Baseline("study", "holdout", result, {"embedder": "sha256:1"}, "key", **given)


def test_one_line_per_question_sorted_by_id(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "study.json"
    baseline.write(kept(), path)
    lines = path.read_text("utf-8").splitlines()
    assert lines[-5:] == [
        ' "questions": {',
        '  "q1": {"digest": "d1", "failed": false, "scores": {"recall@5": 1.0, "ndcg@10": 0.5}},',
        '  "q2": {"digest": "d2", "failed": true, "scores": {"recall@5": 0.333333, "ndcg@10": null}}',
        " }",
        "}",
    ]
    assert json.loads(path.read_text("utf-8"))["judge"] is None


def test_the_round_trip(tmp_path: Path) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    baseline.write(kept(), first)
    found = baseline.load(first)
    assert (found.experiment, found.split, found.score, found.models) == ("study", "holdout", "key", {"embedder": "sha256:1"})
    assert found.result.scores.query_ids == ("q1", "q2")
    np.testing.assert_array_equal(found.result.scores.values, [[1.0, 0.5], [0.333333, math.nan]])
    np.testing.assert_array_equal(found.result.scores.failed, [False, True])
    assert found.result.config == CONFIG
    assert baseline.load(first).result.questions == {"q1": "d1", "q2": "d2"}
    baseline.write(found, second)
    assert first.read_bytes() == second.read_bytes()


def test_machine_dependent_parts_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, here, model = tmp_path / "data", tmp_path / "here", tmp_path / "models" / "mine"
    for folder in (data / "chroma-a", here / "docs", model):
        folder.mkdir(parents=True)
    monkeypatch.chdir(here)
    config = {
        "store": "/elsewhere",
        "execute": {"mode": "inline"},
        "latency": 16,
        "data": str(data),
        "dataset": {"_target_": "a.B", "path": f"{data}/chroma-a"},
        "loader": {"_target_": "a.C", "path": str(here / "docs"), "patterns": ["/", "**/*.md"]},
        "embedder": {"_target_": "a.D", "model": str(model), "runtime": {"threads": 4, "api_key": "sk-1"}},
        "generator": {"_target_": "a.E", "api_key": "very secret", "base_url": "http://ann:pass@host/v1", "system": "/ is"},
        "k": 5,
    }
    portable = baseline.portable(config)
    assert portable == {
        "dataset": {"_target_": "a.B", "path": "${data}/chroma-a"},
        "loader": {"_target_": "a.C", "path": "docs", "patterns": ["/", "**/*.md"]},
        "embedder": {"_target_": "a.D", "model": "../models/mine"},
        "generator": {
            "_target_": "a.E",
            "api_key": "[redacted: secret-by-name]",
            "base_url": "http://ann:[redacted: url-password]@host/v1",
            "system": "/ is",
        },
        "k": 5,
    }
    assert str(tmp_path) not in json.dumps(portable)
    relative = baseline.portable({"data": "../data", "dataset": {"path": "../data/chroma-a"}})
    assert relative == {"dataset": {"path": "${data}/chroma-a"}}


def test_its_pipeline_runs_with_the_paths_and_runtime_of_today() -> None:
    then = {"embedder": {"_target_": "a.D", "model": "${data}/m"}, "chunker": {"_target_": "a.Old"}, "depth": 50, "k": 5}
    result = Result("t", "t", {}, then, kept().result.scores, {}, {})
    today = {
        "embedder": {"_target_": "a.D", "model": "x", "runtime": {"threads": 4}},
        "chunker": {"_target_": "a.New", "runtime": {"threads": 4}},
        "loader": {"path": "here"},
        "dataset": {"path": "here"},
        "store": "s",
        "execute": {},
        "latency": 0,
        "data": "/d",
        "split": "holdout",
        "depth": 100,
        "control": "none",
    }
    config = baseline.rerunnable(Baseline("study", "holdout", result, {}, "key"), today)
    assert config["embedder"] == {"_target_": "a.D", "model": "/d/m", "runtime": {"threads": 4}}
    assert config["chunker"] == {"_target_": "a.Old"}
    assert (config["depth"], config["k"], config["control"], config["store"]) == (50, 5, "none", "s")
    assert config["loader"] == {"path": "here"}


def test_a_path_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    for name, error in (("folder.json", "cannot be read"), ("none.json", "there is no baseline yet")):
        with pytest.raises(DataError, match=error):
            baseline.load(tmp_path / name)
