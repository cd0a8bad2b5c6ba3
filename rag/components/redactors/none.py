"""No redaction."""

from collections.abc import Sequence
from typing import ClassVar


class NoRedactor:
    """Finds nothing."""

    changes_nothing: ClassVar[bool] = True

    def find(self, text: str) -> Sequence[tuple[int, int, str]]:
        """Nothing."""
        return ()
