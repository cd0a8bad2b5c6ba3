"""Replies are kept by request: replayed without a server, to the last bit, and nothing in the store is a secret."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.costly_sweep import KEY, QUESTIONS, ask_of, planned, replies, swept, write_study
from support.scripted_server import Script, answer, say, serving, too_long

from rag.analysis.finding_counts import count_findings
from rag.execution.store.store import Store


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving(answer(lambda question: f"It is {len(question)} [1].")) as server:
        ask_of(server, monkeypatch)
        yield server


def forget(store: Store) -> None:
    """Take away every stage, so that a sweep has nothing left but the replies."""
    for key in store.keys("stages"):
        store.remove(key)


def test_a_replay_asks_no_model_and_says_the_same_to_the_last_bit(here: Path, store: Store, script: Script) -> None:
    study = write_study(here)
    first = swept(planned(study, store), store)
    asked = len(script.asked)
    assert asked == QUESTIONS
    forget(store)
    again = swept(planned(study, store, "replay=only"), store)
    assert len(script.asked) == asked
    assert json.dumps(again.board.to_json()) == json.dumps(first.board.to_json())
    assert again.board.rows[0].measured["tokens"] == first.board.rows[0].measured["tokens"] == 34.0 * QUESTIONS
    assert again.spent.tokens == 0


def test_a_refusal_is_replayed_too(here: Path, store: Store, script: Script) -> None:
    script.steps = [too_long(), say("<think>Hm</think>Seven.", finish="length")]
    study = write_study(here, fixed=", generator.runtime.concurrency=1")
    swept(planned(study, store), store)
    forget(store)
    again = swept(planned(study, store, "replay=only"), store)
    assert [len(texts) - texts.count(None) for texts in replies(again.plan, store)] == [QUESTIONS - 1]
    assert len(again.board.rows[0].failures) == again.board.rows[0].measured["failed_questions"] == 1
    assert again.board.rows[0].measured["cut_replies"] == QUESTIONS - 1
    assert count_findings(again.plan, store)[0].fired["length"].questions == QUESTIONS - 1


def test_the_key_is_sent_and_stands_nowhere(here: Path, store: Store, script: Script) -> None:
    done = swept(planned(write_study(here), store), store)
    assert set(script.keys) == {f"Bearer {KEY}"}
    written = [path for path in Path(store.base).rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in json.dumps(done.to_json())
    assert KEY not in repr(done.plan)
