"""No memory, and the last turns as they were said."""

import pytest

from rag.components.memories.buffer import BufferMemory
from rag.components.memories.none import NoMemory
from rag.core.errors import ConfigError
from rag.core.records import Query, Recalled, Turn
from rag.core.roles import changes_nothing

HISTORY = (Turn("user", "How much leave is there?"), Turn("assistant", "26 days."))
QUERY = Query("q", "And for field crew?", HISTORY)


def test_earlier_turns_are_not_read() -> None:
    assert NoMemory().recall([QUERY]) == [Recalled()]
    assert changes_nothing(NoMemory())


def test_the_last_messages_are_recalled() -> None:
    assert BufferMemory(1).recall([QUERY]) == [Recalled(HISTORY[1:])]
    assert BufferMemory(5).recall([QUERY]) == BufferMemory(None).recall([QUERY]) == [Recalled(HISTORY)]
    with pytest.raises(ConfigError, match=r"memory\.turns: is 0"):
        BufferMemory(0)
