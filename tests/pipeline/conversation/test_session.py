"""A conversation remembers what was answered to the end, and nothing else."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from support.small_set import write_golden

from rag.core.errors import DataError, ServiceError
from rag.core.types import Answer, Example, Found, Query, Reply, Request, Turn
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.conversation.live_history import UNSAID, Ask, lived, remembered_turn
from rag.pipeline.conversation.session import Session
from rag.pipeline.pipeline import Pipeline
from rag.reporting.terminal.transcript import save

OVERRIDES = ("dataset=native", "embedder=hashing", "chunker=whole", "index=[bm25s]", "fusion=single", "k=2")


class Scripted:
    """Streams what it is told to; an exception among the pieces is raised where it stands."""

    def __init__(self, *scripts: Sequence[str | BaseException]) -> None:
        self.scripts = list(scripts)
        self.seen: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply("".join(self.stream(request))) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        self.seen.append(request)
        for piece in self.scripts.pop(0):
            if isinstance(piece, BaseException):
                raise piece
            yield piece


@pytest.fixture
def pipeline(here: Path) -> Pipeline:
    golden = write_golden(here / "golden")
    config = config_of([*OVERRIDES, f"dataset.path={golden}", "queries=concatenate", "generator=extractive"])
    return open_config(config)


def test_a_later_question_sees_what_was_said_without_its_markers(pipeline: Pipeline) -> None:
    generator = Scripted(["At ", "seven [1]."], ["Nine crowns [1]."])
    session = Session(replace(pipeline, generator=generator))
    heard: list[str] = []
    assert session.ask("When does the ferry leave?", heard.append).answer.reply.text == "At seven [1]."
    assert heard == ["At ", "seven [1]."]
    second = session.ask("What does it cost?")
    asked, said = second.answer.query.history
    assert (asked, said) == (Turn("user", "When does the ferry leave?"), Turn("assistant", "At seven."))
    assert (asked.at, asked.source, said.at, said.source) == (session.exchanges[0].at, "", asked.at, "winter.md")
    assert "ferry" in second.trace.sought.texts[0]
    assert "At seven." in "\n".join(message.content for message in generator.seen[1].messages)
    assert len(session.history) == 4
    session.reset()
    assert session.history == ()


@pytest.mark.parametrize("end", [KeyboardInterrupt(), ServiceError("here", "broke", "try again")])
def test_what_breaks_off_leaves_the_conversation_as_it_was(pipeline: Pipeline, end: BaseException) -> None:
    session = Session(replace(pipeline, generator=Scripted(["Seven."], ["Nine ", end], ["Ten."])))
    session.ask("When does the ferry leave?")
    before = session.history
    with pytest.raises(type(end)):
        session.ask("And in winter?", lambda piece: None)
    assert session.history == before
    assert session.ask("Sorry?").answer.query.history == before


def test_an_answer_without_a_word_still_takes_its_turn() -> None:
    assert remembered_turn("Why?", Answer(Query("q", "Why?"), (), Reply(" "))) == (
        Turn("user", "Why?"),
        Turn("assistant", UNSAID),
    )


def example(query_id: str, *words: str, rewrite: str = "") -> Example:
    """A question after others, whose golden answers are shouted."""
    history = tuple(turn for word in words[:-1] for turn in (Turn("user", word), Turn("assistant", word.upper())))
    return Example(Query(query_id, words[-1], history, rewrite), answers=(f"gold {query_id}",))


def echoing(calls: list[list[Query]]) -> Ask:
    def ask(queries: Sequence[Query], references: Sequence[tuple[str, ...]]) -> list[tuple[Answer | None, tuple[Found, ...]]]:
        calls.append(list(queries))
        rows = zip(queries, references, strict=True)
        return [
            (
                None
                if query.text == "fail"
                else Answer(query, (), Reply(f"own {query.text} {len(query.history)} {''.join(gold)}")),
                (*query.earlier, Found(query.text, ())),
            )
            for query, gold in rows
        ]

    return ask


def test_golden_answers_give_way_to_those_of_the_pipeline() -> None:
    calls: list[list[Query]] = []
    examples = [
        example("d1", "a"),
        example("d2", "a", "b", rewrite="b of a"),
        example("d3", "a", "b", "c"),
        example("e", "x", "y"),
    ]
    pasts = lived(examples, echoing(calls))
    assert [[turn.text for turn in past.history] for past in pasts] == [
        [],
        ["a", "own a 0 gold d1"],
        ["a", "own a 0 gold d1", "b", "own b 2 gold d2"],
        ["x", "own x 0"],
    ]
    # Beginnings are shared, and what comes at the same place of different conversations is asked together.
    assert [[query.text for query in asked] for asked in calls] == [["a", "x"], ["b"]]
    assert (calls[1][0].query_id, calls[1][0].rewrite) == ("d2", "b of a")
    assert [[found.question for found in past.earlier] for past in pasts] == [[], ["a"], ["a", "b"], ["x"]]


def test_a_question_that_failed_leaves_no_turn() -> None:
    (past,) = lived([example("d", "a", "fail", "c", "d")], echoing([]))
    assert [turn.text for turn in past.history if turn.role == "user"] == ["a", "c"]
    assert [found.question for found in past.earlier] == ["a", "c"]


def test_a_transcript_never_takes_the_place_of_a_file_unasked(pipeline: Pipeline, tmp_path: Path) -> None:
    session = Session(replace(pipeline, generator=Scripted(["Seven [1]."])))
    exchange = session.ask("When does\nthe ferry leave?")
    told = {"talk.md": f"\n\n- {exchange.about}\n", "talk.json": f'"at": {exchange.at},'}
    for name, marks in (("talk.md", ("> When does\n> the ferry", "Seven [1].", "- [1] cited `")), ("talk.json", ('"turns"',))):
        path = tmp_path / "new" / name
        save(session, {"generator": {"api_key": "sk-abcdefghijklmnopqrstuvwxyz"}}, path)
        text = path.read_text("utf-8")
        assert all(mark in text for mark in (*marks, told[name]))
        assert "sk-abc" not in text
        with pytest.raises(DataError, match="is there already"):
            save(session, {}, path)
        path.write_text("", "utf-8")
        save(session, {}, path, replace=True)
        assert path.read_text("utf-8")
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(DataError, match="cannot be written"):
        save(session, {}, tmp_path / "file" / "talk.md")
