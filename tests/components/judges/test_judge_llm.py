"""A chat model as a judge, on scripted replies."""

import json
import math
from typing import Any

import pytest
from support.scripted_generator import Scripted, in_turn, raising

from rag.components.judges.llm import ClaimReply, LlmJudge, majority, place, verdicts
from rag.core.assessments import Case, QuotedPassage
from rag.core.errors import ServiceError

CASE = Case("The door is red. It has {claims}.", ("A cat.", "See: the  Door\nis red."), "What colour?")
YES = {"claim": 1, "supported": True, "context": 2, "quote": "the door is red"}
NO = {"claim": 2, "supported": False, "context": 0, "quote": ""}


def script_of(*replies: str) -> Scripted:
    return Scripted(in_turn(*replies, tokens=(3, 4), cost=0.5))


def rows(*verdicts: dict[str, Any]) -> str:
    return json.dumps({"verdicts": verdicts})


def judge(script: Scripted, **changes: Any) -> LlmJudge:
    prompts = {"prompt": "{question}|{contexts}|{claims}", "relevance": "{question}|{text}"}
    return LlmJudge(generator=script, instruction="Check.", again="No: {problem}", **{**prompts, **changes})


def test_claims_are_numbered_and_filled_in_literally() -> None:
    script = script_of(rows(YES, NO))
    (verdict,) = judge(script).judge([CASE])
    system, user = script.requests[0].messages
    assert system.content == "Check."
    assert user.content == "What colour?|[1] A cat.\n\n[2] See: the  Door\nis red.|[1] The door is red.\n\n[2] It has {claims}."
    assert [claim.support for claim in verdict.claims] == [1.0, 0.0]
    assert verdict.claims[0].evidence == (QuotedPassage(2, 5, 21),)
    assert verdict.faithfulness == 0.5


def test_errors_are_sent_back_and_all_replies_are_paid_for() -> None:
    script = script_of("I think so.", rows(YES, NO))
    ((verdict, spent),) = judge(script).judge_spending([CASE])
    assert [message.content for message in script.requests[1].messages[2:]] == ["I think so.", "No: holds no JSON object"]
    assert script.requests[1].messages[:2] == script.requests[0].messages
    assert (verdict.failures, spent.tokens, spent.cost) == (0, 2 * (3 + 4), 1.0)
    (verdict,) = judge(script_of("I think so.", rows(YES))).judge([CASE])
    assert (verdict.failures, verdict.claims[0].failure) == (2, "the reply speaks of 1 of 2 claims")


def test_a_server_that_fails_ends_the_batch() -> None:
    down = Scripted(raising(ServiceError("http://here", "cannot be reached", "start it")))
    with pytest.raises(ServiceError, match="cannot be reached"):
        judge(down).judge([CASE])


def test_relevance_is_the_mean_grade() -> None:
    script = script_of('{"relevance": 3}', '{"relevance": 1}', "none", '{"relevance": 4}', '{"relevance": 0}')
    assert judge(script, votes=2, attempts=1).relate([("{text}?", "A {question}.")]) == [pytest.approx(2 / 3)]
    assert script.requests[0].messages[1].content == "{text}?|A {question}."
    (value,) = judge(script).relate([("a", "b")])
    assert math.isnan(value)
    assert judge(script).relate([("a", "b")]) == [0.0]


def test_an_abstention_is_not_asked_about() -> None:
    script = script_of()
    (verdict,) = judge(script).judge([Case("I do not know.", ("A cat.",))])
    assert verdict.abstained
    assert script.requests == []


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("{}", "no list of verdicts"),
        ('{"verdicts": [1]}', "no list of verdicts"),
        (rows(YES, YES), "speaks of claim 1"),
        (rows({**YES, "claim": 3}, NO), "speaks of claim 3"),
        (rows({**YES, "claim": True}, NO), "speaks of claim True"),
        (rows({**YES, "supported": "yes"}, NO), "neither true nor false"),
    ],
)
def test_every_claim_has_one_verdict(reply: str, wrong: str) -> None:
    assert verdicts(rows(NO, YES), 2) == [ClaimReply(True, 2, "the door is red"), ClaimReply(False)]
    with pytest.raises(ValueError, match=wrong):
        verdicts(reply, 2)


def test_even_votes_point_at_no() -> None:
    assert majority([ClaimReply(True, 1), ClaimReply(False, 2)]) == (0.5, ClaimReply(False, 2))
    assert place("", "a") is None
    assert place("b (c", "a b\n(C d") == (2, 6)
