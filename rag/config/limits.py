"""Limits of a config: values of an axis, characters of an override, what a value may refer to, names."""

import math
import re
from collections.abc import Mapping, Sized
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from rag.core.errors import ConfigError

if TYPE_CHECKING:
    from hydra.core.override_parser.types import RangeSweep

MOST_VALUES = 10_000
"""The most values of one axis."""
LONGEST = 200_000
"""Characters of an override."""
SHOWN = 200
"""Characters of an override in a message."""
FORBIDDEN = re.compile(
    r"\$\{(?![^:${}]*\}|\s*oc\.env:\s*(?:[A-Z][A-Z0-9_]*_(?:MODEL|BASE_URL)|RAG_DATA)\s*[,}]|found:|oc\.select:).{0,60}",
    re.DOTALL,
)
"""References that a config may not make. A value can be sent, shown or stored, and a folder's author may have written it."""


def check_references(where: str, value: Any) -> None:
    """Raise ConfigError for a text, at any depth, that reads another variable than a model's name, an address, or RAG_DATA."""
    if isinstance(value, Mapping | list):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, part in parts:
            check_references(f"{where}.{key}" if where else str(key), part)
            check_references(where, key)
    elif found := FORBIDDEN.search(str(value)):
        what = f"holds {found[0]!r}, and configs read variables that end in _MODEL or _BASE_URL, and RAG_DATA"
        remedy = "write the value itself, or a reference to a key of the config such as ${language}"
        raise ConfigError(where or "override", what, remedy)


def check_length(override: str) -> None:
    """Raise ConfigError for an override of more than LONGEST characters."""
    if len(override) > LONGEST:
        raise ConfigError(f"{override[:SHOWN]}…", f"has {len(override):,} characters", f"at most {LONGEST:,}")


def check_axis(where: str, values: object) -> None:
    """Raise ConfigError for more than MOST_VALUES values of an axis; a range is not expanded for it."""
    where = where if len(where) <= SHOWN else f"{where[:SHOWN]}…"
    held = getattr(values, "list", values)  # a choice of Hydra's grammar
    is_range = hasattr(values, "step")
    count = _steps(where, cast("RangeSweep", values)) if is_range else len(held) if isinstance(held, Sized) else 0
    if count > MOST_VALUES:
        raise ConfigError(where, f"names {count:,} values", f"at most {MOST_VALUES:,}")


def _steps(where: str, values: "RangeSweep") -> int:
    start, stop, step = (Decimal(str(value)) for value in (values.start or 0, values.stop or 0, values.step))
    if not (start.is_finite() and stop.is_finite() and step.is_finite() and step):
        raise ConfigError(where, "is not a valid range", "write range(start,stop,step) with finite numbers, step not 0")
    return max(0, math.ceil((stop - start) / step))


def check_name(name: str, where: str) -> None:
    """Raise ConfigError for the name of the folder of baselines, because reports lie in a folder named like the experiment."""
    if name.casefold() == "baselines":
        remedy = "reports/baselines holds baselines: rename the file"
        raise ConfigError(where, f"an experiment cannot be called {name!r}", remedy)
