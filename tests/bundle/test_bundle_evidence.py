"""Scores in a bundle: cards of the judge, and the scores that a gate compares."""

import json
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.gate_experiment import write_gated, write_many
from support.judge_texts import CONTEXTS, SUPPORTED, UNSUPPORTED

from rag.analysis import baseline
from rag.bundle.open_bundle import open_bundle
from rag.bundle.seal import export
from rag.execution.judges.calibration import Card

rag = pytest.fixture(verb)
WORDS = ("~judge.encoder.runtime", "judge.encoder._target_=support.judge_texts.WordEncoder")


@pytest.fixture
def study(here: Path, rag: Verb, monkeypatch: pytest.MonkeyPatch) -> str:
    """A finished study whose answers a judge read; the test may change its folder."""
    monkeypatch.setattr("rag.execution.graph.plan.plugins", lambda: ("support",))
    write_many(here / "golden", 20)
    (here / "experiments").mkdir()
    fixed = ["", "generator=extractive", *(f'"{part}"' for part in WORDS), '"metrics=[ndcg@10,recall@5,faithfulness]"']
    axes = "  size:\n    narrow: chunker=fixed chunker.size=120\n    wide: chunker=fixed chunker.size=600"
    write_gated(here / "experiments" / "study.yaml", Path("golden"), axes, fixed=", ".join(fixed))
    assert rag("sweep", "study", "--no-track").code == 0
    return "study"


def test_a_bundle_holds_the_cards_of_its_judge(study: str, here: Path, rag: Verb, tmp_path: Path) -> None:
    bare = export(study, tmp_path / "bare")
    assert not (bare.path / "cards").exists()
    rows = [{"text": text, "contexts": list(CONTEXTS), "supported": text in SUPPORTED} for text in (*SUPPORTED, *UNSUPPORTED)]
    (here / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert rag("judge", "calibrate", *WORDS, "data=people.jsonl").code == 0
    sealed = export(study, tmp_path / "with card")
    (name,) = (name for name in sealed.manifest.files if name.startswith("cards/"))
    card = Card.from_json(json.loads(open_bundle(sealed.path).read(name)))
    assert (card.data, card.texts) == ("people", len(rows))
    assert sealed.manifest.metrics.keys() == bare.manifest.metrics.keys() == {"ndcg@10", "recall@5", "faithfulness"}


def test_scores_are_on_the_questions_that_the_gate_asks(study: str, tmp_path: Path) -> None:
    sealed = export(study, tmp_path / "b")
    kept = baseline.load(sealed.path / "scores.json")
    assert (sealed.manifest.split, kept.split) == ("tune", "holdout")
    assert len(kept.result.scores.query_ids) == 32
    assert [json.loads(line)["query"]["query_id"] for line in (sealed.path / "golden.jsonl").read_text("utf-8").splitlines()][
        :2
    ] == [
        "short-000",
        "long-000",
    ]


def test_without_an_experiment_they_are_on_its_own_questions(study: str, here: Path, tmp_path: Path) -> None:
    (here / "experiments" / "study.yaml").unlink()
    sealed = export(study, tmp_path / "b")
    assert baseline.load(sealed.path / "scores.json").split == sealed.manifest.split == "tune"
