"""Results that are computed once and shared: by an object that many trials share, or for the whole process."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import RLock
from typing import Any, TypeVar

T = TypeVar("T")


class Once:
    """Results by the identity of an object. It keeps the object, so that no other one gets its id; it must not be changed."""

    def __init__(self) -> None:
        self._results: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def __call__(self, value: object, compute: Callable[[], T], *kind: str) -> T:
        """The result for this object and `kind`, from `compute` the first time; an error is not kept."""
        key = id(value), *kind
        if key not in self._results:
            self._results[key] = value, compute()
        result: T = self._results[key][1]
        return result


def once(kept: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Decorate a loader: its last `kept` results are kept, and threads that call together wait for one load.

    `lru_cache` alone would let each of the threads load.
    """

    def decorate(load: Callable[..., T]) -> Callable[..., T]:
        lock = RLock()
        cached = lru_cache(maxsize=kept)(load)

        @wraps(load)
        def locked(*arguments: Hashable) -> T:
            with lock:
                return cached(*arguments)

        return locked

    return decorate
