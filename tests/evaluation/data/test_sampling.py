"""Samples of questions: nested, by kind and cluster, the same for a seed and a set."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.core.errors import ConfigError
from rag.core.types import Example, Query
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.sampling import asked, drawn, order

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("123456")), min_size=1, max_size=40)


def golden(rows: list[tuple[str, str]]) -> Golden:
    examples = (Example(Query(f"q{n}", "?"), kind=kind, cluster=cluster) for n, (kind, cluster) in enumerate(rows))
    return Golden((), tuple(examples))


def ids(found: Golden) -> set[str]:
    return {example.query.query_id for example in found.examples}


@given(ROWS, st.integers(1, 40), st.integers(0, 3))
def test_laws(rows: list[tuple[str, str]], count: int, seed: int) -> None:
    whole = golden(rows)
    part = drawn(whole, count, seed)
    assert len(part.examples) == min(count, len(rows))
    assert ids(part) <= ids(drawn(whole, count + 1, seed)), "a larger sample holds the smaller one"
    assert ids(part) == ids(drawn(Golden((), whole.examples[::-1]), count, seed)), "the order of the file does not matter"
    kinds = Counter(kind for kind, _ in rows)
    assert len({example.kind for example in part.examples}) == min(count, len(kinds))
    for kind in kinds:
        own = [example.cluster for example in part.examples if example.kind == kind]
        assert len(set(own)) == min(len(own), len({cluster for each, cluster in rows if each == kind}))


def test_kinds_have_their_shares_and_another_seed_another_sample() -> None:
    whole = golden([("ab"[number % 4 == 0], str(number)) for number in range(200)])
    part = drawn(whole, 40)
    assert Counter(example.kind for example in part.examples) == {"a": 30, "b": 10}
    assert part.sampled == "A sample of 40 of 200 questions, by kind and cluster (sample_seed=0)."
    assert part.examples == tuple(example for example in whole.examples if example in part.examples)
    assert len(ids(part) & ids(drawn(whole, 40, 1))) < 20
    assert drawn(whole, 200) is whole
    grown = drawn(golden([("ab"[number % 4 == 0], str(number)) for number in range(220)]), 40)
    assert len(ids(part) - ids(grown)) <= 8, "a tenth more questions replace a few"
    assert sorted(order(whole.examples)) == list(range(200))


@pytest.mark.parametrize("wrong", [{"sample": 0}, {"sample": "30"}, {"sample": 3, "sample_seed": -1}])
def test_what_is_no_sample(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="a whole number from"):
        asked(golden([("a", "1")] * 4), {"split": "all", **wrong})
    with pytest.raises(ConfigError, match="history=live"):
        asked(golden([("a", "1")] * 4), {"split": "all", "sample": 3, "history": "live"})
