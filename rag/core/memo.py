"""What is found once for an object, however many trials share it."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, Generic, TypeVar

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


class Recent(Generic[T]):
    """The values of the `most` texts that were used last, computed in batches; safe for threads."""

    def __init__(self, most: int = 4096) -> None:
        self.most = most
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
                self._values[text] = value
                self._values.move_to_end(text)
            while len(self._values) > self.most:
                self._values.popitem(last=False)
        return [values[text] for text in texts]
