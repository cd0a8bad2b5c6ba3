"""What models cost, from `conf/prices.yaml`: that of the working folder, then the one that came with this installation."""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import yaml

from rag.core.errors import ConfigError
from rag.core.files import shipped

DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}\Z")
"""The end of a name that pins a version of a model: it costs what the model costs."""


def listed(model: str, host: str) -> Mapping[str, float] | None:
    """US dollars per million tokens of `prompt` and `completion`; None where nobody wrote a price down."""
    for folder in (Path.cwd() / "conf", shipped("conf")):
        prices = _read(folder / "prices.yaml").get(host, {})
        if found := prices.get(model) or prices.get(DATED.sub("", model)):
            return found
    return None


@lru_cache(maxsize=8)
def _read(path: Path) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    if not path.is_file():
        return {}
    try:
        table = yaml.safe_load(path.read_text("utf-8")) or {}
        for models in table.values():
            for price in models.values():
                if set(price) != {"prompt", "completion"} or not min(map(float, price.values())) >= 0:
                    raise ValueError(f"{price} is no price")
    except (OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())[:200]
        raise ConfigError(
            str(path), f"is no table of prices ({said})", "host: {model: {prompt: 0.4, completion: 1.6}}"
        ) from error
    found: Mapping[str, Mapping[str, Mapping[str, float]]] = table
    return found
