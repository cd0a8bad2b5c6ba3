"""Questions by rules do not rank searches against each other, through whole sweeps."""

import json
from pathlib import Path

import pytest
from support.small_set import AXES, write_experiment, write_golden

from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, sweep
from rag.execution.sweep.selection.candidates import SAID

SETTINGS = {"mode": "inline", "workers": 1}


@pytest.mark.parametrize(("by_rules", "competing"), [(1.0, 6), (0.5, 6), (0.25, 18)])
def test_half_of_the_questions_by_rules_leave_one_search(tmp_path: Path, by_rules: float, competing: int) -> None:
    golden = write_golden(tmp_path / "set")
    file = golden / "questions.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for number, row in enumerate(rows):
        row["provenance"] = {"method": "rule:table" if number < by_rules * len(rows) else "person", "accepted": "me"}
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    store = Store(str(tmp_path / "store"))
    made = plan.make(load(str(write_experiment(tmp_path / "study.yaml", golden, AXES))), store)
    concluded = holdout.reach(sweep.run(made, store, SETTINGS, lambda key, outcome: None), store, SETTINGS, None)
    assert concluded.winner
    admitted = {each.name for each in concluded.winner.standings if each.admitted}
    assert len(admitted) == competing
    apart = competing < 18
    assert all("bm25s+dense" in name for name in admitted) == apart
    assert any(note.startswith(SAID) and "12 trials with others do not" in note for note in concluded.notes) == apart
    assert concluded.effects is None or not (apart and "search=" in concluded.effects.sentence)
