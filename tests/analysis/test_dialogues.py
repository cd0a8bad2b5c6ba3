"""Golden sets of conversations: written and live histories, and a trial turn by turn."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.scripted_server import answer, serving
from support.small_set import write_golden

from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.core.errors import ConfigError, ProblemsError
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep.open_config import config_of

TURNS: list[dict[str, Any]] = [
    {"id": "f-1", "text": "Do dogs travel to Holm?", "turn": 1, "quote": ["ferry.md", "Dogs travel free"]},
    {
        "id": "f-2",
        "text": "What of children?",
        "turn": 2,
        "rewrite": "Do children under six travel free on the ferry?",
        "quote": ["rules.txt", "Children under six travel free"],
    },
    {
        "id": "f-3",
        "text": "And the other one?",
        "turn": 3,
        "rewrite": "What does the ticket of the bus to Holm cost?",
        "quote": ["bus.md", "A ticket costs four crowns."],
    },
]
GIVEN = ("dataset=native", "dataset.path=golden", "dataset.questions=talks.jsonl", "embedder=hashing", "chunker=whole")
ONE = ("index=[bm25s]", "fusion=single", "k=1", "latency=0", "metrics=[recall@1,token_f1]")


@pytest.fixture
def talks(here: Path) -> Path:
    folder = write_golden(here / "golden")
    history: list[dict[str, str]] = []
    with (folder / "talks.jsonl").open("w", encoding="utf-8") as file:
        for row in TURNS:
            doc, quote = row["quote"]
            told = {key: value for key, value in row.items() if key != "quote"}
            told |= {"dialogue": "ferry", "split": "tune", "history": history, "answers": [f"GOLD {row['id']}"]}
            file.write(json.dumps(told | {"evidence": [{"any": [{"doc": doc, "quote": quote}]}]}) + "\n")
            history = [*history, {"role": "user", "text": row["text"]}, {"role": "assistant", "text": f"GOLD {row['id']}"}]
    return folder


def planned(*overrides: str) -> plan.Plan:
    config = config_of([*GIVEN, *ONE, *overrides])
    return plan.assemble(Experiment("test", "", ()), [Trial("one", {}, config)], Store("store"))


def names(made: plan.Plan) -> list[str]:
    return [stage.name for stage in made.stages.values()]


def test_a_live_conversation_is_one_stage_more(talks: Path) -> None:
    gold, live = planned("generator=extractive"), planned("generator=extractive", "history=live")
    assert sorted(names(live)) == sorted([*names(gold), "converse"])
    # Without a rewriter the search does not depend on the history.
    assert live.trials[0].ends.ranking == gold.trials[0].ends.ranking
    assert live.trials[0].ends.check != gold.trials[0].ends.check
    assert live.trials[0].trial_id != gold.trials[0].trial_id
    rewritten = planned("generator=extractive", "history=live", "queries=concatenate")
    assert rewritten.trials[0].ends.ranking != planned("generator=extractive", "queries=concatenate").trials[0].ends.ranking


@pytest.mark.parametrize(
    ("overrides", "error"),
    [
        (("generator=none",), "generator=none says nothing"),
        (("generator=extractive", "dataset.questions=questions.jsonl"), "no question of this golden set has a turn before it"),
    ],
)
def test_an_invalid_live_conversation_is_refused(talks: Path, overrides: tuple[str, ...], error: str) -> None:
    with pytest.raises(ProblemsError, match=error):
        planned("history=live", *overrides)
    with pytest.raises((ConfigError, ProblemsError), match="did you mean 'live'"):
        planned("history=life", *overrides)


def test_a_live_conversation_contains_its_own_answers_and_requests_each_once(talks: Path, rag: Verb) -> None:
    model = ("generator=openai", "generator.model=m", "memory=buffer", "prompt=plain")
    with serving(answer(lambda question: "OWN [1]")) as script:
        given = (*GIVEN, *ONE, *model, f"generator.base_url={script.url}")
        done = rag("run", *given, "history=live", "--json", "--no-track")
        assert done.code == 0
        sent = ["\n".join(message["content"] for message in asked["messages"]) for asked in script.asked]
        # Three questions, three requests: the conversation consists of the scored answers.
        assert len(sent) == 3
        assert not any("GOLD" in text for text in sent)
        assert sorted(text.count("OWN") for text in sent) == [0, 1, 2]
        assert "[1]" not in next(line for line in sent[-1].splitlines() if "OWN" in line)
        assert rag("run", *given, "history=gold", "--json", "--no-track").code == 0
        assert len(script.asked) == 5  # the first question is the same in both
        assert "GOLD f-1" in json.dumps(script.asked[-1])


def test_the_gold_generator_reads_references_in_a_live_conversation(talks: Path, rag: Verb) -> None:
    done = rag("run", *GIVEN, *ONE, "generator=gold", "history=live", "--json", "--no-track")
    assert done.json["trials"][0]["metrics"]["token_f1"]["mean"] == 1.0


def test_a_trial_turn_by_turn(talks: Path, rag: Verb) -> None:
    report = rag("dialogues", *GIVEN, *ONE, "generator=extractive", "queries=none", "--json").json["trials"][0]
    first, second, third, total = report["turns"]
    assert [row["turn"] for row in report["turns"]] == [1, 2, 3, 0]
    assert [row["questions"] for row in report["turns"]] == [1, 1, 1, 3]
    assert (first["followups"], first["lost"], first["found"]) == (0, 0, 1.0)
    assert (second["followups"], second["lost"]) == (1, 0)
    assert (third["followups"], third["lost"], third["found"]) == (1, 1, 0.0)
    assert (total["followups"], total["lost"]) == (2, 1)
    assert total["scores"]["recall@1"]["n"] == 3
    assert total["prompt_tokens"] > 0
    assert report["lost"] == [
        {"question": "f-3", "text": "And the other one?", "rewrite": TURNS[2]["rewrite"], "sought": ["And the other one?"]}
    ]
    shown = rag("dialogues", *GIVEN, *ONE, "generator=extractive", "queries=none").out
    assert "Carry-over errors: 1 of 2 follow-ups" in shown
    human = rag("dialogues", *GIVEN, *ONE, "generator=none", "queries=human", "--json").json["trials"][0]
    assert human["lost"] == []
    assert human["turns"][0]["prompt_tokens"] is None
    said = rag("dialogues", *GIVEN, *ONE, "dataset.questions=questions.jsonl", "generator=none")
    assert said.code == 2
    assert "is a turn of a dialogue" in said.err


def test_a_retrieval_memory_is_compared_with_fresh_searches(talks: Path, rag: Verb) -> None:
    always = ("reuse=similar", "reuse.full=0", "reuse.half=0", "reuse.guard=none", "generator=none", "queries=human")
    report = rag("dialogues", *GIVEN, *ONE, *always, "--json").json["trials"][0]
    # Every question has the passage of the first one, which no fresh search for a later one gives.
    assert report["reused"] == {
        "questions": 3, "saved": 2, "half": 0, "passages": 2, "stale": 2, "evidence": 3, "lost": 2, "won": 0,
    }  # fmt: skip
    shown = rag("dialogues", *GIVEN, *ONE, *always).out
    assert "2 of 3 questions without a search" in shown
    assert rag("dialogues", *GIVEN, *ONE, "generator=none", "--json").json["trials"][0]["reused"] is None
