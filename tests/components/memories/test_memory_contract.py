"""The laws of memories, for every choice in conf/memory, whatever the model behind it does."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.scripted_generator import Scripted, raising

from rag.core.errors import BudgetError, ServiceError
from rag.core.records import Query, Recalled, Reply, Request, Turn
from rag.core.roles import Memory, changes_nothing

CONF = Path(__file__).parents[3] / "conf" / "memory"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
NEEDS_MODEL = [choice for choice in CHOICES if "generator:" in (CONF / f"{choice}.yaml").read_text("utf-8")]
TURNS = st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text(max_size=60))
QUERIES = st.builds(Query, st.just("q"), st.text(max_size=30), st.lists(TURNS, max_size=14).map(tuple))

MODELS: dict[str, Callable[[Request], Reply]] = {
    "useful": lambda request: Reply("They spoke of leave.", (), 7, 3, 0.5),
    "empty": lambda request: Reply(" "),
    "endless": lambda request: Reply("word " * 3000),
    "refused": lambda request: Reply("", failure="too long"),
    "down": raising(ServiceError("http://here", "cannot be reached", "start it")),
    "broken": raising(RuntimeError("a bug")),
}


def made(node: Any, model: str) -> Any:
    """A component as its YAML says, with a scripted model where it asks for one."""
    if isinstance(node, dict) and "_target_" in node:
        module, _, name = node["_target_"].rpartition(".")
        if module.startswith("rag.components.generators"):
            return Scripted(MODELS[model])
        return getattr(importlib.import_module(module), name)(
            **{key: made(node[key], model) for key in node if key != "_target_"}
        )
    return node


def build(choice: str, model: str = "useful") -> Memory:
    built = made(yaml.safe_load((CONF / f"{choice}.yaml").read_text(encoding="utf-8")), model)
    assert isinstance(built, Memory)
    return built


COMBINATIONS = [(choice, model) for choice in NEEDS_MODEL for model in MODELS]
COMBINATIONS += [(choice, "useful") for choice in CHOICES if choice not in NEEDS_MODEL]


@pytest.fixture(scope="module", params=COMBINATIONS, ids="-".join)
def memory(request: pytest.FixtureRequest) -> Memory:
    return build(*request.param)


@settings(max_examples=20, deadline=None)
@given(queries=st.lists(QUERIES, max_size=4))
def test_what_is_recalled_depends_on_the_question_and_its_history_alone(memory: Memory, queries: list[Query]) -> None:
    found = memory.recall(queries)
    assert len(found) == len(queries)
    assert found == [recalled for query in queries for recalled in memory.recall([query])]
    assert found == memory.recall(queries)


@settings(max_examples=20, deadline=None)
@given(query=QUERIES)
def test_turns_are_the_last_ones_as_they_were_said(memory: Memory, query: Query) -> None:
    (recalled,) = memory.recall([query])
    assert recalled.turns == query.history[len(query.history) - len(recalled.turns) :]
    if changes_nothing(memory):
        assert recalled == Recalled()


def test_a_first_question_recalls_nothing(memory: Memory) -> None:
    assert memory.recall([Query("q", "How much leave?")]) == [Recalled()]


LONG = tuple(
    turn for n in range(12) for turn in (Turn("user", f"What does K-{n} mean?"), Turn("assistant", f"It means fault {n}."))
)


@pytest.mark.parametrize("model", ["empty", "refused", "down", "broken"])
@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_model_that_fails_is_replaced_by_rules_and_that_is_said(choice: str, model: str) -> None:
    (recalled,) = build(choice, model).recall([Query("q", "And the first?", LONG)])
    assert "K-0" in recalled.summary
    assert recalled.note.startswith("sentences were picked: ")


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_spent_budget_is_an_error(choice: str) -> None:
    MODELS["spent"] = raising(BudgetError("budget", "is spent", "raise it"))
    with pytest.raises(BudgetError):
        build(choice, "spent").recall([Query("q", "And the first?", LONG)])


def test_one_choice_changes_nothing() -> None:
    assert [choice for choice in CHOICES if changes_nothing(build(choice))] == ["none"]
