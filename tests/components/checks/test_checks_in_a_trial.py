"""Checks from the config to the report: a model that cites only in its second reply."""

from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.scripted_server import Exchange, Script, say, serving

GIVEN = ("embedder=hashing", "embedder.dimensions=64", "index=[bm25s]", "fusion=single", "latency=0", "chunker=whole")
MODEL = (
    "generator=openai",
    "generator.model=scripted",
    "check=[citations,numbers]",
    "metrics=[recall@5,citation_recall,answered]",
)


@pytest.fixture
def rag(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    return verb(capsys, monkeypatch)


def forgetful(exchange: Exchange) -> None:
    """Cites when it is told to, and says so of everything but dogs."""
    told = "without a source" in exchange.question
    dogs = any("Do dogs and small children pay?" in str(message["content"]) for message in exchange.asked["messages"])
    say("Dogs travel free." if dogs else "It leaves at 7 [1][8]." if told else "It leaves at 7.")(exchange)


def trial(server: Script, golden: Path, on_failure: str) -> tuple[str, ...]:
    where = (f"generator.base_url={server.url}", f"dataset.path={golden}", f"check.citations.on_failure={on_failure}")
    return ("dataset=native", *GIVEN, *MODEL, *where, "--no-track")


def test_what_cites_nothing_is_asked_for_once_more_and_then_refused(rag: Verb, golden: Path, here: Path) -> None:
    with serving(forgetful) as server:
        told = rag("run", *trial(server, golden, "regenerate"), "--json").json
        ((_, tally),) = told["checks"].items()
        # Nothing is found for the lighthouse: there is nothing to cite.
        assert tally["fired"]["citations"] == {"findings": 8, "questions": 6, "actions": {"refuse": 2, "regenerate": 6}}
        assert tally["fired"]["markers"]["questions"] == 4
        assert tally["declined"] == 2
        (row,) = told["trials"]
        assert row["metrics"]["answered"]["mean"] == pytest.approx(4 / 5)
        assert len(server.asked) == 12
        assert told["measured"][row["trial"]]["tokens"] == 12 * 34
        again = rag("run", *trial(server, golden, "regenerate"), "--json").json
        assert (len(server.asked), again["checks"]) == (12, told["checks"])


def test_a_flag_leaves_the_answer_alone(rag: Verb, golden: Path, here: Path) -> None:
    with serving(forgetful) as server:
        ((_, tally),) = rag("run", *trial(server, golden, "flag"), "--json").json["checks"].items()
        assert len(server.asked) == 6
    assert tally["fired"]["citations"] == {"findings": 6, "questions": 6, "actions": {"flag": 6}}
    assert tally["declined"] == 0
