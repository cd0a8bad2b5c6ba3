"""Clients of OpenAI's API: the library itself, and LangChain's model, streaming and not."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from support.scripted_server import Script, error, say, serving
from support.servers import PATIENT, Server, running
from support.small_server import ALICE, QUESTION, TWO_KEYS, bearer, small_bundle

ANSWER = "The ferry leaves at seven [1]."
PARTS = ("queries=carry_over", "memory=buffer")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Script]:
    """The scripted model of the bundle."""
    with serving(say(ANSWER)) as script:
        yield script


@pytest.fixture(scope="module")
def server(model: Script, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of that model with two keys."""
    folder = tmp_path_factory.mktemp("openai")
    asking = ("generator=openai", f"generator.base_url={model.url}", "generator.model=tiny", *PARTS)
    with running([small_bundle(folder / "b", *asking)], folder / "serve.db", keys=TWO_KEYS) as found:
        yield found


@pytest.fixture
def client(server: Server, model: Script) -> Iterator[openai.OpenAI]:
    """OpenAI's client with a key."""
    model.steps = [say(ANSWER)]
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key=ALICE, max_retries=0, timeout=PATIENT) as found:
        yield found


def user(text: str) -> Any:
    return {"role": "user", "content": text}


def test_a_completion_has_answer_sources_tokens_and_the_fields_of_assay(client: openai.OpenAI, server: Server) -> None:
    found = client.chat.completions.create(model="default", messages=[user(QUESTION)])
    message = found.choices[0].message
    assert (message.content, found.choices[0].finish_reason) == (ANSWER, "stop")
    assert found.usage
    assert (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.total_tokens) == (30, 4, 34)
    assert message.annotations
    cited = message.annotations[0].url_citation
    assert ANSWER[cited.start_index : cited.end_index] == "[1]"
    assert cited.title == "Ferry"
    page = server.client.get(cited.url.partition("#")[0], headers=bearer(ALICE))
    start, end = map(int, cited.url.rpartition("#")[2].split("-"))
    assert "ferry to Holm" in page.json()["text"][start:end]

    known, model = found.model_dump(), server.served.models[0]
    assert (known["model"], known["assay"]["bundle"]) == (model.name, model.bundle.digest)
    assert {"contexts", "citations", "findings", "timings", "cost_usd"} <= set(known["assay"])


@pytest.mark.parametrize("counts", [True, False])
def test_a_stream_has_the_same_answer(client: openai.OpenAI, counts: bool) -> None:
    options: Any = {"stream_options": {"include_usage": True}} if counts else {}
    chunks = list(client.chat.completions.create(model="default", messages=[user(QUESTION)], stream=True, **options))
    choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == ANSWER
    assert choices[0].delta.role == "assistant"
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    assert len({chunk.id for chunk in chunks}) == 1
    annotations = choices[-1].delta.model_dump()["annotations"]
    assert annotations[0]["url_citation"]["title"] == "Ferry"
    usage = [chunk.usage for chunk in chunks if chunk.usage]
    assert [(one.prompt_tokens, one.completion_tokens) for one in usage] == ([(30, 4)] if counts else [])


def test_the_model_sees_the_conversation(client: openai.OpenAI, model: Script) -> None:
    before = [{"role": "system", "content": "Be rude."}, user(QUESTION), {"role": "assistant", "content": ANSWER}]
    parts = [{"type": "text", "text": "And in "}, {"type": "text", "text": "winter?"}]
    found = client.chat.completions.create(model="default", messages=[*before, {"role": "user", "content": parts}])  # type: ignore[list-item]
    sent = [(message["role"], message["content"]) for message in model.asked[-1]["messages"]]
    assert ("user", QUESTION) in sent
    assert ("assistant", "The ferry leaves at seven.") in sent  # its numbers cited other passages
    assert "And in winter?" in sent[-1][1]
    assert not any("rude" in content for _, content in sent)
    assert "ferry" in found.model_dump()["assay"]["sought"]["question"].lower()


def test_parameters_of_a_model_are_accepted_and_ignored(client: openai.OpenAI, model: Script) -> None:
    client.chat.completions.create(model="default", messages=[user(QUESTION)], temperature=2, max_tokens=1, n=1, stop="x")
    assert (model.asked[-1]["temperature"], model.asked[-1]["max_tokens"]) == (0, 512)


def test_models_are_listed(client: openai.OpenAI, server: Server) -> None:
    (found,) = client.models.list().data
    assert (found.id, found.owned_by) == (server.served.models[0].name, "assay")
    assert found.model_dump()["follows"] is True
    assert client.models.retrieve(found.id).id == found.id
    assert client.chat.completions.create(model=found.id, messages=[user(QUESTION)]).model == found.id


@pytest.mark.parametrize(
    ("body", "expected", "said"),
    [
        ({"model": "best"}, openai.NotFoundError, "there is no 'best'"),
        ({"messages": []}, openai.UnprocessableEntityError, "at least 1 item"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, openai.UnprocessableEntityError, "end with a question"),
        ({"messages": [{"role": "user", "content": " "}]}, openai.UnprocessableEntityError, "end with a question"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, openai.UnprocessableEntityError, "not a text"),
        ({"n": 2}, openai.UnprocessableEntityError, "n:"),
    ],
)
def test_an_invalid_request_is_an_error_of_the_client(
    client: openai.OpenAI, body: dict[str, Any], expected: type[openai.APIStatusError], said: str
) -> None:
    with pytest.raises(expected, match=said) as caught:
        client.chat.completions.create(**({"model": "default", "messages": [user(QUESTION)]} | body))
    assert set(caught.value.body) == {"message", "type", "param", "code"}  # type: ignore[arg-type]
    assert caught.value.type == "invalid_request_error"


def test_a_cut_reply_is_passed_on(client: openai.OpenAI, server: Server, model: Script) -> None:
    model.steps = [say("<think>Hm [2].</think>The ferry leaves 【1†source】.", finish="length")]
    asked: Any = {"model": "default", "messages": [user(QUESTION)]}
    choice = client.chat.completions.create(**asked).choices[0]
    chunks = list(client.chat.completions.create(**asked, stream=True))
    assert (choice.message.content, choice.finish_reason) == ("The ferry leaves [1].", "length")
    assert chunks[-1].choices[0].finish_reason == "length"
    answer = server.client.post("/ask", json={"question": QUESTION, "show": ["trace"]}, headers=bearer(ALICE)).json()
    assert (answer["finish"], answer["trace"]["thoughts"]) == ("length", "<think>Hm [2].</think>")
    assert [(found["source"], found["action"]) for found in answer["findings"]] == [("length", "flag")]
    assert [citation["number"] for citation in answer["citations"]] == [1]


@pytest.mark.parametrize("stream", [True, False])
def test_a_model_that_fails_is_an_error_of_the_server(client: openai.OpenAI, model: Script, stream: bool) -> None:
    model.steps = [error(503, "overloaded", {"x-should-retry": "false"})]
    with pytest.raises(openai.APIError, match="model: answered 503") as caught:
        list(client.chat.completions.create(model="default", messages=[user(QUESTION)], stream=stream))
    assert caught.value.type == "server_error"
    if not stream:
        assert isinstance(caught.value, openai.InternalServerError)
        assert caught.value.status_code == 502
