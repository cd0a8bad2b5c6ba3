"""The laws of rewriters, memories, prompts, generators, checks, guards, judges and metrics."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from rag.core.assessments import Assessment, Case
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.records import (
    Answer,
    Chunk,
    Document,
    Evidence,
    Example,
    Finding,
    Hit,
    Material,
    Message,
    Query,
    Recalled,
    Reply,
    Request,
    Span,
    Turn,
)
from rag.core.roles import (
    AnswerMetric,
    AssessedMetric,
    Framing,
    Generator,
    Inspection,
    Judge,
    Memory,
    Prompt,
    RankingMetric,
    Rewriter,
    Screen,
    changes_nothing,
)
from rag.evaluation.scoring import Judged, gold_table, judge
from rag.testing.laws import READABLE, TRAPS, law

TALK = tuple(t for n in range(9) for t in (Turn("user", f"K-{n}?"), Turn("assistant", f"Fault {n}.")))
QUERIES = (Query("a", "How much leave is there?"), Query("b", "And after ten years?", TALK[:2]), Query("c", "And K-0?", TALK))
SOURCES = ("Leave is 26 days. Sick pay is full.", "Otters swim in the river.", "The gauge at weir 7 is broken.")


def check_queries(rewriter: Rewriter) -> None:
    """Every question is searched for, alone as among others, and a first question keeps its words."""
    found = rewriter.rewrite(QUERIES)
    law(len(found) == len(QUERIES), "there is one result per question")
    for query, sought in zip(QUERIES, found, strict=True):
        law(sought.question and sought.texts and all(sought.texts), "every question is searched for with some text")
        law(len(set(sought.texts)) == len(sought.texts), "no text is searched for twice")
        law(rewriter.rewrite([query]) == [sought], "a question alone is rewritten as among others")
    law(QUERIES[0].text in found[0].texts, "a first question keeps its words")
    law(rewriter.rewrite([]) == [], "no questions give no results")


def check_memory(memory: Memory) -> None:
    """Turns are the last ones as they were said; a first question recalls nothing."""
    found = memory.recall(QUERIES)
    law(len(found) == len(QUERIES), "there is one result per question")
    law(found[0] == Recalled(), "a first question recalls nothing")
    for query, recalled in zip(QUERIES, found, strict=True):
        law(recalled.turns == query.history[len(query.history) - len(recalled.turns) :], "turns are the last ones, as said")
        law(memory.recall([query]) == [recalled], "a question alone is recalled as among others")
    law(not changes_nothing(memory) or set(found) == {Recalled()}, "a memory with changes_nothing = True recalls nothing")


def check_prompt(prompt: Prompt) -> None:
    """Question and contexts stand in the messages as they are, braces included, and rendering twice gives the same."""
    for contexts in ((), SOURCES, ("{question} {0} %s $x",)):
        material = Material(Query("q", "{contexts} %s?"), contexts)
        messages = prompt.render(material)
        law(messages and all(isinstance(one, Message) for one in messages), "a prompt renders messages")
        whole = "\n".join(message.content for message in messages)
        law(material.query.text in whole, "the question stands in the messages as it is")
        law(all(context in whole for context in contexts), "contexts stand in the messages as they are")
        law(prompt.render(material) == messages, "the same material gives the same messages")


def check_generator(generator: Generator) -> None:
    """There is one reply per request, citations name contexts, pieces of a stream are the reply, counts are not negative."""
    requests = [_request(question, number) for question, number in (("How many days?", 3), ("Which gauge?", 3), ("Is it?", 0))]
    replies = generator.generate(requests)
    law(len(replies) == len(requests), "there is one reply per request")
    law(
        [generator.generate([one])[0].text for one in requests] == [one.text for one in replies],
        "a request alone is answered so",
    )
    for request, reply in zip(requests, replies, strict=True):
        law(
            all(1 <= number <= len(request.contexts) for number in reply.citations), "citations are numbers of contexts, from 1"
        )
        law(len(set(reply.citations)) == len(reply.citations), "no context is cited twice")
        law("".join(generator.stream(request)) == reply.text, "the pieces of a stream are the reply")
        law(min(reply.prompt_tokens, reply.completion_tokens) >= 0 and not reply.cost < 0, "counts are not negative")
    law(generator.generate([]) == [], "no requests give no replies")


def check_guard(guard: Any) -> None:
    """Findings name places that exist, framings keep number and order of contexts, removals do not overlap."""
    law(isinstance(guard, Screen | Framing | Inspection), "a check or guard has screen, frame or inspect")
    query = QUERIES[0]
    for texts in ((), SOURCES, READABLE[:6]):
        hits = tuple(Hit(chunk, 1.0) for chunk in _chunks(texts))
        if isinstance(guard, Screen):
            found = guard.screen([query], [hits])
            law(
                len(found) == 1 and guard.screen([query], [hits]) == found,
                "there is one list per question, the same every time",
            )
            _sound(found[0], texts, "", ("flag", "quarantine", "abstain"))
        if isinstance(guard, Framing):
            framed = guard.frame(query, texts)
            law(len(framed.contexts) == len(texts), "a framing keeps the number of contexts")
            law(guard.frame(query, texts) == framed, "the same contexts are framed the same")
        for reply in TRAPS if isinstance(guard, Inspection) else ():
            request = Request(query, _chunks(texts), (Message("user", query.text),))
            (seen,) = guard.inspect([request], [Reply(reply)])
            _sound(seen, texts, reply, ("flag", "remove", "refuse", "regenerate"))
            cuts = sorted((one.start, one.end) for one in seen if one.action == "remove")
            law(all(one[1] <= other[0] for one, other in pairwise(cuts)), "what is removed does not overlap")
            law(guard.inspect([request], [Reply(reply)]) == [seen], "the same reply gives the same findings")


check_check = check_guard


def check_judge(judge: Judge) -> None:
    """Claims lie in their text, supports in [0, 1], and a verdict depends on its own case only."""
    cases = [Case("Leave is 26 days. Otters fly.", SOURCES, "How many days?"), Case("", SOURCES), Case("Otters fly.", ())]
    found = judge.judge(cases)
    law(0 <= judge.threshold <= 1, "the threshold lies in [0, 1]")
    for case, verdict in zip(cases, found, strict=True):
        law(bool(verdict.claims) != verdict.abstained, "a text has claims, or it abstains")
        for claim in verdict.claims:
            law(0 <= claim.start < claim.end <= len(case.text), "a claim lies in its text")
            law(claim.failure or 0 <= claim.support <= 1, "a support lies in [0, 1]")
        law(judge.judge([case]) == [verdict], "a case alone is judged as among others")
    pairs = [("How many days?", "26 days."), ("How many days?", ""), ("", "Otters swim.")]
    law(all(0 <= value <= 1 for value in judge.relate(pairs)), "a relevance lies in [0, 1]")
    law(judge.judge([]) == [] and judge.relate([]) == [], "nothing to judge gives nothing")


def check_metric(metric: Any) -> None:
    """Values lie in [0, 1] or are NaN, and what is read stays as it was."""
    law(isinstance(metric, RankingMetric | AnswerMetric | AssessedMetric), "a metric has score, measure or assess")
    if isinstance(metric, RankingMetric):
        _check_ranking_metric(metric)
    gold = ((), (Evidence((Span("d", 5, 25),)),), (Evidence(("d",)),))
    for text in (*TRAPS, "The Eiffel Tower [1]", "One [1]. Two [2, 3]."):
        hits = tuple(Hit(chunk, 1.0) for chunk in _chunks(SOURCES))
        for evidence in gold:
            example, answer = Example(QUERIES[0], evidence, ("the Eiffel Tower",)), Answer(QUERIES[0], hits, Reply(text))
            if isinstance(metric, AnswerMetric):
                _unit(metric.measure(example, answer))
            if isinstance(metric, AssessedMetric):
                _unit(metric.assess(answer, Assessment(0.5)))


def _check_ranking_metric(metric: RankingMetric) -> None:
    table = _judged()
    before = {name: array.copy() for name, array in table.to_arrays().items()}
    for cut in (0, 1, 5, 1000):
        values = metric.score(table, np.full(24, cut))
        law(values.shape == (24,) and values.dtype == np.float64, "there is one float64 per question")
        law(np.isnan(values[~table.answerable]).all(), "a question without gold has no value")
        known = values[~np.isnan(values)]
        law(((known >= 0) & (known <= 1)).all(), "values lie in [0, 1]")
        law(cut or not known.any(), "a cut of 0 gives 0")
    cuts = np.arange(24) % 7
    alone = [metric.score(table, np.full(24, cut))[row] for row, cut in enumerate(cuts)]
    law(np.array_equal(metric.score(table, cuts), alone, equal_nan=True), "every question has a cut of its own")
    law(all(np.array_equal(array, before[name]) for name, array in table.to_arrays().items()), "what is read stays as it was")


def _judged() -> Judged:
    """Rankings of 24 questions with span gold, document gold, both, and none."""
    random = np.random.default_rng(3)
    documents = [Document(f"d{n}", "x" * 90) for n in range(4)]
    corpus = Corpus.of(documents, [Span(f"d{n}", start, start + 30) for n in range(4) for start in range(0, 61, 20)])
    spans = (Evidence((Span("d1", 5, 30),)), Evidence((Span("d2", 50, 75), Span("d0", 5, 30)), 2))
    wholes = (Evidence(("d3",)), Evidence(("d1",), 3))
    gold = ((), spans, wholes, (*spans, *wholes))
    examples = [Example(Query(f"q{number}", "?"), gold[number % 4]) for number in range(24)]
    return judge(Rankings.top(random.random((24, len(corpus))), 12), gold_table(corpus, examples))


def _chunks(texts: Sequence[str]) -> tuple[Chunk, ...]:
    return tuple(Chunk(Span(f"d{number}", 0, len(text)), text) for number, text in enumerate(texts))


def _request(question: str, count: int) -> Request:
    messages = (Message("system", "Answer."), Message("user", question))
    return Request(Query(question, question), _chunks(SOURCES[:count]), messages)


def _sound(findings: Sequence[Finding], texts: Sequence[str], reply: str, actions: tuple[str, ...]) -> None:
    for one in findings:
        law(one.source and one.what, "a finding says its source and what was found")
        law(one.action in actions, f"the action of a finding is one of {', '.join(actions)}")
        law(0 <= one.context <= len(texts), "a finding names a context that exists")
        length = len(texts[one.context - 1] if one.context else reply)
        law(0 <= one.start <= one.end <= length, "a finding lies in its text")


def _unit(value: float) -> None:
    law(math.isnan(value) or 0 <= value <= 1, "a value lies in [0, 1], or is NaN where it does not apply")
