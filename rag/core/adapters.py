"""JSON values → records: the one place where pydantic makes dataclasses of mappings and tuples of lists."""

from functools import lru_cache
from typing import Any, TypeVar

Record = TypeVar("Record")


@lru_cache(maxsize=32)
def _adapter(kind: type[Any]) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def records_from(kind: type[Record], values: Any) -> Record:
    """JSON values as records of a kind; pydantic's ValidationError, a ValueError, for values that do not fit."""
    record: Record = _adapter(kind).validate_python(values)  # type: ignore[arg-type]  # a class is hashable
    return record
