"""The laws of rewriters, for every choice in conf/queries, whatever the model behind it does."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.scripted_generator import Scripted, raising

from rag.core.errors import BudgetError, ConfigError, RefusalError, ServiceError
from rag.core.records import Query, Reply, Request, Turn
from rag.core.roles import Rewriter, changes_nothing

CONF = Path(__file__).parents[3] / "conf" / "queries"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
TURNS = st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text(max_size=40))
QUERIES = st.builds(
    Query, st.just("q"), st.text(min_size=1, max_size=40), st.lists(TURNS, max_size=5).map(tuple), st.text(max_size=20)
)

MODELS: dict[str, Callable[[Request], Reply]] = {
    "echo": lambda request: Reply(request.query.text, (), 3, 2, 0.5),
    "useful": lambda request: Reply("When was the bridge built?\nWho built it?", (), 3, 2, 0.5),
    "empty": lambda request: Reply(""),
    "blank": lambda request: Reply(" \n\t "),
    "short": lambda request: Reply("ab"),
    "junk": lambda request: Reply("```json\n{}\n```\n\x00 {question} {history}"),
    "endless": lambda request: Reply("word " * 5000),
    "refused": lambda request: Reply("", failure="the prompt is too long"),
    "down": raising(ServiceError("http://here", "cannot be reached", "start it")),
    "broken": raising(RuntimeError("a bug")),
}


def build(choice: str, model: str = "useful") -> Rewriter:
    node = yaml.safe_load((CONF / f"{choice}.yaml").read_text(encoding="utf-8"))
    module, _, name = node.pop("_target_").rpartition(".")
    if "generator" in node:
        node["generator"] = Scripted(MODELS[model])
    built = getattr(importlib.import_module(module), name)(**node)
    assert isinstance(built, Rewriter)
    return built


NEEDS_MODEL = [choice for choice in CHOICES if "generator:" in (CONF / f"{choice}.yaml").read_text("utf-8")]


@pytest.fixture(
    scope="module",
    params=[(choice, model) for choice in NEEDS_MODEL for model in MODELS]
    + [(choice, "useful") for choice in CHOICES if choice not in NEEDS_MODEL],
    ids="-".join,
)
def rewriter(request: pytest.FixtureRequest) -> Rewriter:
    return build(*request.param)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(queries=st.lists(QUERIES, max_size=3))
def test_every_question_is_searched_for_whatever_the_model_does(rewriter: Rewriter, queries: list[Query]) -> None:
    found = rewriter.rewrite(queries)
    assert len(found) == len(queries)
    for query, sought in zip(queries, found, strict=True):
        assert sought.texts
        assert sought.question
        assert len(set(sought.texts)) == len(sought.texts)
        assert all(isinstance(text, str) and text for text in sought.texts)
        if changes_nothing(rewriter):
            assert (sought.question, sought.texts) == (query.text, (query.text,))


@settings(max_examples=20, deadline=None)
@given(queries=st.lists(QUERIES, max_size=4))
@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_searched_for_depends_on_no_other_question(choice: str, queries: list[Query]) -> None:
    rewriter = build(choice)
    assert rewriter.rewrite(queries) == [found for query in queries for found in rewriter.rewrite([query])]
    assert rewriter.rewrite(queries) == rewriter.rewrite(queries)


@pytest.mark.parametrize("model", ["echo", "useful"])
@pytest.mark.parametrize("choice", CHOICES)
def test_a_first_question_keeps_its_words(choice: str, model: str) -> None:
    (found,) = build(choice, model).rewrite([Query("q", "How much leave is there?")])
    assert found.question == "How much leave is there?"
    assert "How much leave is there?" in found.texts


@pytest.mark.parametrize("model", ["empty", "blank", "short", "refused", "down", "broken"])
@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_model_that_is_of_no_use_leaves_the_question_as_typed_and_that_is_said(choice: str, model: str) -> None:
    query = Query("q", "And after ten years?", (Turn("user", "How much leave is there?"), Turn("assistant", "26 days.")))
    (found,) = build(choice, model).rewrite([query])
    assert (found.question, found.texts) == (query.text, (query.text,))
    assert found.note.startswith("searched for as typed: ")


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_what_a_model_took_is_kept(choice: str) -> None:
    query = Query("q", "And after ten years?", (Turn("user", "How much leave is there?"),))
    (found,) = build(choice).rewrite([query])
    assert (found.note, found.tokens, found.cost) == ("", 5, 0.5)


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_one_refused_question_does_not_cost_the_others_their_search(choice: str) -> None:
    def reply(request: Request) -> Reply:
        if "ten" in request.query.text:
            raise ServiceError("http://here", "answered 400", "ask less")
        return MODELS["useful"](request)

    node_built = build(choice)
    node_built.generator.reply = reply  # type: ignore[attr-defined]
    history = (Turn("user", "How much leave is there?"),)
    queries = [Query(text, text, history) for text in ("And after five?", "And after ten?", "And after six?")]
    notes = [found.note for found in node_built.rewrite(queries)]
    assert notes == ["", "searched for as typed: answered 400", ""]


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_server_that_is_down_gives_no_result_and_is_not_asked_for_every_question(choice: str) -> None:
    rewriter = build(choice, "down")
    history = (Turn("user", "How much leave is there?"),)
    with pytest.raises(ServiceError, match="cannot be reached"):
        rewriter.rewrite([Query(str(number), "And then?", history) for number in range(50)])
    assert len(rewriter.generator.requests) == 50 + 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_where_every_question_is_refused_there_is_no_result(choice: str) -> None:
    history = (Turn("user", "How much leave is there?"),)
    queries = [Query(str(number), "And then?", history) for number in range(4)]
    with pytest.raises(RefusalError, match="the prompt is too long"):
        build(choice, "refused").rewrite(queries)
    assert all(sought.note for sought in build(choice, "refused").rewrite(queries[:3]))


@pytest.mark.parametrize("choice", NEEDS_MODEL)
@pytest.mark.parametrize("failing", [range(5, 20), range(18, 20)], ids=["down", "chance"])
def test_a_server_that_goes_down_leaves_no_result_and_chance_leaves_questions_as_typed(choice: str, failing: range) -> None:
    def reply(request: Request) -> Reply:
        if int(request.query.query_id) in failing:
            raise ServiceError("http://here", "cannot be reached", "start it")
        return MODELS["useful"](request)

    rewriter = build(choice)
    rewriter.generator.reply = reply  # type: ignore[attr-defined]
    history = (Turn("user", "How much leave is there?"),)
    queries = [Query(str(number), "And then?", history) for number in range(20)]
    if len(failing) > 2:
        with pytest.raises(ServiceError, match="cannot be reached"):
            rewriter.rewrite(queries)
    else:
        assert [bool(sought.note) for sought in rewriter.rewrite(queries)] == [False] * 18 + [True] * 2


@pytest.mark.parametrize("error", [ConfigError("x", "y", "z"), BudgetError("budget", "is spent", "raise it")])
@pytest.mark.parametrize("choice", NEEDS_MODEL)
def test_a_config_that_cannot_work_and_a_spent_budget_are_errors(choice: str, error: Exception) -> None:
    rewriter = build(choice)
    rewriter.generator.reply = raising(error)  # type: ignore[attr-defined]
    with pytest.raises(type(error)):
        rewriter.rewrite([Query("q", "And then?", (Turn("user", "What?"),))])


def test_one_choice_changes_nothing() -> None:
    assert [choice for choice in CHOICES if changes_nothing(build(choice))] == ["last_turn", "none"]
