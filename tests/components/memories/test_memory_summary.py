"""A running summary: when it is made, of what, and that it depends on the history alone."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from support.scripted_generator import Scripted, in_turn

from rag.components.memories.summaries import ModelSummary, Older, PickedSentences, Summary
from rag.components.memories.summary_buffer import SummaryBufferMemory
from rag.core.errors import ServiceError
from rag.core.text import tokens
from rag.core.types import Message, Query, Recalled, Turn


class Joining:
    """A summarizer whose summaries say what went in; the calls are kept."""

    def __init__(self) -> None:
        self.asked: list[list[Older]] = []

    def summarise(self, olders: Sequence[Older], tokens: int) -> list[Summary]:
        self.asked.append(list(olders))
        return [Summary("+".join(filter(None, (o.summary, *(t.text for t in o.turns)))), "", 5, 0.5) for o in olders]


def talk(exchanges: int) -> tuple[Turn, ...]:
    return tuple(turn for n in range(exchanges) for turn in (Turn("user", f"q{n}"), Turn("assistant", f"a{n}")))


def recall(exchanges: int, **limits: Any) -> Recalled:
    return SummaryBufferMemory(Joining(), **limits).recall([Query("q", "now?", talk(exchanges))])[0]


def test_an_overflow_sums_up_the_oldest_exchanges_down_to_a_share_of_the_limit() -> None:
    # 8 messages overflow 6; half of 6 leaves room for one exchange.
    assert recall(4, turns=6) == Recalled(talk(4)[6:], "q0+a0+q1+a1+q2+a2", 5, 0.5)
    assert recall(4, turns=6, keep=1.0) == Recalled(talk(4)[2:], "q0+a0", 5, 0.5)


def test_between_two_overflows_no_summary_is_made_and_none_is_paid_for() -> None:
    assert recall(5, turns=6) == Recalled(talk(5)[6:], "q0+a0+q1+a1+q2+a2", 0, 0.0)


def test_a_buffer_of_nothing_is_a_pure_summary() -> None:
    assert recall(3, turns=0) == Recalled((), "q0+a0+q1+a1+q2+a2", 5, 0.5)


def test_tokens_are_a_limit_too() -> None:
    memory = SummaryBufferMemory(Joining(), turns=None, tokens=12)
    history = (Turn("user", "one two three four five"), Turn("assistant", "six seven eight nine"), Turn("user", "ten eleven"))
    assert sum(tokens.count(turn.text) for turn in history) == 11
    assert memory.recall([Query("q", "", history)])[0].summary == ""
    (recalled,) = memory.recall([Query("q", "", (*history, Turn("assistant", "twelve thirteen")))])
    assert recalled.turns == (Turn("user", "ten eleven"), Turn("assistant", "twelve thirteen"))
    assert recalled.summary == "one two three four five+six seven eight nine"


def test_the_summary_of_a_growing_conversation_is_the_one_that_it_had() -> None:
    """What a question recalls is what the fold of the shorter history left, plus one step."""
    summarizer = Joining()
    memory = SummaryBufferMemory(summarizer, turns=4)
    memory.recall([Query(str(n), "now?", talk(n)) for n in range(9)])
    asked = [older for batch in summarizer.asked for older in batch]
    assert len(asked) == len(set(asked)), "a summary is made once for all the questions that need it"
    steps = sorted(asked, key=lambda older: len(older.summary))
    for before, after in itertools.pairwise(steps):
        assert after.summary == "+".join(filter(None, (before.summary, *(turn.text for turn in before.turns))))


def test_picked_sentences_are_those_with_values_in_their_order() -> None:
    turns = (
        Turn("user", "Hello there. My badge number is 4417."),
        Turn("assistant", "Thank you. Your crew is the Pell crew."),
        Turn("user", "It rains a lot."),
    )
    (summary,) = PickedSentences().summarise([Older("", turns)], 22)
    assert summary.text.splitlines() == ["user: My badge number is 4417.", "assistant: Your crew is the Pell crew."]
    (again,) = PickedSentences().summarise([Older(summary.text, (Turn("user", "The gate code is 9."),))], 40)
    assert again.text.splitlines() == [*summary.text.splitlines(), "user: The gate code is 9."]


@pytest.mark.parametrize("most", [0, 1, 3, 8, 20])
def test_a_summary_is_never_longer_than_it_may_be(most: int) -> None:
    older = Older("user: Something old 1.", (Turn("user", "word " * 50), Turn("assistant", "Short. Also short 2.")))
    (summary,) = PickedSentences().summarise([older], most)
    assert tokens.count(summary.text) <= most


def model_of(*replies: str | Exception) -> Scripted:
    return Scripted(in_turn(*replies, tokens=(8, 2), cost=0.25))


PROMPT = "Before: {summary}\nNow:\n{turns}"


def test_the_prompt_has_the_old_summary_and_the_turns_and_braces_stay_text() -> None:
    model = model_of("They talked.")
    found = ModelSummary(model, "Sum up.", PROMPT).summarise([Older("old {turns}", (Turn("user", "hi\nthere"),))], 50)
    assert found == [Summary("They talked.", "", 10, 0.25)]
    assert model.requests[0].messages == (
        Message("system", "Sum up."),
        Message("user", "Before: old {turns}\nNow:\nuser: hi there"),
    )
    ModelSummary(model := model_of("Fine."), "", PROMPT).summarise([Older("", ())], 50)
    assert model.requests[0].messages == (Message("user", "Before: (none)\nNow:\n"),)


def test_a_reply_that_is_too_long_is_cut() -> None:
    (found,) = ModelSummary(model_of("one two three four"), "", PROMPT).summarise([Older("", ())], 2)
    assert found.text == "one two"


def test_one_conversation_whose_summary_fails_does_not_cost_the_others_theirs() -> None:
    error = ServiceError("http://here", "answered 400", "ask less")
    # The batch fails as a whole, then each is asked for alone.
    model = model_of("a", error, "A fine summary.", error)
    olders = [Older("", (Turn("user", "My code is 77."),)), Older("", (Turn("user", "My code is 88."),))]
    first, second = ModelSummary(model, "", PROMPT).summarise(olders, 50)
    assert (first.text, first.note) == ("A fine summary.", "")
    assert (second.text, second.note) == ("user: My code is 88.", "sentences were picked: answered 400")
