"""Two generators that show what answers can be without retrieval, and at best."""

from time import process_time

from support.scripted_server import say, serving

from rag.components.generators.closed_book import ClosedBookGenerator
from rag.components.generators.gold import GoldGenerator
from rag.components.generators.openai import OpenAiGenerator
from rag.core.roles import fingerprint
from rag.core.types import Chunk, Message, Query, Request, Span, Turn

CONTEXT = Chunk(Span("d", 0, 3), "Sea")
HISTORY = (Turn("user", "Hi"), Turn("assistant", "Hello"), Turn("user", "Who?"), Turn("assistant", "Ada"))


def request(*references: str, history: tuple[Turn, ...] = ()) -> Request:
    said = (Message("system", "Read [1] Sea."), Message("user", "What {question} is it?"))
    return Request(Query("q", "What {question} is it?", history), (CONTEXT,), said, references)


def test_gold_is_the_first_reference_or_nothing() -> None:
    gold = GoldGenerator()
    assert [reply.text for reply in gold.generate([request("a", "b"), request()])] == ["a", ""]
    assert [list(gold.stream(request("a", "b"))), list(gold.stream(request()))] == [["a"], []]
    assert gold.reads_gold


def test_a_closed_book_shows_its_own_words_and_no_context() -> None:
    with serving(say("The sea [1].")) as script:
        made = ClosedBookGenerator(OpenAiGenerator("tiny", script.url), "From memory.", "Q: {question}", turns=2)
        (reply,) = made.generate([request(history=HISTORY)])
        assert "".join(made.stream(request())) == "The sea [1]."
    assert (reply.text, reply.citations) == ("The sea [1].", ())
    assert script.asked[0]["messages"] == [
        {"role": "system", "content": "From memory."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "Ada"},
        {"role": "user", "content": "Q: What {question} is it?"},
    ]
    assert fingerprint(made) == f"tiny@127.0.0.1:{script.server_port}"
    assert made.spending(2, 1200, 9) == OpenAiGenerator("tiny", script.url).spending(2, 200, 9)
    with serving(say("Yes.")) as script:  # without turns and instruction
        ClosedBookGenerator(OpenAiGenerator("tiny", script.url), "", "{question}", turns=0).generate([request(history=HISTORY)])
    assert [message["role"] for message in script.asked[0]["messages"]] == ["user"]


def test_a_reply_of_more_characters_than_are_read_is_a_failure_in_no_time() -> None:
    text = "[1-999] The fee is 4, and " * 65_000
    with serving(say(text), say("word " * 40_000), say("word " * 40_001)) as script:
        began = process_time()
        (reply,) = OpenAiGenerator("tiny", script.url).generate([request()])
        assert process_time() - began < 2, "to read its 65,000 markers takes longer"
        assert (reply.text, reply.failure.count("answered with 1,690,000 characters, more than 40,000")) == ("", 1)
        allowed = OpenAiGenerator("tiny", script.url, max_tokens=25_000)
        long, longer = (allowed.generate([request()])[0] for _ in range(2))
    assert (len(long.text), "more than 200,000" in longer.failure) == (200_000, True)
