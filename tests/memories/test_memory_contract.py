"""The laws of memories, for every choice in conf/memory."""

import importlib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rag.records import Query, Turn
from rag.roles import Memory, changes_nothing

CONF = Path(__file__).parents[2] / "conf" / "memory"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
TURNS = st.builds(Turn, st.sampled_from(["user", "assistant"]), st.text(max_size=30))
QUERIES = st.builds(Query, st.just("q"), st.text(max_size=30), st.lists(TURNS, max_size=5).map(tuple))


@pytest.fixture(scope="module", params=CHOICES)
def memory(request: pytest.FixtureRequest) -> Memory:
    node = yaml.safe_load((CONF / f"{request.param}.yaml").read_text(encoding="utf-8"))
    module, _, name = node.pop("_target_").rpartition(".")
    built = getattr(importlib.import_module(module), name)(**node)
    assert isinstance(built, Memory)
    return built


@given(queries=st.lists(QUERIES, max_size=5))
def test_one_text_per_query_whatever_stands_beside_it(memory: Memory, queries: list[Query]) -> None:
    texts = memory.contextualize(queries)
    assert len(texts) == len(queries)
    assert all(isinstance(text, str) for text in texts)
    assert texts == [text for query in queries for text in memory.contextualize([query])]
    if changes_nothing(memory):
        assert texts == [query.text for query in queries]


def test_a_question_without_history_is_searched_for_as_it_is(memory: Memory) -> None:
    assert memory.contextualize([Query("q", "How much leave?")]) == ["How much leave?"]


def test_one_choice_changes_nothing() -> None:
    assert "none" in CHOICES
