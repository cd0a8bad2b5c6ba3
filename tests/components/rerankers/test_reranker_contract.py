"""The laws of rerankers, for every choice in conf/reranker."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag.config.build import Components
from rag.core.roles import Reranker, changes_nothing

CONF = Path(__file__).parents[3] / "conf" / "reranker"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
HEAVY = ("torch", "transformers", "sentence_transformers", "openai")
QUERIES = ["How many days of leave do I have?", "", "leave days"]
PASSAGES = [
    ["Annual leave is 25 days.", "", "The boiler is old.", "Annual leave is 25 days.", "leave \ud800 days " * 300],
    [],
    ["days", "leave", "?"],
]
SCORES = [[0.9, 0.8, 0.7, 0.6, 0.5], [], [3.0, 2.0, 1.0]]


@pytest.fixture
def node(choice: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The choice as its file has it, on models that are at hand."""
    text = (CONF / f"{choice}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    for name, value in found.items():
        if value == "${embedder}":
            found[name] = {"_target_": "rag.components.embedders.hashing.HashingEmbedder"}
    if choice == "cross_encoder":
        found |= {"model": str(request.getfixturevalue("tiny_cross_encoder")), "revision": None, "max_length": 64}
    if choice == "maxsim":
        found["encoder"]["runtime"] |= {"threads": 1}
    return found


@pytest.fixture
def reranker(node: dict[str, Any]) -> Any:
    return Components().role("reranker", node)


def test_there_are_choices() -> None:
    assert {"none", "maxsim", "cross_encoder", "mmr"} <= set(CHOICES)


@pytest.mark.parametrize("choice", CHOICES)
def test_laws_of_scores(reranker: Reranker) -> None:
    found = reranker.score(QUERIES, PASSAGES, SCORES)
    assert [len(row) for row in found] == [5, 0, 3]
    assert all(type(value) is float and math.isfinite(value) for row in found for value in row)
    assert reranker.score(QUERIES, PASSAGES, SCORES) == found
    assert [reranker.score([q], [p], [s])[0] for q, p, s in zip(QUERIES, PASSAGES, SCORES, strict=True)] == found
    assert reranker.score(QUERIES[::-1], PASSAGES[::-1], SCORES[::-1]) == found[::-1]
    assert reranker.score([], [], []) == []
    assert reranker.score(["a"], [[]], [[]]) == [[]]


@pytest.mark.parametrize("choice", CHOICES)
def test_pairwise_scores_depend_on_the_pair_alone(reranker: Reranker) -> None:
    found = reranker.score(QUERIES, PASSAGES, SCORES)
    alone = [
        [reranker.score([query], [[text]], [[0.0]])[0][0] for text in texts]
        for query, texts in zip(QUERIES, PASSAGES, strict=True)
    ]
    assert not reranker.pairwise or alone == found
    if not reranker.pairwise and not changes_nothing(reranker):
        assert alone != found, "it could say pairwise = True and be stored by pair"


@pytest.mark.parametrize("choice", CHOICES)
def test_no_change_means_the_same_scores(reranker: Reranker) -> None:
    assert (reranker.score(QUERIES, PASSAGES, SCORES) == SCORES) == changes_nothing(reranker)


@pytest.mark.parametrize("choice", CHOICES)
def test_building_loads_no_model(node: dict[str, Any]) -> None:
    program = (
        "import json, sys\nfrom rag.config.build import Components\nfrom rag.core.roles import fingerprint\n"
        "name = fingerprint(Components().role('reranker', json.loads(sys.argv[1])))\n"
        "print(json.dumps([name, [module for module in sys.argv[2:] if module in sys.modules]]))"
    )
    ran = subprocess.run([sys.executable, "-c", program, json.dumps(node), *HEAVY], capture_output=True, text=True, check=True)
    name, loaded = json.loads(ran.stdout)
    assert loaded == []
    assert bool(name) == (node["_target_"].rpartition(".")[2] in ("MaxSimReranker", "CrossEncoderReranker"))
