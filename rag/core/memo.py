"""Results that are computed once and shared: by an object that many trials share, or for the whole process."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, wraps
from threading import Lock, RLock
from typing import Any, Generic, TypeVar

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


class Recent(Generic[T]):
    """The values of the texts that were used last, up to `most` of what `size` counts, in batches; safe for threads."""

    def __init__(self, most: int = 4096, size: Callable[[T], int] = lambda value: 1) -> None:
        self.most, self.size, self._held = most, size, 0
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def __call__(self, texts: Sequence[str], compute: Callable[[list[str]], Iterable[T]]) -> list[T]:
        """One value per text; `compute` gets the distinct texts without a value."""
        with self._lock:
            values = {text: self._values[text] for text in texts if text in self._values}
        new = list(dict.fromkeys(text for text in texts if text not in values))
        values |= dict(zip(new, compute(new) if new else (), strict=True))
        with self._lock:
            for text, value in values.items():
                self._held += 0 if text in self._values else self.size(value)
                self._values.setdefault(text, value)
                self._values.move_to_end(text)
            while self._held > self.most:
                self._held -= self.size(self._values.popitem(last=False)[1])
        return [values[text] for text in texts]
