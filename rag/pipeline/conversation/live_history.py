"""Live conversations: the pipeline answers every earlier question, and its own answers are the history.

A history of reference answers has no mistakes. In a live conversation the pipeline sees its own answers, right or wrong, so an
early mistake can affect later turns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rag.core.errors import RefusalError
from rag.core.text.citations import without_markers
from rag.core.types import Answer, Example, Found, Query, Turn
from rag.pipeline.pipeline import Pipeline, Trace

UNSAID = "…"
"""The turn of an empty answer in a history: chat models need alternating turns and refuse empty ones."""

Questions = tuple[str, ...]
"""The questions of a conversation so far, oldest first."""


@dataclass(frozen=True)
class Past:
    """A conversation before a question: its turns, and what it found."""

    history: tuple[Turn, ...] = ()
    earlier: tuple[Found, ...] = ()


Ask = Callable[[Sequence[Query], Sequence[tuple[str, ...]]], Sequence[tuple[Answer | None, tuple[Found, ...]]]]
"""Answers questions, each with the reference answers of its golden question if it is one; None for one that failed.

Behind each answer, what its conversation has found by then.
"""


def remembered_turn(question: str, answer: Answer, at: float | None = None) -> tuple[Turn, ...]:
    """A question and its answer as turns of a history, without citation markers: later prompts have other passages.

    A pleasantry leaves no turn, so that a follow-up after it refers to what was asked before.
    """
    if answer.input == "pleasantry":
        return ()
    shape, texts = answer.look.shape if answer.look else None, [hit.chunk.span.doc_id for hit in answer.contexts]
    tag, cited = shape.intent if shape else "", [texts[each - 1] for each in answer.reply.citations if 1 <= each <= len(texts)]
    text = without_markers(answer.reply.text).strip() or UNSAID
    return Turn("user", question, at, tag), Turn("assistant", text, at, tag, ", ".join(dict.fromkeys(cited)))


def lived(examples: Sequence[Example], ask: Ask) -> list[Past]:
    """The conversation before every golden question, with answers by `ask`.

    Conversations that begin with the same questions share their beginning, and the n-th questions of all conversations are
    asked together. A question that failed leaves no turn, as in a chat.
    """
    before = [tuple(turn.text for turn in example.query.history if turn.role == "user") for example in examples]
    golden = {(*earlier, example.query.text): example for earlier, example in zip(before, examples, strict=True)}
    pasts: dict[Questions, Past] = {(): Past()}
    for length in range(1, max(map(len, before), default=0) + 1):
        now = list(dict.fromkeys(earlier[:length] for earlier in before if len(earlier) >= length))
        queries = [_query(asked, pasts[asked[:-1]], golden) for asked in now]
        told = ask(queries, [golden[asked].answers if asked in golden else () for asked in now])
        for asked, query, (answer, found) in zip(now, queries, told, strict=True):
            turns = remembered_turn(query.text, answer) if answer else ()
            pasts[asked] = Past((*query.history, *turns), found if answer else query.earlier)
    return [pasts[earlier] for earlier in before]


def _query(asked: Questions, past: Past, golden: dict[Questions, Example]) -> Query:
    known = golden[asked].query if asked in golden else Query(f"earlier {' / '.join(asked)}", asked[-1])
    return replace(known, history=past.history, earlier=past.earlier)


def retold(pipeline: Pipeline, examples: Sequence[Example]) -> list[Past]:
    """The conversation before every golden question as the golden set has it, and what the pipeline found in it."""
    golden = {(example.query.history, example.query.text): example.query for example in examples}
    found: dict[tuple[Turn, ...], tuple[Found, ...]] = {}
    for example in examples:
        history: tuple[Turn, ...] = example.query.history
        earlier: tuple[Found, ...] = ()
        for place, turn in enumerate(history):
            if turn.role == "user":
                before, told = history[:place], history[: place + 1]
                if told not in found:
                    known = golden.get((before, turn.text)) or Query("earlier", turn.text, before)
                    query = replace(known, earlier=earlier)
                    found[told] = pipeline.earlier(query, pipeline.trace(query))
                earlier = found[told]
        found[history] = earlier
    return [Past(example.query.history, found[example.query.history]) for example in examples]


def answers(
    pipeline: Pipeline, queries: Sequence[Query], references: Sequence[tuple[str, ...]]
) -> list[tuple[Answer | None, tuple[Found, ...]]]:
    """The answers of a pipeline to questions of different conversations, as `Ask`; None for one that was refused."""
    traces = [pipeline.trace_to_answer(query) for query in queries]
    if getattr(pipeline.generator, "costly", False):
        rows = zip(queries, traces, references, strict=True)
        prepared = [pipeline.prepare(query, trace, gold) for query, trace, gold in rows]
        # Replies are stored by request: the answers below find the replies to this one batch.
        pipeline.generator.generate([each.request for each in prepared if each.request and each.asks])
    rows = zip(queries, traces, references, strict=True)
    return [(_answer(pipeline, query, trace, gold), pipeline.earlier(query, trace)) for query, trace, gold in rows]


def _answer(pipeline: Pipeline, query: Query, trace: Trace, references: tuple[str, ...]) -> Answer | None:
    try:
        return pipeline.answer_from(query, trace, references=references)
    except RefusalError:
        return None
