"""No selection: the generator reads what was ranked."""

from typing import ClassVar

from rag.corpus import Corpus
from rag.rankings import Rankings


class NoSelector:
    """Keeps every hit."""

    changes_nothing: ClassVar[bool] = True

    def select(self, rankings: Rankings, corpus: Corpus) -> Rankings:
        """The rankings that came in, the same object."""
        return rankings
