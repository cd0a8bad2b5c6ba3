"""Failures of a chat model: place, problem and remedy on standard error, an exit code, no traceback."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandResult, Verb
from support.costly_sweep import KEY, ask_of, write_study
from support.scripted_server import Script, answer, empty, say, serving, too_long, unknown_model, wrong_key

from rag.cli.options import BAD_INPUT, FAILED, SPENT

ONE = ", generator.runtime.retries=0, generator.runtime.concurrency=1, generator.max_tokens=10"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[Script]:
    with serving(answer(lambda question: "It leaves at seven [1].")) as server:
        ask_of(server, monkeypatch)
        yield server


def sweep(rag: Verb, here: Path, *overrides: str, fixed: str = ONE) -> CommandResult:
    said = rag("sweep", str(write_study(here, fixed=fixed)), "--no-track", *overrides)
    assert "Traceback" not in said.out + said.err
    assert KEY not in said.out + said.err
    return said


def ask(rag: Verb, here: Path, *overrides: str) -> CommandResult:
    documents = here / "golden" / "documents"
    chosen = ("index=[bm25s]", "fusion=single", "generator=openai", "generator.runtime.retries=0", f"loader.path={documents}")
    said = rag("ask", "When does the ferry leave?", *chosen, *overrides)
    assert "Traceback" not in said.out + said.err
    assert KEY not in said.out + said.err
    return said


def both(rag: Verb, here: Path, *words: str) -> None:
    """A sweep fails with these words, and so does a single question."""
    swept = sweep(rag, here)
    assert swept.code == FAILED
    asked = ask(rag, here)
    assert asked.code == BAD_INPUT
    for said in (swept.err, asked.err):
        flat = " ".join(said.split())
        for word in words:
            assert word in flat, said


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (wrong_key(), ["(tiny)", "answered 401: Incorrect API key provided: ***", "→ put a valid key into"]),
        (
            unknown_model(),
            ["(tiny)", "answered 404: The model 'tiny' does not exist", "→ check generator.model (or its variable"],
        ),
        (too_long(), ["maximum context length is 8192 tokens", "→ lower k or context_tokens, choose smaller chunks"]),
        (empty("length"), ["spent all of its tokens and wrote no answer", "→ raise generator.max_tokens"]),
    ],
)
def test_replies_that_fail_every_question(rag: Verb, here: Path, script: Script, reply: Any, words: list[str]) -> None:
    script.steps = [reply]
    both(rag, here, *words)


@pytest.mark.parametrize(("trouble", "what"), [(too_long(), "context_tokens"), (empty(), "gave an empty answer")])
def test_one_question_that_is_refused_does_not_lose_the_others(
    rag: Verb, here: Path, script: Script, trouble: Any, what: str
) -> None:
    script.steps = [say("It leaves at seven [1]."), trouble, say("It leaves at seven [1].")]
    said = sweep(rag, here)
    assert said.code == 0
    assert "1 question was not answered and scores 0" in said.err
    assert what in said.err
    assert "1 trial," in said.out
    (row,) = rag("sweep", str(here / "study.yaml"), "--no-track", "--json").json["trials"]
    assert row["status"] == "done"


def test_a_budget_that_is_spent_during_a_sweep(rag: Verb, here: Path, script: Script) -> None:
    said = sweep(rag, here, "budget.tokens=250")
    assert said.code == SPENT
    assert "budget.tokens: is spent" in said.out
    assert "→ raise it, or run again" in said.out
    assert "not run: budget spent" in said.out
    again = sweep(rag, here)
    assert again.code == 0
    assert len(script.asked) == 6
