"""Conversations as they would have gone: every earlier question is asked of the pipeline, and its own answers are the history.

Reference answers in a history are those of a pipeline that makes no mistake. In a live conversation it hears its own, right or
wrong, and a later turn can suffer from an earlier one.
"""

from collections.abc import Callable, Sequence

from rag.core.errors import RefusalError
from rag.core.records import Answer, Example, Query, Turn
from rag.core.text.citations import without_markers
from rag.pipeline.pipeline import Pipeline, Trace

UNSAID = "…"
"""What stands in a history for an answer without a word: chat models want turns to alternate, and refuse empty ones."""

Asked = tuple[str, ...]
"""What a person has said so far, oldest first."""

Ask = Callable[[Sequence[Query], Sequence[tuple[str, ...]]], Sequence[Answer | None]]
"""Answers questions, each with the reference answers of its golden question if it is one; None for one that failed."""


def remembered_turn(question: str, answer: Answer) -> tuple[Turn, Turn]:
    """A question and its answer as later questions see them: without markers, which number passages that are gone by then."""
    return Turn("user", question), Turn("assistant", without_markers(answer.reply.text).strip() or UNSAID)


def lived(examples: Sequence[Example], ask: Ask) -> list[tuple[Turn, ...]]:
    """The history of every golden question, its answers those that `ask` gave.

    Conversations that begin with the same words share their beginning, and all questions that come as the n-th of theirs are
    asked together. A question that failed leaves no turn, as in a chat.
    """
    before = [tuple(turn.text for turn in example.query.history if turn.role == "user") for example in examples]
    golden = {(*earlier, example.query.text): example for earlier, example in zip(before, examples, strict=True)}
    histories: dict[Asked, tuple[Turn, ...]] = {(): ()}
    for length in range(1, max(map(len, before), default=0) + 1):
        now = list(dict.fromkeys(earlier[:length] for earlier in before if len(earlier) >= length))
        queries = [_query(asked, histories[asked[:-1]], golden) for asked in now]
        answers = ask(queries, [golden[asked].answers if asked in golden else () for asked in now])
        for asked, query, answer in zip(now, queries, answers, strict=True):
            histories[asked] = (*query.history, *(remembered_turn(query.text, answer) if answer else ()))
    return [histories[earlier] for earlier in before]


def _query(asked: Asked, history: tuple[Turn, ...], golden: dict[Asked, Example]) -> Query:
    if asked in golden:
        known = golden[asked].query
        return Query(known.query_id, known.text, history, known.rewrite)
    return Query(f"earlier {' / '.join(asked)}", asked[-1], history)


def answers(pipeline: Pipeline, queries: Sequence[Query], references: Sequence[tuple[str, ...]]) -> list[Answer | None]:
    """Answers of a pipeline to questions that do not wait for each other."""
    traces = [pipeline.trace(query) for query in queries]
    if getattr(pipeline.generator, "costly", False):
        rows = zip(queries, traces, references, strict=True)
        prepared = [pipeline.prepare(query, trace, gold) for query, trace, gold in rows]
        # Its replies are kept by request: asked together here, they are found below.
        pipeline.generator.generate([one.request for one in prepared if one.request])
    rows = zip(queries, traces, references, strict=True)
    return [_answer(pipeline, query, trace, gold) for query, trace, gold in rows]


def _answer(pipeline: Pipeline, query: Query, trace: Trace, references: tuple[str, ...]) -> Answer | None:
    try:
        return pipeline.answer_from(query, trace, references=references)
    except RefusalError:
        return None
