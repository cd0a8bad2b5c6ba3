"""A question reuses what an earlier one found only where their vectors are near and no word that matters differs."""

import numpy as np
import pytest

from rag import testing
from rag.config.build import Components
from rag.config.catalog import choice, choices
from rag.core.errors import ConfigError
from rag.core.roles import RetrievalMemory


def memory(name: str = "similar", **parameters: object) -> RetrievalMemory:
    built: RetrievalMemory = Components().role("reuse", {**choice("reuse", name), "language": "english", **parameters}, "reuse")
    return built


@pytest.mark.parametrize("name", [name for name in choices("reuse") if name != "none"])
def test_every_choice_keeps_the_laws(name: str) -> None:
    testing.CHECKS["reuse"](memory(name))


def at(cosine: float) -> np.ndarray:
    return np.array([[cosine, np.sqrt(1 - cosine**2)]], np.float32)


FIRST = np.array([[1.0, 0.0]], np.float32)
ASKED = "How many days of leave do field crew get in 2024?"


@pytest.mark.parametrize(("cosine", "share"), [(1.0, 1.0), (0.9, 1.0), (0.8999, 0.5), (0.7, 0.5), (0.6999, 0.0), (-1.0, 0.0)])
def test_the_thresholds_belong_to_the_larger_share(cosine: float, share: float) -> None:
    found = memory().reuse(ASKED, at(cosine), [ASKED], FIRST)
    assert (found.share, found.earlier) == (share, 0 if share else -1)


OTHERS = {
    "How many days of leave do field crew get in 2025?": True,
    "How many days of leave do Pell crew get in 2024?": True,
    "How many days of leave do field crew not get in 2024?": True,
    "How many days of leave do office crew get in 2024?": False,
    "Who of the field crew gets days of leave in 2024?": False,
    "Since when do field crew get many days of leave in 2024?": False,
}


@pytest.mark.parametrize(("other", "is_literal"), OTHERS.items())
def test_a_guard_keeps_a_question_from_full_reuse(other: str, is_literal: bool) -> None:
    shares = [memory(guard=guard).reuse(ASKED, at(0.99), [other], FIRST).share for guard in ("words", "literals", "none")]
    assert shares == [0.5, 1.0 - is_literal / 2, 1.0]


def test_other_forms_and_orders_of_the_same_words_are_reused() -> None:
    assert memory().reuse(ASKED, at(0.95), ["In 2024, how many leave days does a field crew get?"], FIRST).share == 1.0


@pytest.mark.parametrize("wrong", [{"full": 1.5}, {"half": -0.1}, {"full": 0.5}, {"language": "klingon"}, {"guard": "all"}])
def test_parameters_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="reuse"):
        memory(**wrong)
