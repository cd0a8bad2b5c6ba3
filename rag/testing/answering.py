"""The laws of rewriters, memories, prompts, generators, checks, guards, judges and metrics."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from rag.core.assessments import Assessment, Case
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
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
    Replying,
    Rewriter,
    Screen,
    System,
    changes_nothing,
)
from rag.core.types import (
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
from rag.evaluation.scoring import Judged, gold_table, judge
from rag.testing.laws import READABLE, TRAPS, law

TALK = tuple(turn for n in range(9) for turn in (Turn("user", f"K-{n}?"), Turn("assistant", f"Fault {n}.")))
QUERIES = (Query("a", "How much leave is there?"), Query("b", "And after ten years?", TALK[:2]), Query("c", "And K-0?", TALK))
SOURCES = ("Leave is 26 days. Sick pay is full.", "Otters swim in the river.", "The gauge at weir 7 is broken.")
BEFORE = ("flag", "quarantine", "abstain")
"""The actions of findings in contexts, before a model is asked."""
AFTER = ("flag", "remove", "refuse", "regenerate")
"""The actions of findings in replies."""
CASES = (Case("Leave is 26 days. Otters fly.", SOURCES, "How many days?"), Case("", SOURCES), Case("Otters fly.", ()))
PAIRS = (("How many days?", "26 days."), ("How many days?", ""), ("", "Otters swim."))


def _batch(name: str, call: Callable[[list[Any]], Sequence[Any]], items: Sequence[Any]) -> list[Any]:
    """The results for a batch; checks that each item has one, that it depends on no other item, and the empty batch."""
    results = list(call(list(items)))
    alone = [result for item in items for result in call([item])]
    law(len(results) == len(items), f"there is one {name} per item of a batch")
    law(alone == results, f"a {name} does not depend on the other items of its batch")
    law(list(call([])) == [], "an empty batch has no results")
    return results


def check_system(system: System, queries: Sequence[Query] = QUERIES) -> None:
    """A reply for each question, in their order; a failure has nothing else. The system is asked once: it may cost money."""
    replies = list(system.answer(list(queries)))
    law(len(replies) == len(queries), "there is one reply per question")
    for reply in replies:
        law(not reply.failure or (not reply.passages and reply.reply is None), "a failure comes without passages and reply")
        law(all(each.text or each.document for each in reply.passages), "a passage has a text or names its document")
        law(not math.isinf(reply.seconds) and not reply.seconds < 0, "seconds are a number from 0, or NaN")


def check_queries(rewriter: Rewriter, queries: Sequence[Query] = QUERIES) -> None:
    """Every question is searched for, independently of others, and a first question keeps its words."""
    for query, sought in zip(queries, _batch("rewritten question", rewriter.rewrite, queries), strict=True):
        law(sought.question and sought.texts and all(sought.texts), "every question is searched for with some text")
        law(len(set(sought.texts)) == len(sought.texts), "no text is searched for twice")
        law(query.history or query.rewrite or query.text in sought.texts, "a first question keeps its words")
        as_typed = (sought.question, sought.texts) == (query.text, (query.text,))
        law(as_typed or not changes_nothing(rewriter), "a rewriter with changes_nothing = True leaves questions as typed")


def check_memory(memory: Memory, queries: Sequence[Query] = QUERIES) -> None:
    """Turns are the last ones, word for word; a first question recalls nothing."""
    for query, recalled in zip(queries, _batch("recalled history", memory.recall, queries), strict=True):
        last = query.history[len(query.history) - len(recalled.turns) :]
        law(recalled.turns == last, "turns are the last ones, word for word")
        law(query.history or recalled == Recalled(), "a first question recalls nothing")
        law(recalled == Recalled() or not changes_nothing(memory), "a memory with changes_nothing = True recalls nothing")


def check_prompt(prompt: Prompt) -> None:
    """The messages contain question and contexts unchanged, braces included, and are the same every time."""
    for contexts in ((), SOURCES, ("{question} {0} %s $x",)):
        material = Material(Query("q", "{contexts} %s?"), contexts)
        messages = prompt.render(material)
        law(messages and all(isinstance(message, Message) for message in messages), "a prompt renders messages")
        whole = "\n".join(message.content for message in messages)
        law(material.query.text in whole, "the messages contain the question unchanged")
        law(all(context in whole for context in contexts), "the messages contain the contexts unchanged")
        law(prompt.render(material) == messages, "the same material gives the same messages")


def check_generator(generator: Generator) -> None:
    """Each request has one reply, citations name contexts, the pieces of a stream are the reply, counts are not negative."""
    requests = [_request(question, number) for question, number in (("How many days?", 3), ("Which gauge?", 3), ("Is it?", 0))]
    _batch("reply", lambda batch: [(reply.text, reply.citations) for reply in generator.generate(batch)], requests)
    for request, reply in zip(requests, generator.generate(requests), strict=True):
        numbers = range(1, len(request.contexts) + 1)
        law(all(number in numbers for number in reply.citations), "citations are numbers of contexts, from 1")
        law(len(set(reply.citations)) == len(reply.citations), "no context is cited twice")
        law("".join(generator.stream(request)) == reply.text, "the pieces of a stream are the reply")
        law(min(reply.prompt_tokens, reply.completion_tokens) >= 0 and not reply.cost < 0, "counts are not negative")


def check_guard(guard: Any) -> None:
    """Findings have valid places, framings keep the number of contexts, removals do not overlap; results are repeatable."""
    law(isinstance(guard, Screen | Framing | Inspection), "a check or guard has screen, frame or inspect")
    for texts in ((), SOURCES, READABLE[:6]):
        check_guard_on(guard, texts, TRAPS)


def check_guard_on(guard: Any, texts: Sequence[str], replies: Sequence[str]) -> None:
    """The laws of checks and guards, for given contexts and replies."""
    query = QUERIES[0]
    hits = tuple(Hit(chunk, 1.0) for chunk in _chunks(texts))
    if isinstance(guard, Screen):
        findings, none = guard.screen([query, query], [hits, ()])
        law(guard.screen([query], [hits]) == [findings], "the same contexts have the same findings")
        law(all(one.context == 0 for one in none), "a finding names a context that exists")
        _check_findings(findings, texts, "", BEFORE)
        law(guard.screen([], []) == [], "an empty batch has no results")
    if isinstance(guard, Screen) and isinstance(guard, Replying):
        for message in (query, Query("d", "Thanks!"), Query("e", "What have we discussed?", TALK)):
            own, found = guard.reply(message), guard.screen([message], [hits])[0]
            law(own is None or (found == [own] and own.reply), "a screen replies alike with passages and without")
    if isinstance(guard, Framing):
        framed = guard.frame(query, texts)
        law(len(framed.contexts) == len(texts), "a framing keeps the number of contexts")
        law(guard.frame(query, texts) == framed, "the same contexts have the same framing")
    if isinstance(guard, Inspection):
        request = Request(query, _chunks(texts), (Message("user", query.text),))
        inspect, batch = guard.inspect, [Reply(text) for text in replies]
        results = _batch("list of findings", lambda some: inspect([request] * len(some), some), batch)
        for reply, findings in zip(replies, results, strict=True):
            _check_findings(findings, texts, reply, AFTER)
            cuts = sorted((finding.start, finding.end) for finding in findings if finding.action == "remove")
            law(all(cut[1] <= following[0] for cut, following in pairwise(cuts)), "removals do not overlap")


check_check = check_guard


def check_judge(judge: Judge, cases: Sequence[Case] = CASES, pairs: Sequence[tuple[str, str]] = PAIRS) -> None:
    """Claims and evidence are parts of their texts, supports are in [0, 1], and a verdict depends on its own case only."""
    law(0 <= judge.threshold <= 1, "the threshold lies in [0, 1]")
    for case, verdict in zip(cases, _batch("verdict", judge.judge, cases), strict=True):
        law(bool(verdict.claims) != verdict.abstained, "a text has claims, or it abstains")
        for claim in verdict.claims:
            law(0 <= claim.start < claim.end <= len(case.text), "a claim lies in its text")
            law(claim.failure or 0 <= claim.support <= 1, "a support lies in [0, 1]")
            for where in claim.evidence:
                length = len(case.contexts[where.context - 1])
                law(0 <= where.start < where.end <= length, "evidence lies in its context")
    law(all(0 <= value <= 1 for value in _batch("relevance", judge.relate, pairs)), "a relevance lies in [0, 1]")


def check_metric(metric: Any) -> None:
    """Values are in [0, 1] or NaN, and the inputs stay unchanged."""
    law(isinstance(metric, RankingMetric | AnswerMetric | AssessedMetric), "a metric has score, measure or assess")
    if isinstance(metric, RankingMetric):
        _check_ranking_metric(metric)
    hits = tuple(Hit(chunk, 1.0) for chunk in _chunks(SOURCES))
    golds = ((), (Evidence((Span("d0", 5, 25),)), Evidence((Span("d1", 0, 9), Span("d2", 0, 5)), 2)), (Evidence(("d0",)),))
    for text, gold, abstained in product((*TRAPS, "The Eiffel Tower [1]", "One [1]. Two [2, 3]. [9]"), golds, (False, True)):
        example = Example(QUERIES[0], gold, ("the Eiffel Tower", "Paris"))
        answer = Answer(QUERIES[0], hits, Reply(text), abstained=abstained)
        if isinstance(metric, AnswerMetric):
            _check_value(metric.measure(example, answer))
        if isinstance(metric, AssessedMetric):
            _check_value(metric.assess(answer, Assessment(0.5)))


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
    law(all(np.array_equal(array, before[name]) for name, array in table.to_arrays().items()), "inputs stay unchanged")


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


def _check_findings(findings: Sequence[Finding], texts: Sequence[str], reply: str, actions: tuple[str, ...]) -> None:
    for finding in findings:
        law(finding.source and finding.what, "a finding has a source and a description")
        law(finding.action in actions, f"the action of a finding is one of {', '.join(actions)}")
        law(0 <= finding.context <= len(texts), "a finding names a context that exists")
        length = len(texts[finding.context - 1] if finding.context else reply)
        law(0 <= finding.start <= finding.end <= length, "a finding lies in its text")


def _check_value(value: float) -> None:
    law(math.isnan(value) or 0 <= value <= 1, "a value lies in [0, 1], or is NaN if the metric does not apply")
