"""Prices of models, from `conf/prices.yaml` of the working folder, then from the installed one."""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from rag.core.errors import ConfigError
from rag.core.files import shipped
from rag.core.models.server_keys import is_local

Prices = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Host → model → US dollars per million tokens of `prompt` and `completion`."""

DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}\Z")
"""The date at the end of a pinned model name; the price of the model holds for it too."""


def listed_price(model: str, host: str) -> Mapping[str, float] | None:
    """US dollars per million tokens of `prompt` and `completion`; None if the tables have no price."""
    for folder in (Path.cwd() / "conf", shipped("conf")):
        prices = _read(folder / "prices.yaml").get(host, {})
        if price := prices.get(model) or prices.get(DATED.sub("", model)):
            return price
    return None


def cost_of(price: Mapping[str, float] | None, model: str, url: str, prompt: int | None, completion: int | None) -> float:
    """US dollars of so many tokens: 0 on this machine without a `price`, NaN where the price or a count is not known."""
    if price is None and is_local(url):
        return 0.0
    price = listed_price(model, urlsplit(url).hostname or "") if price is None else price
    if price is None or prompt is None or completion is None:
        return math.nan
    return (prompt * price["prompt"] + completion * price["completion"]) / 1e6


@lru_cache(maxsize=8)
def _read(path: Path) -> Prices:
    if not path.is_file():
        return {}
    try:
        table: Prices = yaml.safe_load(path.read_text("utf-8")) or {}
        for price in (price for models in table.values() for price in models.values()):
            if not is_price(price):
                raise ValueError(f"{price} is not a price")
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:200]
        example = "host: {model: {prompt: 0.4, completion: 1.6}}"
        raise ConfigError(str(path), f"is not a valid table of prices ({reason})", f"expected {example}") from error
    return table


def is_price(price: Mapping[str, float]) -> bool:
    """True for exactly two numbers of at least 0, `prompt` and `completion`."""
    return set(price) == {"prompt", "completion"} and min(map(float, price.values())) >= 0
