"""What models are expected to take, told before anything is spent: likely, and at most."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.costly_sweep import QUESTIONS, answering, planned, swept, write_study
from support.scripted_server import Script
from support.small_set import TEXTS

from rag.core.errors import ConfigError
from rag.execution.store.store import Store


@pytest.fixture
def store(here: Path) -> Store:
    return Store(str(here / "store"))


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with answering(monkeypatch) as server:
        yield server


def outlook(study: Path, store: Store, *overrides: str) -> tuple[int, int]:
    """Tokens that a plan takes models for: likely, and at most."""
    found = planned(study, store, *overrides).estimate.spending
    return found.likely.tokens, found.most.tokens


def test_models_inside_rewriters_and_judges_are_estimated(here: Path, store: Store, script: Script) -> None:
    alone = outlook(write_study(here), store)
    judged = outlook(write_study(here), store, "judge=llm", "metrics=[token_f1,faithfulness]")
    assert judged == (alone[0] + QUESTIONS * (6 * 200 + 100), alone[1] + QUESTIONS * (6 * 200 + 1024))


def test_a_reply_is_expected_to_be_as_long_as_those_that_are_there(here: Path, store: Store, script: Script) -> None:
    study = write_study(here)
    assert outlook(study, store) == (QUESTIONS * (3 * 200 + 100), QUESTIONS * (3 * 200 + 512))
    swept(planned(study, store, "prompt=cited"), store)
    likely, most = outlook(study, store)
    assert most - likely == QUESTIONS * (512 - 10)
    assert 200 * QUESTIONS < likely - 10 * QUESTIONS < 300 * QUESTIONS, "the passages are short, and their lengths known now"
    assert outlook(study, store, "generator.max_tokens=4")[0] == likely - 6 * QUESTIONS
    longest = outlook(study, store, "generator.max_tokens=null")
    assert longest[1] - longest[0] == QUESTIONS * (4096 - 10), "no limit is no small one"


def test_what_trials_ask_in_the_same_words_is_expected_once(here: Path, store: Store, script: Script) -> None:
    one = outlook(write_study(here), store)
    study = write_study(here, "  memory: memory=none,buffer\n  check: check=none,[retrieval_floor],[off_topic]", ", k=2")
    likely, most = outlook(study, store)
    assert (likely, most) == (one[0], 6 * one[1]), "nothing was said before any of the questions"
    done = swept(planned(study, store), store)
    assert done.spent.tokens == 100 * QUESTIONS
    again = outlook(write_study(here, "  memory: memory=buffer,summary_buffer", ", k=2"), store)
    assert again[0] == 0 < again[1], "the replies are there"


def test_pinned_documents_and_a_limit_of_contexts_are_estimated(here: Path, store: Store, script: Script) -> None:
    study = write_study(here)
    likely, most = outlook(study, store)
    window = "++generator.runtime.price={prompt: 1, completion: 1, window: %s}"
    assert outlook(study, store, window % 600) == (likely, most)
    assert outlook(study, store, window % 250, "context_tokens=50") == (likely - 350 * QUESTIONS, most - 350 * QUESTIONS)
    with pytest.raises(ConfigError, match=r"prompts of about 600 tokens, more than .* takes: 599"):
        outlook(study, store, window % 599)
    more = QUESTIONS * (len(TEXTS["rules.txt"]) // 4)
    assert outlook(study, store, "pinned=[rules.txt]") == (likely + more, most + more)


def test_a_model_that_reads_fields_is_expected_once_per_document_and_twice_at_most(
    here: Path, store: Store, script: Script
) -> None:
    alone, read = (outlook(write_study(here), store, "route=rules", f"enrich={name}") for name in ("rules", "model"))
    sizes = [len(text) for text in TEXTS.values()]
    prompt = 200 + round(sum(size * size for size in sizes) / sum(sizes)) // 4
    assert read[0] - alone[0] == len(sizes) * (prompt + 100)
    assert read[1] - alone[1] == 2 * len(sizes) * (prompt + 400)
