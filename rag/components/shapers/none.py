"""Questions as they were asked."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.looks import Shape
from rag.core.roles.looking import Anchors, Shaped, Viewed


class NoShaper:
    """Gives no shape."""

    changes_nothing: ClassVar[bool] = True

    def shape(self, asked: Sequence[Anchors]) -> list[Shaped]:
        """Empty shapes."""
        return [Shaped(Shape()) for _ in asked]

    def audit(self, asked: Sequence[Anchors], viewed: Sequence[Viewed]) -> list[Shaped]:
        """The shapes as they are."""
        return [Shaped(view.shape) for view in viewed]
