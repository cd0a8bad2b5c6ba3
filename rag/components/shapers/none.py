"""Questions as they were asked."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.looks import Shape
from rag.core.roles.looking import Asked, Shaped


class NoShaper:
    """Gives no shape."""

    changes_nothing: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ()

    def shape(self, asked: Sequence[Asked]) -> list[Shaped]:
        """The shapes as they are."""
        return [Shaped(one.before or Shape()) for one in asked]
