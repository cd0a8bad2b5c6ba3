"""No memory."""

from rag.memories.none import NoMemory
from rag.records import Query, Turn
from rag.roles import changes_nothing


def test_earlier_turns_are_not_read() -> None:
    query = Query("q", "And for field crew?", (Turn("user", "How much leave is there?"), Turn("assistant", "26 days.")))
    assert NoMemory().contextualize([query]) == ["And for field crew?"]
    assert changes_nothing(NoMemory())
