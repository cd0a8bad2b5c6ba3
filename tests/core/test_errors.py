"""An error has a place, a problem and a remedy, also after pickling."""

import copy
import pickle

import pytest

from rag.core import errors
from rag.core.errors import ConfigError, DataError, MissingExtraError, ProblemsError, UserError, closest

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
PLAIN = [kind for kind in KINDS if kind not in (MissingExtraError, ProblemsError)]
SOME = [
    *(kind("chunker.size", "is -1", "a whole number from 1") for kind in PLAIN),
    MissingExtraError("judge.ragas", "ragas", "ragas"),
    ProblemsError([ConfigError("a", "b", "c"), MissingExtraError("index", "x", "y"), DataError("d", "e", "f")]),
]


@pytest.mark.parametrize("kind", PLAIN)
def test_an_error_is_two_lines(kind: type[UserError]) -> None:
    error = kind("chunker.size", "is -1", "a whole number from 1")
    assert str(error) == "chunker.size: is -1\n  → a whole number from 1"
    assert (error.where, error.what, error.remedy) == ("chunker.size", "is -1", "a whole number from 1")


def test_problems_are_shown_one_after_the_other() -> None:
    error = ProblemsError(iter([ConfigError("a", "b", "c"), DataError("d", "e", "f")]))
    assert str(error) == "a: b\n  → c\nd: e\n  → f"
    assert [problem.where for problem in error.problems] == ["a", "d"]
    assert isinstance(error, UserError)


@pytest.mark.parametrize("error", SOME, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("travel", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_errors_travel(error: UserError, travel: object) -> None:
    arrived = travel(error)  # type: ignore[operator]
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert (arrived.where, arrived.what, arrived.remedy) == (error.where, error.what, error.remedy)


def test_all_our_errors_are_user_errors() -> None:
    assert all(issubclass(kind, UserError) for kind in KINDS)
    assert len(KINDS) == len(SOME) > 9


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("fixd", ["recursive", "fixed"], "did you mean 'fixed'? There is: fixed, recursive"),
        ("xyz", ["b", "a"], "there is: a, b"),
        ("", ["a"], "there is: a"),
        ("x", [], "there is: nothing"),
        ("b", {"a": 1, "b": 2}, "did you mean 'b'? There is: a, b"),
    ],
)
def test_closest(word: str, known: list[str], said: str) -> None:
    assert closest(word, known) == said
