"""Replies of models, kept by request."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from rag.core.errors import ConfigError, ReplayError, ServiceError
from rag.core.roles import Generator
from rag.core.types import Message, Query, Reply, Request
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import REPLIES, StoredGenerator
from rag.execution.store.store import Store


class CountingGenerator:
    """Answers with what it was asked; remembers it."""

    def __init__(self, fails_after: int = 10**9) -> None:
        self.asked: list[str] = []
        self.fails_after = fails_after

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        if len(self.asked) >= self.fails_after:
            raise RuntimeError("killed")
        self.asked += [request.messages[-1].content for request in requests]
        return [
            Reply(f"{request.messages[-1].content}\ud800", (1, 2), 3, 4, 0.25 if len(request.messages) > 1 else math.nan)
            for request in requests
        ]

    def stream(self, request: Request) -> Iterator[str]:
        self.asked.append(request.messages[-1].content)
        yield from ("a", "b")


def asking(*texts: str, system: str | None = None) -> list[Request]:
    first = (Message("system", system),) if system is not None else ()
    return [Request(Query(f"q{number}", text), (), (*first, Message("user", text))) for number, text in enumerate(texts)]


def test_each_distinct_sequence_of_messages_is_answered_once(store: Store) -> None:
    inner = CountingGenerator()
    stored = StoredGenerator(inner, store, "one")
    assert isinstance(stored, Generator)
    found = stored.generate(asking("a", "b", "a"))
    assert inner.asked == ["a", "b"]
    assert [(reply.text, reply.citations, math.isnan(reply.cost)) for reply in found] == [
        (f"{text}\ud800", (1, 2), True) for text in "aba"
    ]
    again = StoredGenerator(CountingGenerator(fails_after=0), store, "one").generate(asking("b", "a"))
    assert [reply.text for reply in again] == [found[1].text, found[0].text]
    assert again[0].prompt_tokens == 3
    stored.generate(asking("a", system="s"))
    stored.generate(asking("a", system=""))
    StoredGenerator(inner, store, "two").generate(asking("a"))
    stored.generate([replace(request, sample=1) for request in asking("a", "a")])
    assert inner.asked == ["a", "b", "a", "a", "a", "a"]
    assert stored.generate(asking("a", system="s"))[0].cost == 0.25
    assert stored.generate([]) == []


def test_what_was_paid_for_survives_a_failure(store: Store) -> None:
    texts = [str(number) for number in range(2 * REPLIES + 3)]
    failing = CountingGenerator(fails_after=2 * REPLIES)
    with pytest.raises(RuntimeError, match="killed"):
        StoredGenerator(failing, store, "one").generate(asking(*texts))
    inner = CountingGenerator()
    found = StoredGenerator(inner, store, "one").generate(asking(*reversed(texts)))
    assert inner.asked == list(reversed(texts[2 * REPLIES :]))
    assert [reply.text[:-1] for reply in found] == list(reversed(texts))


def test_replies_that_are_too_few_or_too_many_are_refused_and_not_stored(store: Store) -> None:
    for count in (0, 1, 3):

        class Wrong(CountingGenerator):
            def generate(self, requests: Sequence[Request], count: int = count) -> list[Reply]:
                return [Reply("x")] * count

        with pytest.raises(ConfigError, match=f"generator: gave {count} replies to 2 requests"):
            StoredGenerator(Wrong(), store, "one").generate(asking("a", "b"))
    assert store.keys("replies") == []


def test_a_stream_comes_straight_from_the_generator(store: Store) -> None:
    inner = CountingGenerator()
    stored = StoredGenerator(inner, store, "one")
    (request,) = asking("a")
    assert [list(stored.stream(request)), list(stored.stream(request))] == [["a", "b"]] * 2
    assert inner.asked == ["a", "a"]


class Breaking(CountingGenerator):
    """Says what it sends, and breaks off at the question `bad`, with what was answered before it."""

    def sent(self, request: Request) -> dict[str, str]:
        return {"text": request.messages[-1].content}

    def attempts(self, requests: Sequence[Request]) -> list[Reply | ServiceError]:
        texts = [request.messages[-1].content for request in requests]
        self.asked += texts
        end = texts.index("bad") if "bad" in texts else len(texts)
        broken = ServiceError("there", "it broke", "fix it")
        return [Reply(text) if number < end else broken for number, text in enumerate(texts)]


def test_what_was_answered_before_an_error_is_kept(store: Store) -> None:
    with pytest.raises(ServiceError, match="it broke"):
        StoredGenerator(Breaking(), store, "one").generate(asking("a", "b", "bad", "c"))
    inner = Breaking()
    assert [reply.text for reply in StoredGenerator(inner, store, "one").generate(asking("a", "b", "c"))] == ["a", "b", "c"]
    assert inner.asked == ["c"]


class Killed(Breaking):
    """A process that ends while it waits for the reply to `bad`."""

    def attempts(self, requests: Sequence[Request]) -> Iterator[Reply | ServiceError]:
        for request in requests:
            if request.messages[-1].content == "bad":
                raise KeyboardInterrupt
            yield Reply(request.messages[-1].content, (), 3, 4)


def test_each_reply_is_stored_as_it_comes(store: Store) -> None:
    ledger = Ledger(store, Terms(tokens=10_000))
    with pytest.raises(KeyboardInterrupt):
        StoredGenerator(Killed(), store, "one", ledger).generate(asking("a", "b", "bad", "c"))
    assert len(store.keys("replies")) == 2
    assert ledger.spent().tokens == 2 * 7


def test_what_is_sent_goes_before_an_identity_that_changes_with_code(store: Store) -> None:
    StoredGenerator(Breaking(), store, "one").generate(asking("a"))
    inner = Breaking()
    StoredGenerator(inner, store, "two").generate(asking("a", system="not sent"))
    assert inner.asked == []


def test_only_what_is_stored_may_be_replayed(store: Store) -> None:
    (request,) = asking("a")
    StoredGenerator(CountingGenerator(), store, "one").generate([request])
    inner = CountingGenerator()
    replaying = StoredGenerator(inner, store, "one", Ledger(store, Terms("only")))
    assert list(replaying.stream(request)) == ["a\ud800"]
    with pytest.raises(ReplayError, match=r"of 2 requests to the model 1 have none; the first: q1 'b'"):
        replaying.generate(asking("a", "b"))
    assert inner.asked == []
