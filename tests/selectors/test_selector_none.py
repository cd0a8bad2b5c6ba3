"""No selection."""

from rag.corpus import Corpus
from rag.rankings import Rankings
from rag.roles import changes_nothing
from rag.selectors.none import NoSelector


def test_what_comes_in_goes_out() -> None:
    rankings = Rankings.pack([[(2, 0.5), (1, 0.25)]])
    assert NoSelector().select(rankings, Corpus.of([], [])) is rankings
    assert changes_nothing(NoSelector())
