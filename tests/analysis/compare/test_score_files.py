"""`rag compare` and `rag gate` on files of scores: native numbers, formats of other tools, bad input."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import Verb, verb

import rag as assay
from rag.analysis.compare import compare, score_files
from rag.analysis.gate import score_gate
from rag.analysis.gate.decide import decide, paired
from rag.analysis.gate.spec import Margin
from rag.core.types import Document, Example, Query
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import Scores
from rag.execution.sweep.trial_scores import Result, question_digest

NAMES = [f"Question {row}?" for row in range(40)]
DRAWN = np.random.default_rng(5).uniform(0, 1, (2, 40)).round(3)


@pytest.fixture
def rag(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.chdir(tmp_path)
    return verb(capsys, monkeypatch)


def long(values: Sequence[Any], metric: str = "m", **more: Any) -> list[dict[str, Any]]:
    return [{"question": name, "metric": metric, "value": value, **more} for name, value in pairs(values)]


def write(path: str, rows: Sequence[Mapping[str, Any]]) -> str:
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def test_scores_of_trials_give_the_numbers_of_their_comparison_and_gate(rag: Verb) -> None:
    examples = tuple(Example(Query(name, name), cluster=f"c{row // 2}") for row, name in enumerate(NAMES))
    golden, columns = Golden((Document("d", "text"),), examples), ("ndcg@10", "faithfulness")
    chance, sides = np.random.default_rng(1), []
    for name in ("base", "other"):
        values = chance.uniform(0, 1, (40, 2)).round(6)
        values[3, 1] = np.nan
        scores = Scores(tuple(NAMES), columns, values, np.zeros(40, np.bool_))
        sides.append(Result(name, name, {}, {}, scores, {each.query.query_id: question_digest(each) for each in examples}, {}))
        rows = [
            {"question": question, "cluster": f"c{row // 2}", "metric": column, "value": values[row, place]}
            for row, question in enumerate(NAMES)
            for place, column in enumerate(columns)
        ]
        write(f"{name}.jsonl", rows)
    native = compare(sides[0], sides[1:], golden, columns, ()).rows
    files = score_files.compared(["base.jsonl", "other.jsonl"]).table.rows
    for ours, theirs in zip(native, files, strict=True):
        for key, value in ours.to_json().items():
            if not key.endswith(("_id", "_name")):
                assert theirs.to_json()[key] == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value), key
    margins = [Margin(column, "", 0.02) for column in columns]
    assert score_gate.gate(["base.jsonl", "other.jsonl"]).rows == decide(paired(*sides, golden, columns), margins)
    names, less = ("base.jsonl", "other.jsonl"), ("--lower", "faithfulness", "--json")
    assert assay.compare(*names, lower=["faithfulness"]).to_json() == rag("compare", *names, *less).json
    gated = assay.gate(*names, margins=["ndcg@10=.1"], lower=["faithfulness"])
    assert gated.to_json() == rag("gate", *names, "--margin", "ndcg@10=.1", *less).json
    with pytest.raises(assay.UserError, match="by: is for trials only"):
        assay.compare(*names, by=["kind"])


def pairs(values: Sequence[Any]) -> list[tuple[str, Any]]:
    return list(zip(NAMES, values, strict=False))


def frame(values: Sequence[float], side: str) -> dict[str, Any]:
    return {"columns": ["inputs", "outputs", "latency", "m/score"], "data": [[n, "x", 0.2, v] for n, v in pairs(values)]}


def promptfoo(values: Sequence[float], side: str) -> dict[str, Any]:
    run = {"promptIdx": 0, "provider": {"id": "p"}, "prompt": {"raw": "x", "label": "{{question}}"}}
    rows = [{**run, "vars": {"question": n}, "namedScores": {"m": v}} for n, v in pairs(values)]
    return {"evalId": side, "results": {"version": 3, "results": rows}, "config": {"tests": []}}


def deepeval(values: Sequence[float], side: str) -> dict[str, Any]:
    cases = [{"name": side, "input": n, "metricsData": [{"name": "m", "score": v}]} for n, v in pairs(values)]
    return {"testRunData": {"testCases": cases}, "testRunLink": None}


FORMATS = {
    "mlflow 2": frame,
    "mlflow 3": lambda values, side: [
        {"trace_id": f"{side}{v}", "request": {"question": n}, "m/value": v, "m/rationale": "1"} for n, v in pairs(values)
    ],
    "promptfoo": promptfoo,
    "deepeval": deepeval,
    "ragas": lambda values, side: {
        "user_input": {str(row): n for row, (n, v) in enumerate(pairs(values))},
        "response": dict.fromkeys(map(str, range(40)), "42"),
        "m": {str(row): v for row, (n, v) in enumerate(pairs(values))},
    },
    "langfuse scores": lambda values, side: {
        "data": [{"id": f"{side}{v}", "traceId": n, "name": "m", "value": v, "dataType": "NUMERIC"} for n, v in pairs(values)]
    },
    "langfuse traces": lambda values, side: [{"id": side, "input": n, "m": [v]} for n, v in pairs(values)],
    "csv": lambda values, side: (
        "question;m;comment\n" + "".join(f"{n};{v};{'' if v < 0.5 else 'good'}\n" for n, v in pairs(values))
    ),
}


@pytest.mark.parametrize("tool", FORMATS)
def test_what_other_tools_export_is_known_by_its_content(rag: Verb, tool: str) -> None:
    suffix = "csv" if tool == "csv" else "json"
    for side, values in zip("ab", DRAWN.tolist(), strict=True):
        made = FORMATS[tool](values, side)
        Path(f"{side}.{suffix}").write_text(made if isinstance(made, str) else json.dumps(made), "utf-8")
    (row,) = (row for row in rag("compare", f"a.{suffix}", f"b.{suffix}", "--json").json["rows"] if row["column"] == "m")
    assert (row["n"], row["difference"]) == (40, pytest.approx(DRAWN[1].mean() - DRAWN[0].mean()))


def test_less_is_better_by_name_or_option_and_repeats_count_once(rag: Verb) -> None:
    for metric, options in (("Toxicity", ()), ("odd", ("--lower", "odd"))):
        sides = (
            write("a.jsonl", long([0.2] * 40, metric) + long([0.4] * 40, metric)),
            write("b.jsonl", long([0.6] * 40, metric)),
        )
        said = rag("gate", *sides, *options, "--json")
        (row,) = said.json["rows"]
        assert (said.code, row["n"], row["base"], row["difference"]) == (1, 40, 0.3, 0.3)
        assert "a.jsonl: up to 2 values of a question and metric; their mean counts as one." in said.json["notes"]
        assert f"Worse: {metric}" in rag("compare", *sides, *options).out
        assert rag("gate", *sides[::-1], *options).code == 0
    assert rag("gate", *sides).code == 0, "more is better unless it is said"


def test_another_range_has_no_default_margin_and_no_bound_at_one(rag: Verb) -> None:
    sides = (
        write("a.jsonl", long(1000 + 300 * DRAWN[0], "latency_ms")),
        write("b.jsonl", long(1040 + 300 * DRAWN[0], "latency_ms")),
    )
    assert (refused := rag("gate", *sides)).code == 2
    assert "no metric is a share from 0 to 1: latency_ms" in refused.err
    for margin, code in (("30", 1), ("50", 0)):
        assert rag("gate", *sides, "--margin", f"latency_ms={margin}").code == code
    (row,) = rag("compare", *sides, "--json").json["rows"]
    assert (row["corrected_low"], row["significant"], row["lower"]) == (pytest.approx(40), True, True)


TEXT = [*long([0.5] * 39), {"question": "x", "metric": "m", "value": "high"}]
RUNS = [{**row, "promptIdx": number % 2} for number, row in enumerate(long([0.5] * 40))]


@pytest.mark.parametrize(
    ("rows", "code", "told"),
    [
        pytest.param(long([0.5] * 40, cluster="one"), 3, "40 questions in 1 cluster, and 10 clusters are", id="cluster"),
        pytest.param(long([0.5] * 40), 0, "Nothing is worse", id="ties"),
        pytest.param(long([0.5] * 20 + [math.nan] * 20), 3, "20 questions with a value in one file only; if that", id="NaN"),
        pytest.param(long([math.nan] * 40), 2, "none in common", id="only NaN"),
        pytest.param(TEXT, 2, "row 40: m is 'high', not a number", id="text"),
        pytest.param(long([10**400]), 2, "not a number", id="too large"),
        pytest.param(long([float("inf")] * 40), 2, "row 1: m is inf, not a number", id="infinity"),
        pytest.param(long([0.5] * 30), 2, "--bridge questions", id="questions in one file only"),
        pytest.param([{**row, "question": f"{row['question']} "} for row in long([0.5] * 40)], 0, "", id="blanks"),
        pytest.param([{"question": "other", "metric": "m", "value": 1}], 2, "has no question in common", id="no question"),
        pytest.param([{"metric": "m", "value": 1}], 2, "names no question; its columns: metric, value", id="no name"),
        pytest.param(RUNS, 2, "holds 2 runs", id="runs"),
        pytest.param(long([0.5], cluster="a") + long([0.5], cluster="b"), 2, "which was in 'a'", id="two clusters"),
        pytest.param([], 2, "", id="empty"),
    ],
)
def test_bad_input_is_told_and_has_no_verdict(rag: Verb, rows: Sequence[Mapping[str, Any]], code: int, told: str) -> None:
    same = long([0.5] * 40, cluster="one") if code == 3 and "cluster" in rows[0] else long([0.5] * 40)
    said = rag("gate", write("a.jsonl", same), write("b.jsonl", rows))
    assert (said.code, told in said.out + said.err) == (code, True), said
    if told.startswith("--bridge"):
        assert rag("gate", "a.jsonl", "b.jsonl", *told.split()).code == 0
