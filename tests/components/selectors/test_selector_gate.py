"""The gate: which candidates pass, by a scripted judge, by a small model of inference, and by the local judge."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.choices import build, choices

from rag.components.selectors.gate import GateSelector
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.rankings import Rankings
from rag.core.types import Document, Span
from rag.execution.sweep.open_config import config_of, open_config
from rag.testing import check_selector

WORDS = ("none", "low", "half", "high", "full")
RANKED = Rankings.pack([[(4, 5.0), (0, 4.0), (2, 3.0), (3, 2.0), (1, 1.0)], [(0, 2.0), (1, 1.0)], []])


@dataclass
class WordJudge:
    """Scores a text by the word that it is; the pairs that it was asked for are kept."""

    asked: list[tuple[str, str]] = field(default_factory=list)

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.asked += pairs
        return [WORDS.index(text) / 4 if text in WORDS else 0.0 for _, text in pairs]


class CostlyJudge(WordJudge):
    """A judge that asks a chat model."""

    costly = True


def corpus() -> Corpus:
    documents = [Document(f"d{number}", text) for number, text in enumerate(WORDS)]
    return Corpus.of(documents, [Span(one.doc_id, 0, len(one.text)) for one in documents])


def kept(gate: GateSelector, rankings: Rankings = RANKED) -> list[list[int]]:
    found = gate.select_for(["a", "b", "c"], rankings, corpus())
    return [[position for position, _ in found.row(row)] for row in range(len(found))]


@pytest.mark.parametrize("name", [name for name in choices("selector") if name.endswith("_gate")])
def test_laws(name: str, tiny_nli: Path) -> None:
    # `judge=nli` has its weights on the hub: a small model stands in. The local judge is the one of the choice.
    changes = {"judge": node_of(tiny_nli)} if name == "nli_gate" else {}
    gate = build("selector", name, **changes)
    check_selector(gate)
    assert gate.fingerprint(), "the judge is in the identity"


def node_of(folder: Path) -> dict[str, Any]:
    given = {"model": str(folder), "relevance": "This answers: {question}", "max_length": 64}
    return {"_target_": "rag.components.judges.nli.NliJudge", **given}


def test_hits_at_theta_pass_and_the_order_stays() -> None:
    assert kept(GateSelector(WordJudge(), 0.5)) == [[4, 2, 3], [1], []]
    assert kept(GateSelector(WordJudge(), 0.0)) == [[4, 0, 2, 3, 1], [0, 1], []]
    assert kept(GateSelector(WordJudge(), 1.0)) == [[4], [1], []], "the best one stays below theta"


def test_hits_behind_depth_are_dropped_unread() -> None:
    judge = WordJudge()
    assert kept(GateSelector(judge, 0.0, 2)) == [[4, 0], [0, 1], []]
    assert len(judge.asked) == 4
    gate = GateSelector(judge, 0.5, 2)
    assert gate.reason("a", 2, RANKED.only(0), corpus()) == "not among the first 2 candidates, which the gate reads"
    assert gate.reason("a", 0, RANKED.only(0), corpus()) == "entailment 0.00 is below 0.5"
    assert gate.reason("a", 4, RANKED.only(0), corpus()) == ""


def test_a_pair_is_scored_once() -> None:
    judge = WordJudge()
    gate = GateSelector(judge)
    assert kept(gate) == kept(gate)
    assert len(judge.asked) == len(set(judge.asked)) == 7


def test_bad_parameters() -> None:
    with pytest.raises(ConfigError, match="asks a chat model"):
        GateSelector(CostlyJudge())
    with pytest.raises(ConfigError, match="adds chunks"):
        GateSelector(WordJudge()).select_for(["a"], RANKED.only(0).widened(lambda place: (place, place)), corpus())


def test_a_gate_comes_before_selectors_that_add_chunks(here: Path, golden: Path) -> None:
    with pytest.raises(ConfigError, match="comes behind neighbours"):
        open_config(config_of(["dataset=native", "dataset.path=../golden", "selector=[neighbours,relevance_gate]"]))
