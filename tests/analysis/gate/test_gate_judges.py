"""A metric of a judge may fail a build only with a current calibration card; otherwise it warns."""

import importlib
import sys
from pathlib import Path

import pytest
from support.command_line import Verb
from support.gate_experiment import write_gated

from rag.execution.graph.plan import components_for
from rag.execution.store.store import Entry, Store

GATE = 'gate: {metrics: {opinion@5: 0.03}, bounds: ["failed == 0", "opinion@5 >= 0.9"]}\n'
FIXED = ', "+metric.opinion._target_=sage.opinion.Opinion", "metrics=[ndcg@10,recall@5,opinion@5]"'
OPINION = '''\
import numpy as np


class Opinion:
    """Rates a ranking by the length of its first passage."""

    judge = True

    def score(self, judged, cut):
        return np.where(judged.answerable, np.clip(judged.chars_read[:, 0] / 700, 0, 1), np.nan)
'''


@pytest.fixture(autouse=True)
def _sage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin with the judge, as if it were installed."""
    (tmp_path / "plugin" / "sage").mkdir(parents=True)
    (tmp_path / "plugin" / "sage" / "__init__.py").write_text("", "utf-8")
    (tmp_path / "plugin" / "sage" / "opinion.py").write_text(OPINION, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "plugin"))
    importlib.invalidate_caches()
    for name in ("sage", "sage.opinion"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: ("sage",))


def test_without_a_card_it_warns_and_with_one_it_fails(rag: Verb) -> None:
    write_gated(Path("study.yaml"), Path("../golden"), gate=GATE, fixed=FIXED)
    assert rag("sweep", "study.yaml", "--no-track").code == 0
    assert rag("baseline", "study.yaml").code == 0
    warned = rag("gate", "study.yaml", "chunker.size=120", "--json")
    assert (warned.code, warned.json["verdict"]) == (0, "PASS")
    assert warned.json["sentence"].endswith("No calibration card, so a warning: opinion@5; opinion@5 >= 0.9.")
    (row,) = warned.json["rows"]
    assert (row["verdict"], row["advisory"]) == ("FAIL", True)
    assert [(bound["verdict"], bound["advisory"]) for bound in warned.json["bounds"]] == [("PASS", False), ("FAIL", True)]
    assert "**WARN**" in Path("reports/study/gate/gate.md").read_text("utf-8")
    assert "WARN" in rag("gate", "study.yaml", "chunker.size=120").out

    store = Store(".rag/store")
    identity = components_for(store).identity({"_target_": "sage.opinion.Opinion"}, "metric.opinion")
    store.write(f"cards/{identity}", Entry(meta={"agreement": 0.9}))
    assert rag("gate", "study.yaml", "chunker.size=120").code == 1
