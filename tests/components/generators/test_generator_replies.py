"""What models send besides an answer: thoughts, refusals, tools, cut replies, spent quotas; and the fields that they refuse."""

import re
from pathlib import Path

import pytest
from support.scripted_server import SOON, Step, error, say, send, serving

from rag.components.generators.openai import OpenAiGenerator
from rag.core.errors import RefusalError, ServiceError
from rag.core.models.thoughts import split_thoughts
from rag.core.types import Chunk, Message, Query, Reply, Request, Span
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import StoredGenerator
from rag.execution.store.store import Store
from rag.pipeline.prompt.postprocess import streamed


def request(prompt: str = "Who?") -> Request:
    return Request(Query("q", "Who?"), (Chunk(Span("a", 0, 1), "x"),) * 2, (Message("user", prompt),))


def both(step: Step, prompt: str = "Who?") -> tuple[Reply, str]:
    """The reply, which is the same whole and streamed, and the pieces of the stream; a failure is raised by the stream."""
    pieces: list[str] = []
    with serving(step) as script:
        made = OpenAiGenerator("tiny", script.url)
        (whole,) = made.generate([request(prompt)])
        if whole.failure:
            with pytest.raises(RefusalError, match=re.escape(whole.failure)):
                list(made.stream(request(prompt)))
        else:
            assert streamed(made.stream(request(prompt)), pieces.append) == whole
    return whole, "".join(pieces)


THOUGHT, ANSWER = "Is it [1]?", "Ada < Bob [2]."
BEGUN = f"{THOUGHT}\n</think>\n\n{ANSWER}"  # by the template of the chat: a stream cannot know it in time
HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>"
IN_TEXT = ("<think>{}</think>\n\n{}", " <thought>{}</thought>{}", "[THINK]{}[/THINK] {}", "<|channel>thought\n{}<channel|>{}")
WHOLE = [say(form.format(THOUGHT, ANSWER)) for form in (*IN_TEXT, HARMONY)]
IN_FIELDS = [say(ANSWER, **{name: THOUGHT}) for name in ("reasoning_content", "reasoning", "thinking")]
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, {"type": "text", "text": ANSWER}]


@pytest.mark.parametrize("step", [*WHOLE, *IN_FIELDS, say(PARTS), say(BEGUN)])
def test_thoughts_are_no_part_of_an_answer(step: Step) -> None:
    reply, pieces = both(step)
    assert (reply.text, reply.citations, THOUGHT in reply.thoughts) == (ANSWER, (2,), True)
    assert pieces in (ANSWER, BEGUN)


@pytest.mark.parametrize("text", ["a <think> b", "<b>Ada</b>", " \n[1] says so.", "`<think>`\n</think>\n", "[THIN", "Ada."])
def test_other_tags_are_text(text: str) -> None:
    assert (both(say(text))[1], split_thoughts(text)) == (text, (text, "", False))


NO_ANSWER = [
    (say(f"<think>{THOUGHT}"), "ended inside its thoughts", "thinking off"),
    (say(f"<|channel|>analysis<|message|>{THOUGHT}"), "ended inside its thoughts", "max_tokens"),
    (say("<think>Hm", finish="MAX_TOKENS"), "spent all of its tokens", "max_tokens"),
    (say(None, refusal="I cannot."), "refused to answer: I cannot.", "other words"),
    (say(None, tool_calls=[{"id": "1"}]), "asked for a tool", "switch tools off"),
]


@pytest.mark.parametrize(("step", "what", "remedy"), NO_ANSWER)
def test_a_reply_without_an_answer_says_why(step: Step, what: str, remedy: str) -> None:
    said = RefusalError.of(both(step)[0].failure)
    assert (what in said.what, remedy in said.remedy) == (True, True)


LONG = "The ferry leaves at seven. " * 400  # 2,700 tokens by our estimate
NOTED = [
    *((say(ANSWER, finish=finish), "Who?", "length", "length") for finish in ("length", "MAX_TOKENS", "model_length")),
    (say(ANSWER, finish="content_filter"), "Who?", "content_filter", "content_filter"),
    (say(ANSWER, tool_calls=[{"id": "1"}]), "Who?", "tool_calls", "tool_calls"),
    (say(ANSWER, finish="eos"), "Who?", "stop", ""),
    (say(ANSWER, usage={"prompt_tokens": 1300}), LONG, "stop", "prompt_cut"),
    (say(ANSWER, usage={"prompt_tokens": 1400}), LONG, "stop", ""),
    (say(ANSWER, usage={"prompt_tokens": 300}), "-" * 20_000 + "Who?", "stop", ""),  # a ruler is one token
]


@pytest.mark.parametrize(("step", "prompt", "finish", "noted"), NOTED)
def test_what_a_reader_should_know_becomes_a_note(step: Step, prompt: str, finish: str, noted: str) -> None:
    reply, _ = both(step, prompt)
    assert (reply.text, reply.finish, ",".join(reply.notes)) == (ANSWER, finish, noted)


WORDS = {
    "temperature": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
}
REFUSED = {name: send(400, {"error": {"message": words, "param": name}}) for name, words in WORDS.items()}
REFUSED["seed"] = send(422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]})


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_field_is_left_out_said_and_part_of_stored_replies(name: str, tmp_path: Path) -> None:
    store, asked = Store(str(tmp_path)), [request("a"), request("b")]
    with serving(REFUSED[name], say(ANSWER), say(ANSWER, model="other")) as script:
        replies = StoredGenerator(OpenAiGenerator("tiny", script.url, concurrency=1), store, "id").generate(asked)
        assert [name in body for body in script.asked] == [True, False, False]
        assert ("max_completion_tokens" in script.asked[1]) == (name == "max_tokens")
        assert [name in reply.notes["fields"] for reply in replies] == [True, True]
        assert "other_model" in replies[1].notes
        again = StoredGenerator(OpenAiGenerator("tiny", script.url), store, "id", Ledger(store, Terms(replay="only")))
        assert (again.generate(asked), len(script.asked)) == (replies, 3)


BOTH_LIMITS = [REFUSED["max_tokens"], send(400, {"error": {"message": WORDS["max_tokens"], "param": "max_completion_tokens"}})]
PER_DAY = [{"error": {"message": "Quota", "details": ["GenerateRequestsPerDayPerProject"]}}]
AT_ONCE = [
    ([error(429, "You exceeded your quota", SOON, "insufficient_quota")], "add credit", None),
    ([send(429, PER_DAY, SOON)], "add credit", None),
    ([error(429, "Slow down", {"Retry-After": "90"})], "Slow down (Retry-After: 90)\n  → wait, check the quota, or lower", 90),
    ([error(400, "max_tokens is too large: 512. This model supports at most 4")], "null leaves", None),
    (BOTH_LIMITS, "null leaves", None),
]


@pytest.mark.parametrize(("steps", "remedy", "wait"), AT_ONCE)
def test_a_spent_quota_a_long_wait_and_a_wrong_value_are_reported_at_once(steps: list[Step], remedy: str, wait: float) -> None:
    with serving(*steps) as script, pytest.raises(ServiceError) as caught:
        OpenAiGenerator("tiny", script.url, retries=2).generate([request()])
    assert (len(script.asked), caught.value.wait, remedy in str(caught.value)) == (len(steps), wait, True)
