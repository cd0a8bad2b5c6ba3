"""What is found once for an object, however many trials share it."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """Results by the identity of an object. It keeps the object, so that no other one gets its id; it must not be changed."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def __call__(self, value: object, find: Callable[[], T], *kind: str) -> T:
        """What was found for this object and `kind`, or what `find` now finds; an error is not kept."""
        key = id(value), *kind
        if key not in self._found:
            self._found[key] = value, find()
        found: T = self._found[key][1]
        return found
