"""The table of prices, by host and model."""

import math
from pathlib import Path

import pytest
import yaml

from rag.components.generators.openai import OpenAiGenerator
from rag.components.generators.prices import listed_price
from rag.core.errors import ConfigError
from rag.core.files import shipped
from rag.core.types import Message, Query, Request

ASKED = Request(Query("q", "Who?"), (), (Message("user", "Who?"),))
LISTED = {"prompt": 0.40, "completion": 1.60, "window": 1047576, "batch": 0.5}


def test_listed_prices_are_dollars_per_million() -> None:
    assert listed_price("gpt-4.1-mini", "api.openai.com") == LISTED
    assert listed_price("gpt-4.1-mini-2025-04-14", "api.openai.com") == listed_price("gpt-4.1-mini", "api.openai.com")
    assert listed_price("gpt-4.1-mini", "models.invalid") is None, "a price is that of one seller"
    assert listed_price("unheard-of", "api.openai.com") is None


def test_a_generator_without_a_price_takes_the_listed_one() -> None:
    made = OpenAiGenerator("gpt-4.1-mini")
    assert made.expected(ASKED) == (1 + 512, pytest.approx((1 * 0.40 + 512 * 1.60) / 1e6))
    assert made.spending(10, 1000) == (10 * 1512, pytest.approx((10 * 1000 * 0.40 + 10 * 512 * 1.60) / 1e6))
    assert made.spending(10, 1000, 40) == (10 * 1040, pytest.approx((10 * 1000 * 0.40 + 10 * 40 * 1.60) / 1e6))
    assert made.spending(1, 0, 9999) == made.spending(1, 0), "no reply is longer than it may be"
    assert OpenAiGenerator("gpt-4.1-mini", max_tokens=None).spending(1, 0)[0] == 4096
    assert math.isnan(OpenAiGenerator("unheard-of").expected(ASKED)[1])
    assert OpenAiGenerator("m", "http://127.0.0.1:1/v1").expected(ASKED)[1] == 0.0
    assert OpenAiGenerator("gpt-4.1-mini", price={"prompt": 0, "completion": 1e6}).expected(ASKED)[1] == 512.0


def test_a_table_of_ones_own_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "prices.yaml").write_text("api.openai.com:\n  mine: {prompt: 1, completion: 2}\n", "utf-8")
    assert listed_price("mine", "api.openai.com") == {"prompt": 1, "completion": 2}
    assert listed_price("gpt-4.1-mini", "api.openai.com") == LISTED


@pytest.mark.parametrize(
    "text",
    ["- a", "host: {model: 3}", "h: {m: {prompt: 1, window: 1}}", "a: b: c", "h: {m: {prompt: -1, completion: 0}}"],
)
def test_a_table_that_is_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "prices.yaml").write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=r"prices\.yaml: is not a valid table of prices"):
        listed_price("gpt-4.1-mini", "api.openai.com")


def test_presets_that_cost_have_a_listed_price() -> None:
    for name, host in (("groq", "api.groq.com"), ("gemini", "generativelanguage.googleapis.com")):
        node = yaml.safe_load((shipped("conf") / "generator" / f"{name}.yaml").read_text("utf-8"))
        model = node["model"].partition(",")[2].rstrip("}")
        assert host in node["base_url"]
        assert listed_price(model, host), model
