"""The laws of memories, for every choice in conf/memory and many replies of its model."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.choices import asks_model, built, choices, node
from support.scripted_generator import Scripted, raising

from rag.components.memories.buffer import BufferMemory
from rag.core.errors import BudgetError, ServiceError
from rag.core.roles import Memory, changes_nothing
from rag.core.types import Query, Recalled, Reply, Request, Turn
from rag.testing import check_memory

CHOICES = choices("memory")
NEEDS_MODEL = [choice for choice in CHOICES if asks_model("memory", choice)]
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
COMBINATIONS = [(choice, model) for choice in NEEDS_MODEL for model in MODELS]
COMBINATIONS += [(choice, "useful") for choice in CHOICES if choice not in NEEDS_MODEL]
LONG = tuple(
    turn for n in range(12) for turn in (Turn("user", f"What does K-{n} mean?"), Turn("assistant", f"It means fault {n}."))
)


def build(choice: str, reply: Callable[[Request], Reply] = MODELS["useful"]) -> Memory:
    memory: Memory = built(node("memory", choice), Scripted(reply))
    return memory


@pytest.mark.parametrize(("choice", "model"), COMBINATIONS)
@settings(max_examples=10, deadline=None)
@given(queries=st.lists(QUERIES, max_size=3))
def test_laws(choice: str, model: str, queries: list[Query]) -> None:
    check_memory(build(choice, MODELS[model]), queries)


@pytest.mark.parametrize("model", ["empty", "refused", "down", "broken"])
@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_model_that_fails_is_replaced_by_picked_sentences_with_a_note(choice: str, model: str) -> None:
    (recalled,) = build(choice, MODELS[model]).recall([Query("q", "And the first?", LONG)])
    assert "K-0" in recalled.summary
    assert recalled.note.startswith("sentences were picked: ")


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_spent_budget_is_an_error(choice: str) -> None:
    with pytest.raises(BudgetError):
        build(choice, raising(BudgetError("budget", "is spent", "raise it"))).recall([Query("q", "And the first?", LONG)])


def test_one_choice_changes_nothing() -> None:
    assert [choice for choice in CHOICES if changes_nothing(build(choice))] == ["none"]


def test_a_buffer_recalls_the_last_messages() -> None:
    query = Query("q", "And then?", LONG[:2])
    assert BufferMemory(1).recall([query]) == [Recalled(LONG[1:2])]
    assert BufferMemory(5).recall([query]) == BufferMemory(None).recall([query]) == [Recalled(LONG[:2])]
