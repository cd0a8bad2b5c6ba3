"""The candidate of a gate, its differences from the baseline, and the parsing of gates."""

from pathlib import Path

import pytest
from support.command_line import Verb

from rag.analysis.gate import candidate, last_line, measure, spec
from rag.analysis.gate.spec import Gate, Margin
from rag.config.experiment import load
from rag.core.errors import ConfigError, ProblemsError
from rag.execution.sweep.objective import Bound

COLUMNS = ["recall@5", "ndcg@10"]


def test_a_change_replaces_overrides_of_its_key_and_inside_its_choice() -> None:
    held = ["chunker=fixed", "chunker.size=400", "index=[bm25s]", "index.bm25s.k1=0.9", "+metric.mine._target_=a.B", "k=5"]
    assert candidate.under(["chunker.size=40"], held) == [held[0], *held[2:]]
    assert candidate.under(["chunker=whole"], held) == held[2:]
    # Several indexes may be chosen at once: settings of one remain when another is added.
    assert candidate.under(["index=[bm25s,dense]"], held) == [*held[:2], *held[3:]]
    floored = ["selector=[score_floor,neighbours]", "selector.score_floor.floor=0.2"]
    assert candidate.under(["selector=[neighbours]"], floored) == floored[1:]
    assert candidate.under(["+metric.mine._target_=c.D", "~k"], held) == held[:4]
    assert candidate.under([], held) == held


def test_configs_differ_by_key_and_by_class_of_a_replaced_component() -> None:
    fixed, whole = {"_target_": "a.Fixed", "size": 400}, {"_target_": "a.Whole"}
    base = {"chunker": fixed, "k": 5, "index": {"a": {"_target_": "a.A"}, "b": {"_target_": "a.B"}}, "dataset": {"path": "x"}}
    assert candidate.changed(base, {**base, "dataset": {"path": "y"}}) == ()
    assert candidate.changed(base, {**base, "chunker": {**fixed, "size": 40}, "k": 10}) == (
        ("chunker.size", 400, 40),
        ("k", 5, 10),
    )
    assert candidate.changed(base, {**base, "chunker": whole}) == (("chunker", "a.Fixed", "a.Whole"),)
    assert candidate.changed(base, {**base, "index": {"a": {"_target_": "a.A"}}}) == (("index.b", "a.B", None),)
    turned = {"b": {"_target_": "a.B"}, "a": {"_target_": "a.A"}}
    assert candidate.changed(base, {**base, "index": turned}) == (("index", ["a", "b"], ["b", "a"]),)
    chosen, other = {"selector": base["index"]}, {"selector": turned}
    assert candidate.changed(chosen, other) == (("selector", ["a", "b"], ["b", "a"]),)
    assert candidate.changed({"selector": {}}, chosen) == (("selector.a", None, "a.A"), ("selector.b", None, "a.B"))


def test_the_default_gate() -> None:
    failed = Bound.parse("failed == 0")
    assert spec.parse({}, "maximize recall@5", COLUMNS) == Gate((Margin("recall@5", "", 0.02),), (failed,), "holdout", "warn")
    # A gate compares latencies itself; the margin is for the usual metric.
    assert spec.parse({}, "minimize latency_p95_ms", COLUMNS).margins == (Margin("ndcg@10", "", 0.02),)
    assert spec.parse({"metrics": {"recall@5": 0}}, "", COLUMNS).bounds == (failed,)


def test_a_gate_keeps_the_order_of_its_settings() -> None:
    raw = {
        "split": "all",
        "metrics": {"ndcg@10": 0.03, "recall@5": {"margin": 0.05, "slices": {"kind": 0.1, "kind=table": 0.2}}},
    }
    gate = spec.parse(raw | {"bounds": ["failed == 0", "latency_p95_ratio ≤ 1.3"], "inconclusive": "fail"}, "", COLUMNS)
    margins = [Margin("ndcg@10", "", 0.03), Margin("recall@5", "", 0.05), Margin("recall@5", "kind", 0.1)]
    assert gate.margins == (*margins, Margin("recall@5", "kind=table", 0.2))
    assert [bound.text for bound in gate.bounds] == ["failed == 0", "latency_p95_ratio <= 1.3"]
    assert (gate.split, gate.inconclusive, gate.columns) == ("all", "fail", ("ndcg@10", "recall@5"))
    gate = spec.parse({"metrics": {"recall@5": {"slices": {"kind": 0.1}}}}, "", COLUMNS)
    assert gate.margins == (Margin("recall@5", "kind", 0.1),)
    with pytest.raises(ConfigError, match="has no margin"):
        spec.parse({"metrics": {"recall@5": {"slices": {}}}}, "", COLUMNS)


def test_secrets_stay_out_of_the_name_of_a_change(rag: Verb) -> None:
    changes = ["+index.bm25s.api_key=sesame", "chunker.size=580"]
    with pytest.raises(ProblemsError, match="has no parameter 'api_key'"):
        measure.prepare(load("study.yaml"), changes, Path("reports/baselines/study.json"))
    assert [measure.written(change) for change in changes] == [
        "+index.bm25s.api_key=[redacted: secret-by-name]",
        "chunker.size=580",
    ]
    assert (
        last_line("Traceback (most recent call last):\nValueError: http://ann:sesame@host")
        == "ValueError: http://ann:[redacted: url-password]@host"
    )
