"""ragas' own metrics, with a scripted model."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from support.judge_texts import SayingAsRagasWants, WordEncoder

from rag.core.assessments import Case, Spent
from rag.core.errors import MissingExtraError, ServiceError
from rag.core.types import Reply, Request
from rag.plugins.ragas.judges.ragas import RagasJudge

CONTEXTS = ("The door is red. The cat sleeps.", "Trains are late.")


class Scripted(SayingAsRagasWants):
    """Replies with given texts first; an error is raised."""

    def __init__(self, *first: str | Exception | Reply) -> None:
        super().__init__()
        self.first = list(first)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        if not self.first:
            return super().generate(requests)
        self.seen += requests
        said = self.first.pop(0)
        if isinstance(said, Exception):
            raise said
        return [said if isinstance(said, Reply) else Reply(said, (), 5, 2, 0.25)]


def judge(generator: Any, **changes: Any) -> RagasJudge:
    texts = {"again": "No: {problem}", "unasked": "What?"}
    return RagasJudge(generator=generator, encoder=WordEncoder(), **{**texts, "concurrency": 1, **changes})


def test_faithfulness_is_that_of_ragas() -> None:
    generator = SayingAsRagasWants()
    case = Case("The door is red [1]. The cat runs [1].", CONTEXTS, "What colour?")
    ((verdict, spent),) = judge(generator).judge_spending([case])
    assert verdict.faithfulness == 0.5
    assert [(claim.start, claim.end) for claim in verdict.claims] == [(0, len(case.text))]
    assert spent == Spent(2 * 7, 0.5)
    asked = [request.messages[-1].content for request in generator.seen]
    assert '"answer": "The door is red. The cat runs."' in asked[0]
    assert '"question": "What colour?"' in asked[0]
    assert "Trains are late." in asked[1]


def test_what_says_nothing_is_not_asked_about() -> None:
    generator = SayingAsRagasWants()
    found = judge(generator).judge([Case("I do not know.", CONTEXTS), Case("The door is red.", ()), Case("Why?", CONTEXTS)])
    assert [verdict.abstained for verdict in found] == [True, False, False]
    assert [verdict.faithfulness for verdict in found][1] == 0
    assert math.isnan(found[2].faithfulness)
    assert generator.seen == []


def test_a_case_without_a_question_has_one_made_up() -> None:
    generator = SayingAsRagasWants()
    assert judge(generator).judge([Case("The door is red.", CONTEXTS)])[0].faithfulness == 1
    assert '"question": "What?"' in generator.seen[0].messages[-1].content


def test_relevance_is_the_cosine_with_questions_made_up() -> None:
    generator = SayingAsRagasWants()
    same, other, empty = judge(generator).relate([("red door", "red door"), ("red door", "late trains"), ("red door", " ")])
    assert same == pytest.approx(1)
    assert 0 <= other < 0.6
    assert empty == 0
    assert [request.sample for request in generator.seen] == [0, 1, 2] * 2
    assert judge(generator).passages_spending([("What?", "The door.")]) == [(0.5, Spent(2 * 7, 0.5))]


def test_what_cannot_be_read_is_asked_again_and_then_a_failure() -> None:
    generator = Scripted("I think so.", '{"statements": 3}')
    case = Case("The door is red.", CONTEXTS)
    (verdict,) = judge(generator).judge([case])
    assert (verdict.failures, math.isnan(verdict.faithfulness)) == (1, True)
    assert verdict.claims[0].failure.startswith("the reply cannot be read: 1 validation error")
    assert [message.content for message in generator.seen[1].messages[1:]] == ["I think so.", "No: it holds no JSON object"]
    assert judge(Scripted("I think so.")).judge([case])[0].faithfulness == 1


def test_what_is_refused_for_good_is_a_failure_and_an_error_ends_the_batch() -> None:
    case = Case("The door is red.", CONTEXTS)
    (verdict,) = judge(Scripted(Reply("", failure="too long"))).judge([case])
    assert verdict.claims[0].failure == "too long"
    error = ServiceError("generator", "wrong key", "another")
    with pytest.raises(ServiceError, match="wrong key"):
        judge(Scripted(error)).judge([case])
    with pytest.raises(ServiceError, match="wrong key"):
        judge(Scripted(error)).passages_spending([("What?", "The door.")])


def verdicts(*values: object) -> str:
    return json.dumps({"statements": [{"statement": "", "reason": "", "verdict": value} for value in values]})


CUT = json.dumps({"statements": ["One.", "Two.", "Three."]})


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (verdicts(1), "it speaks of 1 statements, not of 3"),
        (verdicts(), "it speaks of 0 statements, not of 3"),
        (verdicts(0, 2, 1), "verdict is 2, which is no whole number from 0 to 1"),
        (verdicts(0, math.nan, 1), "1 validation error"),
    ],
    ids=[
        "few",
        "none",
        "more",
        "nan",
    ],
)
def test_verdicts_that_do_not_fit_the_statements_are_asked_for_again_and_then_a_failure(reply: str, wrong: str) -> None:
    case = Case("The door is red.", CONTEXTS)
    (verdict,) = judge(Scripted(CUT, reply, reply)).judge([case])
    assert verdict.claims[0].failure.startswith(f"the reply cannot be read: {wrong}")
    right = f"```json\n{verdicts(1, 0, True)}\n```"
    assert judge(Scripted(CUT, reply, right)).judge([case])[0].faithfulness == pytest.approx(2 / 3)


@pytest.mark.parametrize("first", ['{"rating": 7}', "I cannot help with that.", '{"rating": null}'])
def test_a_context_is_related_by_both_of_the_ratings_or_by_none(first: str) -> None:
    pairs = [("What?", "The door.")]
    ((lost, spent),) = judge(Scripted(first, first)).passages_spending(pairs)
    assert (math.isnan(lost), spent) == (True, Spent(3 * 7, 0.75))
    assert judge(Scripted(first)).passages_spending(pairs)[0][0] == 0.5


def test_a_question_that_was_not_made_up_makes_no_relevance() -> None:
    empty = json.dumps({"question": " ", "noncommittal": 0})
    assert math.isnan(judge(Scripted(*[empty] * 6)).relate([("red door", "red door")])[0])
    assert judge(Scripted(empty)).relate([("red door", "red door")]) == [pytest.approx(1)]


def test_empty_statements_are_no_value() -> None:
    (verdict,) = judge(Scripted(json.dumps({"statements": []}))).judge([Case("The door is red.", CONTEXTS)])
    assert verdict.claims[0].failure == "ragas gave no value"


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = judge(SayingAsRagasWants())
    needed = r"judge: needs the package .ragas.*\n.*pip install 'assay-rag.ragas.'"
    monkeypatch.setitem(sys.modules, "ragas.metrics.collections", None)  # as in versions of another make
    with pytest.raises(MissingExtraError, match=needed):
        asked.judge([Case("The door is red.", CONTEXTS)])
    monkeypatch.setitem(sys.modules, "ragas", None)
    with pytest.raises(MissingExtraError, match=needed):
        judge(SayingAsRagasWants())
