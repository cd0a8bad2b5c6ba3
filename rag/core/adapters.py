"""JSON values → records: the one place where pydantic makes dataclasses of mappings and tuples of lists."""

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=32)
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def records_from(kind: Any, values: Any) -> Any:
    """JSON values as records of a kind; pydantic's ValidationError, a ValueError, for values that do not fit."""
    return _adapter(kind).validate_python(values)
