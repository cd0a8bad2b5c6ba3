"""Correctness in stages, on cards and in gates: what enters a key, and whose card a metric needs."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.choices import node
from support.command_line import Verb
from support.gate_experiment import AXES, write_gated, write_many
from support.judge_texts import OF_WORDS

from rag.config.experiment import load
from rag.core.errors import DataError
from rag.execution.graph.plan import components_for
from rag.execution.judges.calibration import Card, calibrate, cards, keep, key_of
from rag.execution.judges.human_labels import CORRECTNESS, FAITHFULNESS, labelled
from rag.execution.store.store import Store
from rag.execution.sweep import sweep

GATE = "gate: {metrics: {correctness: 0.05, faithfulness: 0.05}, bounds: [failed == 0]}\n"


pytestmark = pytest.mark.usefixtures("here")


def answered(row: Any) -> dict[str, Any]:
    """A value for questions about a price, a sentence for the others."""
    quote = row["evidence"][0]["any"][0]["quote"]
    return {"expects": {"value": quote.split(" costs ")[1]}} if row["kind"] == "short" else {"answers": [quote]}


def prepared(metrics: str) -> Any:
    if not Path("golden").is_dir():
        questions = write_many(Path("golden"), 10) / "questions.jsonl"
        rows = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
        questions.write_text("".join(json.dumps(row | answered(row)) + "\n" for row in rows), "utf-8")
    held = "".join(f', "{part}"' for part in ("generator=extractive", f"metrics=[{metrics}]", *OF_WORDS))
    write_gated(Path("study.yaml"), Path("golden"), AXES, GATE if "faithfulness,correctness" in metrics else "", held)
    return sweep.prepare(load("study.yaml"))


def test_gold_enters_the_key_of_assess_only_where_correctness_is_measured() -> None:
    plain, right = (prepared(metrics).plan for metrics in ("ndcg@10,faithfulness", "ndcg@10,faithfulness,correctness"))
    before, after = (made.stages[made.trials[0].ends.assess] for made in (plain, right))
    assert (before.values, set(before.inputs)) == ({"needs": ["verdict"]}, {"check", "corpus", "questions"})
    assert after.values == {"needs": ["verdict", "reference"], "language": "english"}
    assert after.inputs["gold answers"] == right.trials[0].golden.golden_digest
    assert plain.trials[0].ends.check == right.trials[0].ends.check


def test_a_sweep_scores_it_and_a_gate_needs_the_card_of_its_task(rag: Verb) -> None:
    ready = prepared("ndcg@10,faithfulness,correctness")
    assert rag("sweep", "study.yaml", "--no-track").code == 0
    rows = rag("sweep", "study.yaml", "--no-track", "--json").json["trials"]
    means = [row["metrics"]["correctness"] for row in rows]
    assert all(0 < mean["mean"] <= 1 and mean["n"] for mean in means)
    assert rag("baseline", "study.yaml").code == 0
    identity = ready.plan.graph.components.identity(ready.plan.trials[0].trial.config["judge"], "judge")
    warned = rag("gate", "study.yaml", "--json").json
    assert {row["column"]: row["advisory"] for row in warned["rows"]} == {"correctness": True, "faithfulness": True}
    Path("own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in OWN), "utf-8")
    judge = components_for(ready.store).role("judge", ready.plan.trials[0].trial.config["judge"])
    keep(calibrate(judge, labelled("own.jsonl", CORRECTNESS), identity, 50), ready.store)
    decided = rag("gate", "study.yaml", "--json").json
    assert {row["column"]: row["advisory"] for row in decided["rows"]} == {"correctness": False, "faithfulness": True}
    other = [row | {"supported": not row["supported"]} for row in OWN]  # right answers that it calls wrong
    Path("other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in other), "utf-8")
    card = calibrate(judge, labelled("other.jsonl", CORRECTNESS), identity, 50)
    assert card.remarks[-1].endswith("(sensitivity 0.00, specificity 0.00): no verdict rests on it")
    keep(card, ready.store)
    warned = rag("gate", "study.yaml", "--json").json
    assert {row["column"]: row["advisory"] for row in warned["rows"]} == {"correctness": True, "faithfulness": True}


SAID = {"It is 4 days.": True, "four": True, "It is 5 days.": False, "I don't know.": False, "96 hours": True, "4 m": False}
OWN = [
    {"text": text, "contexts": ["4 days"], "question": "How long?", "supported": right, "cluster": text}
    for text, right in SAID.items()
]


def test_a_card_measures_the_rules_with_the_judge(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in OWN), "utf-8")
    judge = components_for(Store(".rag/store")).role("judge", node("judge", "local"))
    card = calibrate(judge, labelled(str(path), CORRECTNESS), "me", 50)
    assert (card.auc.value, card.accuracy.value, card.threshold, card.abstained) == (1, 1, 0.5, 0)
    assert (card.task, card.title, card.key) == (CORRECTNESS, "own correctness", key_of("me", CORRECTNESS))
    assert not card.speaks_of_answers  # faithfulness is not corrected by labels of correctness
    assert Card.from_json(json.loads(json.dumps(card.to_json()))) == card
    store = Store("kept")
    keep(card, store)
    assert cards(store, "me") == [card]
    old = {name: value for name, value in card.to_json().items() if name != "task"}
    assert Card.from_json(old).task == FAITHFULNESS


def test_tasks_have_their_own_sets(rag: Verb) -> None:
    with pytest.raises(DataError, match="halueval-multi"):
        labelled("wice", CORRECTNESS)
    wrong = rag("judge", "calibrate", "task=truth")
    assert (wrong.code, "faithfulness" in wrong.err) == (2, True)
