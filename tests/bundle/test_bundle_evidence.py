"""Scores in a bundle: cards of the judge, and the scores that a gate compares."""

import json
from pathlib import Path

import pytest
from support.gate_experiment import GATE, write_gated, write_many
from support.judge_texts import CONTEXTS, OF_WORDS, SUPPORTED, UNSUPPORTED
from support.swept_trial import called

from rag.analysis import baseline
from rag.bundle.open_bundle import open_bundle
from rag.bundle.seal import export
from rag.execution.judges.calibration import Card


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished study whose answers a judge read."""
    folder = tmp_path_factory.mktemp("study")
    write_many(folder / "golden", 20)
    (folder / "experiments").mkdir()
    fixed = ["", "generator=extractive", *(f'"{part}"' for part in OF_WORDS), '"metrics=[ndcg@10,recall@5,faithfulness]"']
    axes = "  size:\n    narrow: chunker=fixed chunker.size=120\n    wide: chunker=fixed chunker.size=600"
    write_gated(folder / "experiments" / "study.yaml", Path("golden"), axes, f"split: tune\n{GATE}", ", ".join(fixed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))
        called(folder, "sweep", "study", "--no-track")
    return folder


@pytest.fixture
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("support",))
    monkeypatch.chdir(place)
    return place


def test_scores_are_on_the_questions_that_the_gate_asks(there: Path, tmp_path: Path) -> None:
    sealed = export("study", tmp_path / "b")
    assert not (sealed.path / "cards").exists()
    assert sealed.manifest.metrics.keys() == {"ndcg@10", "recall@5", "faithfulness"}
    scores = baseline.load(sealed.path / "scores.json")
    assert (sealed.manifest.split, scores.split) == ("tune", "holdout")
    assert len(scores.result.scores.query_ids) == 32
    lines = (sealed.path / "golden.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["query"]["query_id"] for line in lines][:2] == ["short-000", "long-000"]


def test_a_bundle_holds_the_cards_of_its_judge(there: Path, tmp_path: Path) -> None:
    rows = [{"text": text, "contexts": list(CONTEXTS), "supported": text in SUPPORTED} for text in (*SUPPORTED, *UNSUPPORTED)]
    (there / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    called(there, "judge", "calibrate", *OF_WORDS, "data=people.jsonl")
    sealed = export("study", tmp_path / "with card")
    (name,) = (name for name in sealed.manifest.files if name.startswith("cards/"))
    card = Card.from_json(json.loads(open_bundle(sealed.path).read(name)))
    assert (card.data, card.texts) == ("people", len(rows))
