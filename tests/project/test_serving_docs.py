"""What docs/serving.md says of settings, metrics, steps and verbs is so."""

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rag.cli.app import app
from rag.serve import otel_spans, prometheus
from rag.serve.settings import Settings, variable_name

TEXT = (Path(__file__).parents[2] / "docs/serving.md").read_text("utf-8")


def shown(value: Any) -> str:
    """A default as the table has it."""
    if value in ((), None) or not str(value):
        return "none"
    return str(int(value)) if isinstance(value, bool) or value == int(value) else str(value)


def test_every_setting_stands_there_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `(RAG_\w+)` \| (.+?) \|", TEXT, re.MULTILINE))
    told = Settings()
    expected = {variable_name(one.name): getattr(told, one.name) for one in fields(Settings) if one.name != "keys"}
    texts = {name: value if isinstance(value, str) else shown(value) for name, value in expected.items()}
    assert rows == texts | {"RAG_API_KEYS": "none"}


def test_every_metric_that_is_named_is_there() -> None:
    source = Path(prometheus.__file__).read_text("utf-8")
    known = {f"{name}_total" if kind == "Counter" else name for kind, name in re.findall(r'(\w+)\(\s*"(assay_\w+)"', source)}
    assert set(re.findall(r"`(assay_\w+)`", TEXT)) == known


def test_steps_and_attributes_are_those_of_spans() -> None:
    source = Path(otel_spans.__file__).read_text("utf-8")
    tree = TEXT.split("POST /ask", 1)[1].split("\n\n", 1)[0]
    assert [step for step in otel_spans.SEARCHING if step not in tree] == []
    for name in re.findall(r"(?:gen_ai|assay|http|user)\.[a-z_.]*[a-z]", tree):
        assert f'"{name}"' in source, name


@pytest.mark.parametrize("line", [line for line in TEXT.splitlines() if line.startswith("rag ")])
def test_every_command_is_one(line: str) -> None:
    verb, *rest = shlex.split(line.partition("#")[0])[1:]
    known = get_command(app).commands[verb]  # type: ignore[attr-defined]
    options = {option for parameter in known.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= options
