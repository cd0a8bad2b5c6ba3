"""With every shipped prompt an answer is streamed while the model writes it; text that may still change is not."""

import io
import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from rich.cells import cell_len
from rich.console import Console
from support.scripted_server import Exchange, serving, stream
from support.small_set import write_golden

import rag
from rag.components.checks.citations import CitationsCheck
from rag.core.types import Finding, Ranking, Reply, Request
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.conversation.session import Session
from rag.pipeline.pipeline import Pipeline
from rag.reporting.terminal import output, streamed_answer

CONF = Path(rag.__file__).parent.parent / "conf"
PROMPTS = sorted(path.stem for path in (CONF / "prompt").glob("*.yaml"))
STRATEGIES = sorted(OmegaConf.load(CONF / "prompting.yaml").strategies)
WAYS = [*((prompt, "none") for prompt in PROMPTS), *(("plain", strategy) for strategy in STRATEGIES)]
QUESTION = "When does the ferry to Holm leave?"
SECONDS = 30


class Waiting:
    """A model that writes the beginning of a reply, and the rest after a client received that."""

    def __init__(self, begins: str, ends: str) -> None:
        self.begins, self.ends = begins, ends
        self.heard, self.in_time = threading.Event(), False

    def __call__(self, exchange: Exchange) -> None:
        """Answer a request."""
        stream(self.begins, ending=b"")(exchange)
        exchange.wfile.flush()
        self.in_time = self.heard.wait(SECONDS)
        exchange.wfile.write(_rest(self.ends))


def _rest(text: str) -> bytes:
    last = {"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}
    return b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n"


def opened(url: str, *overrides: str) -> Pipeline:
    model = ("generator=openai", "generator.model=m", "generator.runtime.retries=0", "generator.api_key_env=null")
    parts = ("dataset=native", "dataset.path=golden", "embedder=hashing", "index=[bm25s]", "fusion=single", "k=2")
    return open_config(config_of([*parts, *model, f"generator.base_url={url}", *overrides]))


@pytest.mark.parametrize(("prompt", "strategy"), WAYS)
def test_an_answer_is_streamed_while_it_is_written(here: Path, prompt: str, strategy: str) -> None:
    write_golden(here / "golden")
    pieces: list[str] = []
    read: list[Ranking] = []
    model = Waiting("", " at seven [1].\n")
    with serving(model) as server:
        session = Session(opened(server.url, f"prompt={prompt}", f"prompt.reasoning={strategy}"))
        final = getattr(session.pipeline.reading.prompt, "final", "")
        model.begins = f"Kind: question [2].\n**{final}** It leaves" if final else "It leaves"

        def hear(piece: str) -> None:
            assert read, "the passages are known before the answer"
            pieces.append(piece)
            if piece:
                model.heard.set()

        answer = session.ask(QUESTION, hear, read.append).answer
    assert model.in_time
    assert "".join(pieces).strip() == answer.reply.text.strip() == "It leaves at seven [1]."
    assert read == [answer.contexts]
    assert bool(final) == (prompt == "grounded_study" or strategy != "none")


class Cutting:
    """Takes words out of a reply."""

    def inspect(self, requests: list[Request], replies: list[Reply]) -> list[list[Finding]]:
        return [[Finding("cutting", "a secret", "remove", start=0, end=2)] for _ in replies]


@pytest.mark.parametrize("prompt", ["plain", "grounded_study"])
def test_an_answer_that_a_check_may_change_is_streamed_after_the_check(here: Path, prompt: str) -> None:
    write_golden(here / "golden")
    with serving(stream("Final answer: ", "It leaves", " at seven [1].")) as server:
        pipeline = opened(server.url, f"prompt={prompt}")
        pieces: list[str] = []
        answer = Session(replace(pipeline, inspections={"cutting": Cutting()})).ask(QUESTION, pieces.append).answer
        assert [piece for piece in pieces if piece] == [answer.reply.text]
        flags = {"citations": CitationsCheck(on_failure="flag")}
        Session(replace(pipeline, inspections=flags)).ask(QUESTION, (heard := list[str]()).append)
        assert len([piece for piece in heard if piece]) > 1
        strict = {"citations": CitationsCheck(on_failure="refuse")}
        Session(replace(pipeline, inspections=strict)).ask(QUESTION, (heard := list[str]()).append)
        assert len([piece for piece in heard if piece]) == 1


def test_a_client_that_cannot_take_back_gets_an_announced_answer_at_the_end(here: Path) -> None:
    write_golden(here / "golden")
    with serving(stream("Final answer: six\n", "No.\nFinal answer: ", "seven")) as server:
        pipeline = opened(server.url, "prompt=grounded_study")
        late, early = list[str](), list[str]()
        session = Session(pipeline)
        draft = session.ask(QUESTION, early.append).answer
        query = draft.query
        answer = pipeline.answer_from(query, pipeline.trace(query), late.append)
    assert [piece for piece in late if piece] == ["seven"] == [answer.reply.text]
    assert "".join(early) == "six\nNo."
    assert draft.reply.text == "seven"


def shown(pieces: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    screen = Console(file=io.StringIO(), width=20, force_terminal=True, color_system=None, highlight=False)
    with monkeypatch.context() as patched:
        patched.setattr(streamed_answer, "out", screen)
        patched.setattr(output, "out", screen)
        with streamed_answer.Waiting() as hear:
            for piece in pieces:
                hear(piece)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


@given(st.lists(st.text(alphabet="ab 日\n.", max_size=30), max_size=12))
def test_no_line_is_too_long_and_no_word_is_lost(pieces: list[str]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        said = shown(pieces, monkeypatch)
    text = "".join(pieces)
    assert "".join(said.split()) == "".join(text.split())
    longest = max((cell_len(word) for word in text.split()), default=0)
    assert longest > 20 or said.split() == text.split(), "lines break between words"
    assert longest > streamed_answer.LONGEST or all(cell_len(line) <= max(20, longest) for line in said.split("\n"))
