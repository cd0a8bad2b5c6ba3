"""docs/serving.md names the settings, metrics and steps of the code."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from rag.serve import otel_spans, prometheus
from rag.serve.limits import Shares
from rag.serve.settings import Settings, variable_name

TEXT = (Path(__file__).parents[2] / "docs/serving.md").read_text("utf-8")


def shown(value: Any) -> str:
    """A default as the table shows it."""
    if value in ((), None) or not str(value):
        return "none"
    return str(int(value)) if isinstance(value, bool) or value == int(value) else str(value)


def test_every_setting_is_listed_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(RAG_\w+)` \| (.+?) \|", TEXT, re.MULTILINE))
    expected = {
        variable_name(field.name): getattr(Settings(), field.name) for field in fields(Settings) if field.name != "keys"
    }
    texts = {name: value if isinstance(value, str) else shown(value) for name, value in expected.items()}
    assert rows == texts | {"RAG_API_KEYS": "none"}


def test_the_dashboard_shows_every_metric_and_its_labels() -> None:
    meters = prometheus.Meters(Shares(1, 1))
    known = {metric.name + "_total" * (metric.type == "counter"): metric for metric in meters.registry.collect()}
    panels = json.loads((Path(__file__).parents[2] / "docs/grafana.json").read_text("utf-8"))["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    named = {name.removesuffix("_bucket") for text in shown for name in re.findall(r"assay_\w+", text)}
    assert named == {name for name in known if name.startswith("assay_")}
    source = Path(prometheus.__file__).read_text("utf-8")
    for text in shown:
        (name, *_) = (each.removesuffix("_bucket").removesuffix("_total") for each in re.findall(r"assay_\w+", text))
        labels = re.search(rf'"{name}", "[^"]*", \(([^)]*)\)', source)
        used = set(", ".join(re.findall(r"by \(([^)]*)\)", text)).split(", ")) | set(re.findall(r'(\w+)=~?"', text))
        assert used - {"le", ""} <= set(re.findall(r'"(\w+)"', labels[1] if labels else "")), text


def test_steps_and_attributes_are_those_of_spans() -> None:
    source = Path(otel_spans.__file__).read_text("utf-8")
    tree = TEXT.split("POST /ask", 1)[1].split("\n\n", 1)[0]
    assert [step for step in otel_spans.SEARCHING if step not in tree] == []
    for name in re.findall(r"(?:gen_ai|assay|http|user)\.[a-z_.]*[a-z]", tree):
        assert f'"{name}"' in source, name
