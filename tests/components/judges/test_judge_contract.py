"""The laws of judges, for every choice in conf/judge."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.judge_texts import CONTEXTS, SUPPORTED, UNSUPPORTED

from rag.config.build import Components
from rag.core.assessments import Case
from rag.core.roles import Judge

CONF = Path(__file__).parents[3] / "conf" / "judge"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
TRUSTED = ("support",)
TESTS = str(Path(__file__).parents[2])
HEAVY = ("torch", "transformers", "sentence_transformers", "openai", "scipy", "sklearn", "ragas")
CASES = [
    Case(SUPPORTED[0] + " " + UNSUPPORTED[-1], CONTEXTS, "How many days?"),
    Case("", CONTEXTS),
    Case(UNSUPPORTED[0], ()),
    Case("Ein Satz \ud800 ohne Sinn " * 60, ("", "…")),
]
PAIRS = [("How many days?", SUPPORTED[0]), ("How many days?", ""), ("", CONTEXTS[1]), ("\ud800?", "Ein Satz \ud800 " * 60)]


@pytest.fixture
def node(choice: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The choice as its file has it, on models that are at hand."""
    found: dict[str, Any] = yaml.safe_load((CONF / f"{choice}.yaml").read_text(encoding="utf-8"))
    if choice == "nli":
        found |= {"model": str(request.getfixturevalue("tiny_nli")), "revision": None, "max_length": 64}
    if choice == "llm":
        found["generator"] = {"_target_": "support.judge_texts.SayingYes"}
    if choice == "ragas":
        found |= {
            "generator": {"_target_": "support.judge_texts.SayingAsRagasWants"},
            "encoder": {"_target_": "support.judge_texts.WordEncoder"},
        }
    return found


def test_there_are_choices() -> None:
    assert {"local", "nli", "llm", "ragas"} <= set(CHOICES)


@pytest.mark.parametrize("choice", CHOICES)
def test_laws_of_verdicts(node: dict[str, Any]) -> None:
    judge: Judge = Components(TRUSTED).role("judge", node)
    found = judge.judge(CASES)
    assert 0 <= judge.threshold <= 1
    assert [verdict.abstained for verdict in found] == [False, True, False, False]
    for case, verdict in zip(CASES, found, strict=True):
        assert bool(verdict.claims) != verdict.abstained
        for claim in verdict.claims:
            assert 0 <= claim.start < claim.end <= len(case.text)
            assert claim.failure or 0 <= claim.support <= 1
            for where in claim.evidence:
                assert 0 <= where.start < where.end <= len(case.contexts[where.context - 1])
        assert verdict.abstained == math.isnan(verdict.faithfulness)
    assert [judge.judge([case])[0] for case in CASES] == found
    assert judge.judge(CASES[::-1]) == found[::-1]
    assert judge.judge([]) == []


@pytest.mark.parametrize("choice", CHOICES)
def test_laws_of_relevance(node: dict[str, Any]) -> None:
    judge: Judge = Components(TRUSTED).role("judge", node)
    found = judge.relate(PAIRS)
    assert all(0 <= value <= 1 for value in found)
    assert [judge.relate([pair])[0] for pair in PAIRS] == found
    assert judge.relate(PAIRS[::-1]) == found[::-1]
    assert judge.relate([]) == []


@pytest.mark.parametrize("choice", CHOICES)
def test_building_loads_no_model(node: dict[str, Any]) -> None:
    program = (
        "import json, sys\nsys.path.insert(0, sys.argv[2])\nfrom rag.config.build import Components\n"
        "from rag.core.roles import fingerprint\n"
        "name = fingerprint(Components(('support',)).role('judge', json.loads(sys.argv[1])))\n"
        "print(json.dumps([name, [module for module in sys.argv[3:] if module in sys.modules]]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, json.dumps(node), TESTS, *HEAVY], capture_output=True, text=True, check=True
    )
    name, loaded = json.loads(ran.stdout)
    assert (bool(name), loaded) == (node["_target_"] != "rag.components.judges.llm.LlmJudge", [])
