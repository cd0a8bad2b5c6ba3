"""Loading a model once per process, however many components name it."""

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from threading import RLock
from typing import TypeVar

Loaded = TypeVar("Loaded")


def once(kept: int) -> Callable[[Callable[..., Loaded]], Callable[..., Loaded]]:
    """Memoise a loader and keep its last `kept` results.

    Threads that ask together wait for one load; `lru_cache` alone would let each of them load.
    """

    def decorate(load: Callable[..., Loaded]) -> Callable[..., Loaded]:
        lock = RLock()
        cached = lru_cache(maxsize=kept)(load)

        @wraps(load)
        def loaded(*arguments: Hashable) -> Loaded:
            with lock:
                return cached(*arguments)

        return loaded

    return decorate
