"""A chunk is read as it is quoted."""

from collections.abc import Sequence
from typing import ClassVar

from rag.core.corpus import Corpus


class PlainText:
    """Gives the characters of every chunk."""

    changes_nothing: ClassVar[bool] = True

    def texts(self, corpus: Corpus) -> Sequence[str]:
        """The texts of the chunks."""
        return corpus.texts
