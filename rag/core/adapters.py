"""JSON values → records: the one place where pydantic makes dataclasses of mappings and tuples of lists."""

from functools import lru_cache
from typing import Any, TypeVar

Record = TypeVar("Record")


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of some keys and values, for a decoder of JSON; ValueError for a repeated key, of which one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"holds the key {next(key for key in keys if keys.count(key) > 1)!r} twice")
    return found


@lru_cache(maxsize=32)
def _adapter(kind: type[Any]) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def records_from(kind: type[Record], values: Any) -> Record:
    """JSON values as records of a kind; pydantic's ValidationError, a ValueError, for values that do not fit."""
    record: Record = _adapter(kind).validate_python(values)  # type: ignore[arg-type]  # a class is hashable
    return record
