"""Calls of a chat model with a fallback."""

from collections.abc import Iterator, Sequence

import pytest

from rag.core.errors import ReplayError, ServiceError
from rag.core.models.chat import ask, spent
from rag.core.types import Query, Reply, Request


class Fails:
    """Fails for the questions whose number is in `bad`; the calls are kept."""

    def __init__(self, bad: set[int], error: Exception) -> None:
        self.bad, self.error, self.calls = bad, error, list[int]()

    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        self.calls.append(len(requests))
        if any(int(request.query.query_id) in self.bad for request in requests):
            raise self.error
        return [Reply(request.query.query_id, (), 2, 1, 0.5) for request in requests]

    def stream(self, request: Request) -> Iterator[str]:
        yield ""


def requests(count: int) -> list[Request]:
    return [Request(Query(str(number), ""), (), ()) for number in range(count)]


DOWN = ServiceError("http://here", "cannot be reached", "start it")


def test_one_failure_costs_one_reply() -> None:
    found = ask(Fails({2}, DOWN), requests(5))
    assert [one if isinstance(one, str) else one.text for one in found] == ["0", "1", "cannot be reached", "3", "4"]
    assert [spent(one) for one in found][1:3] == [(3, 0.5), (0, 0.0)]


def test_a_batch_is_one_call_and_an_empty_one_none() -> None:
    generator = Fails(set(), DOWN)
    ask(generator, requests(5))
    ask(generator, [])
    assert generator.calls == [5]


@pytest.mark.parametrize("bad", [range(1, 20), range(17, 20), range(9, 12)], ids=["nearly all", "the last", "some"])
def test_three_failures_in_a_row_end_a_long_batch_without_a_result(bad: range) -> None:
    generator = Fails(set(bad), DOWN)
    with pytest.raises(ServiceError, match="cannot be reached"):
        ask(generator, requests(20))
    assert generator.calls == [20] + [1] * (bad[2] + 1)


def test_two_failures_in_a_row_are_tolerated() -> None:
    found = ask(Fails({2, 3, 5, 6}, DOWN), requests(8))
    assert [number for number, one in enumerate(found) if isinstance(one, str)] == [2, 3, 5, 6]


def test_a_long_batch_without_a_reply_has_no_result() -> None:
    assert ask(Fails({0, 1, 2}, RuntimeError("a bug")), requests(3)) == ["a bug"] * 3
    with pytest.raises(RuntimeError, match="a bug"):
        ask(Fails({0, 1, 2, 3}, RuntimeError("a bug")), requests(4))


def test_a_missing_record_is_an_error() -> None:
    with pytest.raises(ReplayError):
        ask(Fails({0}, ReplayError("replay", "is missing", "ask")), requests(2))


def test_too_few_replies_are_a_failure() -> None:
    class Short(Fails):
        def generate(self, requests: Sequence[Request]) -> list[Reply]:
            return []

    assert ask(Short(set(), DOWN), requests(2)) == ["0 replies to 1 requests"] * 2
