"""What tracing tools export is read as results of a system, and becomes drafts of golden questions.

`exports/` has what the tools wrote for one chain: OTLP's file exporter 0.66 with OpenInference's LangChain 0.1.80 and with
`gen_ai`, Phoenix's client 3.5, MLflow 3.17, LangSmith 0.15, Langfuse's client 5.0, promptfoo 0.121.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rag.core.errors import DataError
from rag.core.types import Document
from rag.plugins.exchange_formats.imports import Report, import_set
from rag.plugins.exchange_formats.samples import Reading
from rag.plugins.systems.result_rows import read_results

EXPORTS = {path.stem: path for path in (Path(__file__).parent / "exports").iterdir()}
SPAN = {"traceId": "t", "type": "SPAN", "level": "DEFAULT", "input": "A?"}


def export(name: str) -> Any:
    return json.loads(EXPORTS[name].read_text("utf-8"))


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize("tool", EXPORTS)
def test_a_trace_is_the_reply_to_its_question(tmp_path: Path, tool: str) -> None:
    found, _ = read_results(EXPORTS[tool])
    reply = found["When does the ferry leave?"]
    assert [passage.document.partition(":")[0] for passage in reply.passages] == ["ferry.md", "bus.md"]
    text = "" if tool == "gen_ai" else "The ferry to Holm leaves at seven."
    assert (reply.passages[0].text, reply.failure, reply.reply and reply.reply.text) == (text, "", "At seven.")
    paid = {"gen_ai": (52, 7), "langfuse": (10, 4), "promptfoo": (8, 4)}.get(tool, (0, 0))
    assert reply.reply is not None
    assert (reply.reply.prompt_tokens, reply.reply.completion_tokens) == paid
    if tool == "langfuse":
        assert (reply.seconds, reply.reply.cost) == (1.5, 0.002)
    if tool == "promptfoo":  # an answer that an assertion refuses, and an error
        assert [found[name].failure for name in ("What does a bus ticket cost?", "Fail please")] == ["", "index is gone"]
    spans = [SPAN, {**SPAN, "traceId": "u", "level": "ERROR", "statusMessage": "gone", "input": "B?"}]
    found, _ = read_results(written(tmp_path / "export", spans))
    assert [found[name].failure for name in ("A?", "B?")] == ["its trace has no span that finds passages", "gone"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("<!DOCTYPE html><html><body>Log in</body></html>", "is a page in HTML"),
        ('{"resourceSpans": ' + "[" * 100_000, "not valid JSON"),
        (
            [{"traceId": "t", "type": "SPAN", "body": 1}],
            "expected in a span of such an export: trace: traceId or trace_id; kind",
        ),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "t", "attributes": ["x"]}]}]}]}, "spans of another form"),
        ({"resourceSpans": [{"instrumentationLibrarySpans": []}]}, "has no trace with a question"),
        ([{**SPAN, "type": "RETRIEVER", "traceId": name, "output": [name]} for name in "tu"], "'A?' a second time"),
    ],
)
def test_an_export_of_another_form_is_refused_with_what_was_expected(tmp_path: Path, content: Any, what: str) -> None:
    with pytest.raises(DataError) as caught:
        read_results(written(tmp_path / "export", content))
    assert what in str(caught.value)


def test_any_values_in_a_trace_are_read_or_refused(tmp_path: Path) -> None:
    odd: list[Any] = [
        None,
        float("nan"),
        -1,
        10**400,
        [],
        {"a": {}},
        "\0",
        '["',
        [{"role": 3}],
        {"messages": [None]},
        {"documents": [1]},
    ]
    draw = random.Random(0)
    for _ in range(300):
        made = export("langfuse")
        for record in [made["trace"], *made["observations"]]:
            record |= {draw.choice([*record]): draw.choice(odd) for _ in range(2)}
        try:
            read_results(written(tmp_path / "export", made))
        except DataError:
            continue


def drafted(path: Path, reading: Reading) -> tuple[Report, list[dict[str, Any]]]:
    text = "# Boats\n\nThe ferry to Holm leaves at seven. The bus to Holm leaves at eight."
    to = path.with_name(f"set-{reading.seed}")
    report = import_set(path, to, {"ferry.md": Document("ferry.md", text)}, {}, "2026-11-28", reading)
    return report, [json.loads(line) for line in (to / "questions.jsonl").read_text("utf-8").splitlines()]


def test_traces_become_drafts_of_each_stratum(tmp_path: Path) -> None:
    traces = []
    for number in range(40):
        *_, trace = export("mlflow")["traces"]
        trace["info"] = {"trace_id": f"tr-{number}", "assessments": trace["info"]["assessments"] if number < 6 else []}
        asked, search = (span["attributes"] for span in trace["data"]["spans"][:2])
        asked["mlflow.spanInputs"] = json.dumps(
            {"question": f"When does {'bus' if number % 8 else 'ferry'} {number} leave today?"}
        )
        search["mlflow.spanOutputs"] = search["mlflow.spanOutputs"].replace("0.1", str(number / 100))
        for each in trace["info"]["assessments"]:
            each["feedback"]["value"] = number % 2 == 0
        traces += [trace] * (1 + (number == 9))
    traces += [{**traces[-1], "info": {"trace_id": "again"}}]
    path = written(tmp_path / "traces.json", {"traces": traces})
    report, rows = drafted(path, Reading("", 8, 1, ["When does bus 1 leave today?"]))
    tagged = {tag: sum(tag in row["tags"] for row in rows) for tag in ("trace", "thumbs_down", "low_margin", "new_topic")}
    assert (tagged["trace"], tagged["thumbs_down"]) == (8, 2)  # of 1, 3 and 5 the first is known
    assert min(tagged.values()) >= 2
    assert ["answers" in row for row in rows] == [False] * 2 + [True] * 6
    assert {row["evidence"][0]["any"][0]["quote"] for row in rows} <= {
        "The ferry to Holm leaves at seven.",
        "The bus to Holm leaves at eight.",
    }
    assert all(row["tags"][-1] == "unconfirmed" for row in rows)
    assert report.notes[0].endswith("left out: 2 near-duplicates, 31 over the limit")
    assert [row["id"] for row in drafted(path, Reading("", 8, 2))[1]] != [row["id"] for row in rows]
