"""The laws of rewriters, for every choice in conf/queries and many replies of its model."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.choices import asks_model, built, choices, node
from support.scripted_generator import Scripted, raising

from rag.core.errors import BudgetError, ConfigError, ServiceError
from rag.core.roles import Rewriter, changes_nothing
from rag.core.types import Query, Reply, Request, Turn
from rag.testing import check_queries

CHOICES = choices("queries")
NEEDS_MODEL = [choice for choice in CHOICES if asks_model("queries", choice)]
HISTORY = (Turn("user", "How much leave is there?"), Turn("assistant", "26 days."))
TURNS = st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text(max_size=40))
QUERIES = st.builds(
    Query, st.just("q"), st.text(min_size=1, max_size=40), st.lists(TURNS, max_size=5).map(tuple), st.text(max_size=20)
)
DOWN = raising(ServiceError("http://here", "cannot be reached", "start it"))

MODELS: dict[str, Callable[[Request], Reply]] = {
    "echo": lambda request: Reply(request.query.text, (), 3, 2, 0.5),
    "useful": lambda request: Reply("When was the bridge built?\nWho built it?", (), 3, 2, 0.5),
    "empty": lambda request: Reply(""),
    "blank": lambda request: Reply(" \n\t "),
    "short": lambda request: Reply("ab"),
    "junk": lambda request: Reply("```json\n{}\n```\n\x00 {question} {history}"),
    "endless": lambda request: Reply("word " * 5000),
    "refused": lambda request: Reply("", failure="the prompt is too long"),
    "down": DOWN,
    "broken": raising(RuntimeError("a bug")),
}
COMBINATIONS = [(choice, model) for choice in NEEDS_MODEL for model in MODELS]
COMBINATIONS += [(choice, "useful") for choice in CHOICES if choice not in NEEDS_MODEL]


def build(choice: str, reply: Callable[[Request], Reply] = MODELS["useful"]) -> Rewriter:
    rewriter: Rewriter = built(node("queries", choice), Scripted(reply))
    return rewriter


def asked(*texts: str) -> list[Query]:
    return [Query(str(number), text, HISTORY) for number, text in enumerate(texts)]


@pytest.mark.parametrize(("choice", "model"), COMBINATIONS)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(queries=st.lists(QUERIES, max_size=3))
def test_laws(choice: str, model: str, queries: list[Query]) -> None:
    check_queries(build(choice, MODELS[model]), queries)


@pytest.mark.parametrize("model", ["empty", "blank", "short", "refused", "down", "broken"])
@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_useless_reply_leaves_the_question_as_typed_with_a_note(choice: str, model: str) -> None:
    (query,) = asked("And after ten years?")
    (sought,) = build(choice, MODELS[model]).rewrite([query])
    assert (sought.question, sought.texts) == (query.text, (query.text,))
    assert sought.note.startswith("searched for as typed: ")


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_tokens_and_cost_are_recorded(choice: str) -> None:
    (sought,) = build(choice).rewrite(asked("And after ten years?"))
    assert (sought.note, sought.tokens, sought.cost) == ("", 5, 0.5)


def failing_on(words: set[str]) -> Callable[[Request], Reply]:
    return lambda request: DOWN(request) if request.query.text in words else MODELS["useful"](request)


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_few_failures_leave_the_other_questions_their_rewrite(choice: str) -> None:
    few = build(choice, failing_on({"And after ten?"})).rewrite(asked("And after five?", "And after ten?", "And after six?"))
    assert [sought.note for sought in few] == ["", "searched for as typed: cannot be reached", ""]
    many = asked(*map(str, range(20)))
    notes = [bool(sought.note) for sought in build(choice, failing_on({"18", "19"})).rewrite(many)]
    assert notes == [False] * 18 + [True] * 2


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_server_that_fails_gives_no_result(choice: str) -> None:
    generator = Scripted(DOWN)
    with pytest.raises(ServiceError, match="cannot be reached"):
        built(node("queries", choice), generator).rewrite(asked(*map(str, range(50))))
    assert len(generator.requests) == 50 + 3, "not every question is tried alone"


@pytest.mark.parametrize("error", [ConfigError("x", "y", "z"), BudgetError("budget", "is spent", "raise it")])
@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_wrong_config_and_a_spent_budget_are_errors(choice: str, error: Exception) -> None:
    with pytest.raises(type(error)):
        build(choice, raising(error)).rewrite(asked("And then?"))


def test_two_choices_change_nothing() -> None:
    assert [choice for choice in CHOICES if changes_nothing(build(choice))] == ["last_turn", "none"]
