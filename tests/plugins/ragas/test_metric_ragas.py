"""ragas' context precision and recall, with a scripted model."""

import asyncio
import json
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.judge_texts import SayingAsRagasWants

from rag.core.types import Answer, Chunk, Example, Hit, Query, Reply, Request, Span
from rag.plugins.ragas.metrics.ragas_context import RagasContext

BOTH = ["precision", "recall"]


def answer(*contexts: str, question: str = "What colour?") -> Answer:
    hits = tuple(Hit(Chunk(Span("d", 0, len(text)), text), 1.0) for text in contexts)
    return Answer(Query("q", question), hits, Reply("…"))


def asking(*answers: str) -> Example:
    return Example(Query("q", "What colour?"), answers=answers)


def test_values_by_hand() -> None:
    read = answer("Trains are late.", "The door is red. Cats sleep.")
    precision, recall = RagasContext("precision", SayingAsRagasWants(), ""), RagasContext("recall", SayingAsRagasWants(), "")
    assert precision.measure(asking("The door is red."), read) == pytest.approx(1 / 2)
    assert recall.measure(asking("The door is red. Cats run."), read) == 1 / 2
    assert precision.measure(asking("Cats run."), read) == 0


@pytest.mark.parametrize("which", BOTH)
def test_without_a_reference_a_question_or_contexts_there_is_no_value(which: Any) -> None:
    generator = SayingAsRagasWants()
    told = RagasContext(which, generator, "")
    assert math.isnan(told.measure(asking(), answer("A cat.")))
    assert math.isnan(told.measure(asking("Red."), answer()))
    assert math.isnan(told.measure(asking("Red."), answer("A cat.", question=" ")))
    assert generator.seen == []


class Saying(SayingAsRagasWants):
    """Says the same to every request."""

    def __init__(self, said: object) -> None:
        super().__init__()
        self.said = json.dumps(said)

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply(self.said) for _ in requests]


@pytest.mark.parametrize(
    ("which", "said"),
    [
        ("precision", {"reason": "", "verdict": 2}),
        ("recall", {"classifications": [{"statement": "", "reason": "", "attributed": 5}]}),
        ("recall", {"classifications": []}),
    ],
)
def test_what_is_neither_yes_nor_no_is_no_value_though_it_applies(which: Any, said: object) -> None:
    metric, example, read = RagasContext(which, Saying(said), ""), asking("Red."), answer("A cat.")
    assert metric.applies(example, read)
    assert math.isnan(metric.measure(example, read))
    assert not metric.applies(asking(" "), read)
    assert not metric.applies(example, answer())


def test_it_measures_where_a_loop_is_running() -> None:
    async def notebook() -> float:
        metric = RagasContext("precision", SayingAsRagasWants(), "")
        return metric.measure(asking("The door is red."), answer("The door is red."))

    with ThreadPoolExecutor(1) as apart:  # a browser that was opened here before leaves a loop of its own running
        assert apart.submit(lambda: asyncio.run(notebook())).result() == pytest.approx(1)
