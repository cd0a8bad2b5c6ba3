"""The laws of judges, for every choice in conf/judge."""

import math
from typing import Any

import pytest
from support import choices
from support.judge_texts import CONTEXTS, SUPPORTED, UNSUPPORTED

from rag.config.build import Components
from rag.core.assessments import Case
from rag.core.roles import Judge
from rag.testing import check_judge

CHOICES = choices.choices("judge")
TRUSTED = ("support",)
CASES = [
    Case(SUPPORTED[0] + " " + UNSUPPORTED[-1], CONTEXTS, "How many days?"),
    Case("", CONTEXTS),
    Case(UNSUPPORTED[0], ()),
    Case("Ein Satz \ud800 ohne Sinn " * 60, ("", "…")),
]
PAIRS = [("How many days?", SUPPORTED[0]), ("How many days?", ""), ("", CONTEXTS[1]), ("\ud800?", "Ein Satz \ud800 " * 60)]


def node(choice: str, **changes: Any) -> dict[str, Any]:
    """The choice as its file has it, with scripted generators and light encoders."""
    scripted: dict[str, dict[str, Any]] = {
        "local": {"encoder": {"_target_": "support.judge_texts.WordEncoder"}},
        "llm": {"generator": {"_target_": "support.judge_texts.SayingYes"}},
        "ragas": {
            "generator": {"_target_": "support.judge_texts.SayingAsRagasWants"},
            "encoder": {"_target_": "support.judge_texts.WordEncoder"},
        },
    }
    return choices.node("judge", choice, **scripted.get(choice, {}), **changes)


@pytest.mark.parametrize("choice", CHOICES)
def test_laws(choice: str, request: pytest.FixtureRequest) -> None:
    tiny = {"model": str(request.getfixturevalue("tiny_nli")), "revision": None, "max_length": 64} if choice == "nli" else {}
    judge: Judge = Components(TRUSTED).role("judge", node(choice, **tiny))
    check_judge(judge, CASES, PAIRS)
    verdicts = judge.judge(CASES[:3])
    assert [verdict.abstained for verdict in verdicts] == [False, True, False]
    assert all(verdict.abstained == math.isnan(verdict.faithfulness) for verdict in verdicts)
