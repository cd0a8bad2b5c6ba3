"""The laws of judges, for every choice in conf/judge."""

import json
import math
import subprocess
import sys
from pathlib import Path
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
TESTS = str(Path(__file__).parents[2])
HEAVY = ("torch", "transformers", "sentence_transformers", "openai", "scipy", "sklearn", "ragas")
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


def test_there_are_choices() -> None:
    assert {"local", "nli", "llm", "ragas"} <= set(CHOICES)


@pytest.mark.parametrize("choice", CHOICES)
def test_laws(choice: str, request: pytest.FixtureRequest) -> None:
    tiny = {"model": str(request.getfixturevalue("tiny_nli")), "revision": None, "max_length": 64} if choice == "nli" else {}
    judge: Judge = Components(TRUSTED).role("judge", node(choice, **tiny))
    check_judge(judge, CASES, PAIRS)
    verdicts = judge.judge(CASES[:3])
    assert [verdict.abstained for verdict in verdicts] == [False, True, False]
    assert all(verdict.abstained == math.isnan(verdict.faithfulness) for verdict in verdicts)


def test_building_loads_no_model() -> None:
    program = (
        "import json, sys\nsys.path.insert(0, sys.argv[2])\nfrom rag.config.build import Components\n"
        "from rag.core.roles import fingerprint\n"
        "components = Components(('support',))\n"
        "names = [fingerprint(components.role('judge', node)) for node in json.loads(sys.argv[1])]\n"
        "print(json.dumps([names, [module for module in sys.argv[3:] if module in sys.modules]]))"
    )
    nodes = json.dumps([node(choice) for choice in CHOICES])
    ran = subprocess.run([sys.executable, "-c", program, nodes, TESTS, *HEAVY], capture_output=True, text=True, check=True)
    names, loaded = json.loads(ran.stdout)
    assert loaded == []
    assert [choice for choice, name in zip(CHOICES, names, strict=True) if not name] == ["llm"], "a scripted generator has none"
