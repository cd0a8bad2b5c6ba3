"""Samples of questions: nested, by kind and cluster, the same for a seed and a set."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rag.core.types import Example, Query
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.sampling import drawn

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("123456")), min_size=1, max_size=40)
SHARES = [("ab"[number % 4 == 0], str(number)) for number in range(220)]


def golden(rows: list[tuple[str, str]]) -> Golden:
    return Golden((), tuple(Example(Query(f"q{n}", "?"), kind=kind, cluster=cluster) for n, (kind, cluster) in enumerate(rows)))


@given(ROWS, st.integers(1, 40), st.integers(0, 3))
def test_laws(rows: list[tuple[str, str]], count: int, seed: int) -> None:
    whole, kinds = golden(rows), Counter(kind for kind, _ in rows)
    found = drawn(whole, count, seed).examples
    assert len(found) == min(count, len(rows))
    assert {*found} <= {*drawn(whole, count + 1, seed).examples}, "a larger sample holds the smaller one"
    assert found[::-1] == drawn(Golden((), whole.examples[::-1]), count, seed).examples, "order of the file"
    assert len({example.kind for example in found}) == min(count, len(kinds))
    for kind in kinds:
        own = [example.cluster for example in found if example.kind == kind]
        assert len(set(own)) == min(len(own), len({cluster for each, cluster in rows if each == kind}))


def test_kinds_have_their_shares_and_few_questions_change_with_the_set() -> None:
    part, other, grown = drawn(golden(SHARES[:200]), 40), drawn(golden(SHARES[:200]), 40, 1), drawn(golden(SHARES), 40)
    assert Counter(example.kind for example in part.examples) == {"a": 30, "b": 10}
    assert len({*part.examples} & {*other.examples}) < 20
    assert len({*part.examples} - {*grown.examples}) <= 8
