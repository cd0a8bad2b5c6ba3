"""ragas' own metrics as a judge, and its context precision and recall, with a scripted model."""

import asyncio
import json
import math
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from support.judge_texts import SayingAsRagasWants, WordEncoder

from rag.core.assessments import Case, Spent
from rag.core.errors import MissingExtraError, ServiceError
from rag.core.types import Answer, Chunk, Example, Hit, Query, Reply, Request, Span
from rag.plugins.ragas.judges.ragas import RagasJudge
from rag.plugins.ragas.metrics.ragas_context import RagasContext

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
    assert verdict.claims[0].failure.startswith("the reply has another form: 1 validation error")
    assert [message.content for message in generator.seen[1].messages[1:]] == ["I think so.", "No: holds no JSON object"]
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
        (verdicts(1), "the reply speaks of 1 statements, not of 3"),
        (verdicts(), "the reply speaks of 0 statements, not of 3"),
        (verdicts(0, 2, 1), "the reply gives the verdict 2, which is no whole number from 0 to 1"),
        (verdicts(0, -1, 1), "the reply gives the verdict -1, which is no whole number from 0 to 1"),
        (verdicts(0, math.nan, 1), "the reply holds NaN"),
    ],
)
def test_verdicts_that_do_not_fit_the_statements_are_asked_for_again_and_then_a_failure(reply: str, wrong: str) -> None:
    case = Case("The door is red.", CONTEXTS)
    (verdict,) = judge(Scripted(CUT, reply, reply)).judge([case])
    assert verdict.claims[0].failure.startswith(wrong)
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
    monkeypatch.setattr("rag.core.errors._FOUND", set())
    with pytest.raises(MissingExtraError, match=needed):
        judge(SayingAsRagasWants())


BOTH = ["precision", "recall"]


def read_answer(*contexts: str, question: str = "What colour?") -> Answer:
    hits = tuple(Hit(Chunk(Span("d", 0, len(text)), text), 1.0) for text in contexts)
    return Answer(Query("q", question), hits, Reply("…"))


def asking(*answers: str) -> Example:
    return Example(Query("q", "What colour?"), answers=answers)


def test_values_by_hand() -> None:
    read = read_answer("Trains are late.", "The door is red. Cats sleep.")
    precision, recall = RagasContext("precision", SayingAsRagasWants(), ""), RagasContext("recall", SayingAsRagasWants(), "")
    assert precision.measure(asking("The door is red."), read) == pytest.approx(1 / 2)
    assert recall.measure(asking("The door is red. Cats run."), read) == 1 / 2
    assert precision.measure(asking("Cats run."), read) == 0


def test_answers_by_hand() -> None:
    """Of three statements one is in the reference; of the wrong ones one is in the context that the reference is in."""
    text = "The door is red. Cats sleep. Trains are late."
    read = replace(read_answer("The door is red. Cats sleep.", "Trains are late. Birds sing."), reply=Reply(f"{text} [1]"))
    correct, noise = (RagasContext(which, SayingAsRagasWants(), "") for which in ("factual_correctness", "noise_sensitivity"))
    assert correct.measure(asking("The door is red. Dogs bark."), read) == 0.4  # 1 right of 3, 1 of 2 found
    assert noise.measure(asking("The door is red."), read) == pytest.approx(1 / 3)
    declined = replace(read, abstained=True)
    assert correct.measure(asking("Red."), declined) == 0
    assert math.isnan(noise.measure(asking("Red."), declined))
    assert not correct.applies(asking("Red."), declined)


def test_verdicts_on_other_statements_are_no_value() -> None:
    """The statements of the answer are three, those of the reference one: each reply is compared with its own request."""
    first = json.dumps({"claims": ["One.", "Two.", "Three."]})
    told = RagasContext("factual_correctness", Scripted(first, verdicts(1), verdicts(1)), "")
    read = replace(read_answer("A cat."), reply=Reply("One."))
    assert math.isnan(told.measure(asking("One."), read))


@pytest.mark.parametrize("which", BOTH)
def test_without_a_reference_a_question_or_contexts_there_is_no_value(which: Any) -> None:
    generator = SayingAsRagasWants()
    told = RagasContext(which, generator, "")
    assert math.isnan(told.measure(asking(), read_answer("A cat.")))
    assert math.isnan(told.measure(asking("Red."), read_answer()))
    assert math.isnan(told.measure(asking("Red."), read_answer("A cat.", question=" ")))
    assert generator.seen == []


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("precision", {"reason": "", "verdict": 2}),
        ("recall", {"classifications": [{"statement": "", "reason": "", "attributed": 5}]}),
        ("recall", {"classifications": [{"statement": "", "reason": "", "attributed": -1}]}),
        ("recall", {"classifications": []}),
    ],
)
def test_what_is_neither_yes_nor_no_is_no_value_though_it_applies(which: Any, said: object) -> None:
    metric, example, read = RagasContext(which, Scripted(*[json.dumps(said)] * 9), ""), asking("Red."), read_answer("A cat.")
    assert metric.applies(example, read)
    assert math.isnan(metric.measure(example, read))
    assert not metric.applies(asking(" "), read)
    assert not metric.applies(example, read_answer())


def test_it_measures_where_a_loop_is_running() -> None:
    async def notebook() -> float:
        metric = RagasContext("precision", SayingAsRagasWants(), "")
        return metric.measure(asking("The door is red."), read_answer("The door is red."))

    with ThreadPoolExecutor(1) as apart:  # a browser that was opened here before leaves a loop of its own running
        assert apart.submit(lambda: asyncio.run(notebook())).result() == pytest.approx(1)
