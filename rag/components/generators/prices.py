"""Prices and windows of models, from `conf/prices.yaml` of the working folder, then from the installed one."""

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
"""Host → model → US dollars per million tokens of `prompt` and `completion`; perhaps the tokens of its `window`, and the
part of its prices that a `batch` costs."""
FREE: Mapping[str, float] = {"prompt": 0.0, "completion": 0.0}
LONGEST_REPLY = 4096
"""Tokens of the longest reply of a server without a limit."""

DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}\Z")
"""The date at the end of a pinned model name; the price of the model holds for it too."""


def listed_price(model: str, host: str) -> Mapping[str, float] | None:
    """The price of a model, and its window if it is known; None if the tables have no price."""
    for folder in (Path.cwd() / "conf", shipped("conf")):
        prices = _read(folder / "prices.yaml").get(host, {})
        if price := prices.get(model) or prices.get(DATED.sub("", model)):
            return price
    return None


def price_of(price: Mapping[str, float] | None, model: str, url: str) -> Mapping[str, float]:
    """The given price of a model, else the listed one, else FREE on this machine; empty if it is not known."""
    return price or listed_price(model, urlsplit(url).hostname or "") or (FREE if is_local(url) else {})


def cost_of(price: Mapping[str, float], prompt: int | None, completion: int | None) -> float:
    """US dollars of so many tokens, NaN where the price or a count is not known."""
    if price is FREE:
        return 0.0
    if not price or prompt is None or completion is None:
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
    """True for two numbers of at least 0, `prompt` and `completion`, and perhaps a `window` and the share `batch`."""
    return set(price) - {"window", "batch"} == set(FREE) and min(map(float, price.values())) >= 0
