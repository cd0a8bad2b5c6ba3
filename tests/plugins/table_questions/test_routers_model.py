"""A model's reply becomes a route only if it fits the records; it is asked once more, then rules decide."""

import json
import re
from collections.abc import Callable

import pytest
from plugins.table_questions.test_routers_rules import VANS, built, records
from support.choices import content
from support.scripted_generator import Scripted, raising

from rag.core.records.queries import Condition, RecordQuery, Routed
from rag.core.types import Query, Reply, Request
from rag.plugins.table_questions.routers.model import ModelRouter
from rag.plugins.table_questions.routers.rules import RulesRouter

COUNT = {"intent": "count", "table": "d0 The fleet", "where": [{"field": "Base", "operator": "=", "value": "Southmoor"}]}
GOOD = json.dumps({"route": "records", "query": COUNT})
QUERY = RecordQuery("count", "d0 The fleet", where=(Condition("Base", "=", "Southmoor"),))


def routed(reply: Callable[[Request], Reply], text: str = "Count what Southmoor has") -> tuple[Routed, list[Request]]:
    values = content("route/model")
    generator = Scripted(reply)
    rules = built("route", "rules", RulesRouter, language="english")
    prompts = {name: values[name] for name in ("instruction", "prompt", "again", "tables", "values")}
    router = ModelRouter(generator, rules, **prompts)
    (found,) = router.route([Query("q", text)], records(VANS))
    return found, generator.requests


def replies(*texts: str) -> Callable[[Request], Reply]:
    left = list(texts)
    return lambda request: Reply(left.pop(0), prompt_tokens=5, completion_tokens=2)


def test_a_query_that_fits_is_taken() -> None:
    found, requests = routed(replies(f"```json\n{GOOD}\n```"))
    assert found == Routed("records", QUERY, "by the model", 7)
    assert 'table "d0 The fleet"' in requests[0].messages[-1].content
    assert "Payload (number kg): 980 kg" in requests[0].messages[-1].content


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("{", "not valid JSON"),
        ('{"route": "sql", "query": "DROP TABLE t0"}', "route 'sql'"),
        ('{"route": "records", "query": "SELECT 1"}', "no JSON object"),
        ('{"route": "records", "tool": "shell"}', "'tool'"),
        (GOOD.replace("Base", "Colour"), "no field 'Colour'"),
        (GOOD.replace("d0 The fleet", "d0 The feet"), "did you mean 'd0 The fleet'"),
        (GOOD.replace('"="', '"like"'), "where.0.operator"),
        (json.dumps({"route": "records", "query": {**COUNT, "limit": 3}}), "'limit'"),
    ],
)
def test_another_reply_is_told_its_error_and_asked_for_once_more(reply: str, said: str) -> None:
    found, requests = routed(replies(reply, GOOD))
    assert (found.query, found.tokens) == (QUERY, 14)
    assert len(requests) == 2
    assert re.search(said, requests[1].messages[-1].content)


@pytest.mark.parametrize(("text", "expected"), [("How many vans have the base Southmoor?", "records"), ("Why?", "semantic")])
def test_after_two_useless_replies_the_rules_decide(text: str, expected: str) -> None:
    found, requests = routed(lambda _: Reply("I would rather tell a story.", prompt_tokens=3), text)
    assert (found.mechanism, found.tokens, len(requests)) == (expected, 6, 2)
    assert found.why.startswith("by rules")


def test_a_server_that_fails_is_not_asked_again() -> None:
    found, requests = routed(raising(TimeoutError("too slow")))
    assert (found.mechanism, len(requests)) == ("semantic", 1)
    assert "too slow" in found.why
