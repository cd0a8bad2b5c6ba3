"""Live conversations: the pipeline answers every earlier question, and its own answers are the history.

A history of reference answers has no mistakes. In a live conversation the pipeline sees its own answers, right or wrong, so an
early mistake can affect later turns.
"""

from collections.abc import Callable, Sequence

from rag.core.errors import RefusalError
from rag.core.records import Answer, Example, Query, Turn
from rag.core.text.citations import without_markers
from rag.pipeline.pipeline import Pipeline, Trace

UNSAID = "…"
"""The turn of an empty answer in a history: chat models need alternating turns and refuse empty ones."""

Questions = tuple[str, ...]
"""The questions of a conversation so far, oldest first."""

Ask = Callable[[Sequence[Query], Sequence[tuple[str, ...]]], Sequence[Answer | None]]
"""Answers questions, each with the reference answers of its golden question if it is one; None for one that failed."""


def remembered_turn(question: str, answer: Answer) -> tuple[Turn, Turn]:
    """A question and its answer as turns of a history, without citation markers: later prompts have other passages."""
    return Turn("user", question), Turn("assistant", without_markers(answer.reply.text).strip() or UNSAID)


def lived(examples: Sequence[Example], ask: Ask) -> list[tuple[Turn, ...]]:
    """The history of every golden question, with answers by `ask`.

    Conversations that begin with the same questions share their beginning, and the n-th questions of all conversations are
    asked together. A question that failed leaves no turn, as in a chat.
    """
    before = [tuple(turn.text for turn in example.query.history if turn.role == "user") for example in examples]
    golden = {(*earlier, example.query.text): example for earlier, example in zip(before, examples, strict=True)}
    histories: dict[Questions, tuple[Turn, ...]] = {(): ()}
    for length in range(1, max(map(len, before), default=0) + 1):
        now = list(dict.fromkeys(earlier[:length] for earlier in before if len(earlier) >= length))
        queries = [_query(asked, histories[asked[:-1]], golden) for asked in now]
        answers = ask(queries, [golden[asked].answers if asked in golden else () for asked in now])
        for asked, query, answer in zip(now, queries, answers, strict=True):
            histories[asked] = (*query.history, *(remembered_turn(query.text, answer) if answer else ()))
    return [histories[earlier] for earlier in before]


def _query(asked: Questions, history: tuple[Turn, ...], golden: dict[Questions, Example]) -> Query:
    if asked in golden:
        known = golden[asked].query
        return Query(known.query_id, known.text, history, known.rewrite)
    return Query(f"earlier {' / '.join(asked)}", asked[-1], history)


def answers(pipeline: Pipeline, queries: Sequence[Query], references: Sequence[tuple[str, ...]]) -> list[Answer | None]:
    """The answers of a pipeline to questions of different conversations; None for one that was refused."""
    traces = [pipeline.trace(query) for query in queries]
    if getattr(pipeline.generator, "costly", False):
        rows = zip(queries, traces, references, strict=True)
        prepared = [pipeline.prepare(query, trace, gold) for query, trace, gold in rows]
        # Replies are stored by request: the answers below find the replies to this one batch.
        pipeline.generator.generate([each.request for each in prepared if each.request and each.asks])
    rows = zip(queries, traces, references, strict=True)
    return [_answer(pipeline, query, trace, gold) for query, trace, gold in rows]


def _answer(pipeline: Pipeline, query: Query, trace: Trace, references: tuple[str, ...]) -> Answer | None:
    try:
        return pipeline.answer_from(query, trace, references=references)
    except RefusalError:
        return None
