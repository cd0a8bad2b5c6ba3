"""Another bundle takes over while questions are answered; one that does not answer as it was measured never does."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copytree

import httpx
import pytest
from forged import resealed
from live_server import PATIENT, events, live
from scripted_server import Exchange, serving, stream
from small_server import QUESTION, small_bundle
from verbs import Verb, verb

from rag.bundle.opened import open_bundle
from rag.bundle.proof import Case, lines_of
from rag.errors import UserError
from rag.records import Query
from rag.serve.served import ParityError, Served
from rag.serve.switching import _state

rag = pytest.fixture(verb)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two bundles of one golden set."""
    one, other = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("other")
    return [small_bundle(one, "generator=extractive"), small_bundle(other, "generator=extractive", "chunker=whole")]


@pytest.fixture
def bundle(bundles: list[Path], tmp_path: Path) -> Path:
    """A copy of the first bundle, at a path of its own."""
    return Path(copytree(bundles[0], tmp_path / "served"))


def measured(bundle: Path, *retrieved: str) -> Path:
    """Seal into a bundle a golden question, and what is said to have been found for it."""
    (bundle / "golden.jsonl").write_bytes(lines_of([Case(Query("q1", QUESTION), retrieved)]))
    return resealed(bundle)


def replaced(bundle: Path, by: Path) -> None:
    """Put another bundle at a path, as somebody who deploys does."""
    bundle.rename(bundle.with_name("old"))
    copytree(by, bundle)


def digest(bundle: Path) -> str:
    return open_bundle(bundle).digest


def test_no_request_is_lost_while_bundles_change(bundles: list[Path], tmp_path: Path) -> None:
    digests = {digest(bundle) for bundle in bundles}
    served, answers, stop = Served([bundles[0]]), list[tuple[int, str, str]](), threading.Event()

    def ask(url: str) -> None:
        with httpx.Client(base_url=url, timeout=PATIENT) as client:
            while not stop.is_set():
                response = client.post("/ask", json={"question": QUESTION})
                told = response.json()
                answers.append((response.status_code, told.get("bundle", ""), response.headers["x-assay-bundle"]))

    with live(served, tmp_path / "serve.db") as server:
        threads = [threading.Thread(target=ask, args=(server.url,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for turn in range(1, 7):
            before = len(answers)
            served.switch(bundles[turn % 2])
            while len(answers) < before + 8:  # some are answered by each
                server.client.get("/healthz")
        stop.set()
        for thread in threads:
            thread.join(PATIENT)
    assert {status for status, _, _ in answers} == {200}
    assert {told for _, told, _ in answers} == digests
    assert all(told == header for _, told, header in answers)


def test_a_name_leads_to_what_took_its_place(bundles: list[Path], tmp_path: Path) -> None:
    served = Served([bundles[0]])
    before = served.models[0]
    with live(served, tmp_path / "serve.db") as server:
        after = served.switch(bundles[1])
        assert server.told("/search", question=QUESTION, model=before.name)["model"] == after.name
        assert [one["id"] for one in server.client.get("/v1/models").json()["data"]] == [after.name]


def test_a_hash_means_this_bundle_and_no_other(bundles: list[Path]) -> None:
    served = Served([bundles[0]])
    known = served.models[0].bundle.digest
    assert served.pick(known).bundle.digest == known
    served.switch(bundles[1])
    with pytest.raises(UserError, match="there is no"):
        served.pick(known)


def test_the_thread_of_what_was_replaced_ends_with_its_last_question(bundles: list[Path]) -> None:
    served = Served([bundles[0]])
    held = served.pick(None)
    served.switch(bundles[1])
    thread = held.batcher._thread
    assert thread.is_alive()
    del held
    thread.join(PATIENT)
    assert not thread.is_alive()


def test_the_same_bundle_again_changes_nothing(bundles: list[Path]) -> None:
    served = Served(bundles)
    models = served.models
    served.refresh()
    assert served.models is models


def test_each_of_several_is_refreshed(bundle: Path, bundles: list[Path]) -> None:
    served = Served([bundles[0], bundle])
    replaced(bundle, bundles[1])
    served.refresh()
    assert [model.bundle.digest for model in served.models] == [digest(one) for one in bundles]


def test_a_copy_that_grows_in_place_is_looked_at_again(bundles: list[Path], tmp_path: Path) -> None:
    copy, states = tmp_path / "copy", list[object]()
    copy.mkdir()
    for path in sorted(bundles[0].rglob("*"), reverse=True):  # the manifest comes before most of what it lists
        if path.is_file():
            (copy / path.relative_to(bundles[0])).parent.mkdir(exist_ok=True)
            (copy / path.relative_to(bundles[0])).write_bytes(path.read_bytes())
            states.append(_state(copy))
    assert len(set(states)) == len(states)
    assert _state(tmp_path / "nothing") == ()


def test_what_answers_as_it_was_measured_is_served(bundle: Path) -> None:
    pipeline = open_bundle(bundle).pipeline
    found = [hit.chunk.chunk_id for hit in pipeline.contexts(pipeline.trace(Query("q", QUESTION)))]
    assert Served([measured(bundle, *found)]).models


def test_what_does_not_answer_as_it_was_measured_is_not_served(bundle: Path) -> None:
    with pytest.raises(ParityError, match="passage 1 was bus"):
        Served([measured(bundle, "bus.md:0-3")])


@pytest.mark.parametrize("broken", ["mismatch", "gone", "bit"])
def test_what_cannot_be_served_does_not_take_over(
    bundle: Path, bundles: list[Path], broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    served = Served([bundle])
    replaced(bundle, bundles[1])
    if broken == "mismatch":
        measured(bundle, "bus.md:0-3")
    elif broken == "gone":
        bundle.rename(bundle.with_name("elsewhere"))
    else:
        (bundle / "documents.jsonl").write_bytes(b"x")
    with caplog.at_level("ERROR", "rag.serve.served"):
        served.refresh()
    assert served.pick(None).bundle.digest == digest(bundles[0])
    with pytest.raises(UserError):
        served.switch(bundle)


@contextmanager
def process(*arguments: str, folder: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`rag serve` on a free port: its address, and the process, which ends with the block."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAG_API")}
    command = [sys.executable, "-c", "from rag.cli import main; main()", "serve", "--port", "0", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment | {"COLUMNS": "200"}, **pipes) as found:  # type: ignore[call-overload]
        try:
            yield _address(found.stdout), found
        finally:
            found.kill()


def _address(lines: Iterator[str]) -> str:
    line = next(line for line in lines if line.startswith("http://"))
    address = line.split()[0]
    with httpx.Client(base_url=address, timeout=PATIENT, transport=httpx.HTTPTransport(retries=8)) as client:
        assert client.get("/readyz").status_code == 200
    return address


def until(reached: Callable[[], bool]) -> None:
    """Ask until it is so."""
    end = time.monotonic() + PATIENT
    while not reached():
        assert time.monotonic() < end


def test_a_signal_changes_over_and_another_ends_in_order(bundle: Path, bundles: list[Path], tmp_path: Path) -> None:
    with process(str(bundle), folder=tmp_path) as (url, server), httpx.Client(base_url=url, timeout=PATIENT) as client:
        assert client.get("/healthz").headers["x-assay-bundle"] == digest(bundles[0])
        replaced(bundle, bundles[1])
        server.send_signal(signal.SIGHUP)
        until(lambda: client.get("/healthz").headers["x-assay-bundle"] == digest(bundles[1]))
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENT) == 0


def test_a_process_that_is_ended_finishes_what_it_says(tmp_path: Path) -> None:
    gate = threading.Event()

    def halting(exchange: Exchange) -> None:
        stream("At ", ending=b"")(exchange)
        exchange.wfile.flush()
        assert gate.wait(PATIENT)
        exchange.wfile.write(b'data: {"choices":[{"delta":{"content":"seven."},"finish_reason":"stop"}]}\n\n')

    with serving(halting) as script:
        made = small_bundle(tmp_path / "b", "generator=openai", f"generator.base_url={script.url}", "generator.model=m")
        with (
            process(str(made), folder=tmp_path) as (url, server),
            httpx.stream("POST", f"{url}/ask", json={"question": QUESTION, "stream": True}, timeout=PATIENT) as response,
        ):
            found = events(response.iter_lines())
            assert [next(found)[0], next(found)] == ["passages", ("piece", {"text": "At "})]
            server.send_signal(signal.SIGTERM)
            with suppress(httpx.TransportError):
                while httpx.get(f"{url}/healthz", timeout=PATIENT):  # until nobody is taken any more
                    assert server.poll() is None
            gate.set()
            *_, (name, answer) = found
            assert (name, answer["answer"]) == ("answer", "At seven.")
            assert server.wait(PATIENT) == 0


def test_a_link_that_is_watched_changes_over(bundles: list[Path], tmp_path: Path) -> None:
    link = tmp_path / "current"
    link.symlink_to(bundles[0])
    with (
        process(str(link), "--watch", folder=tmp_path) as (url, _),
        httpx.Client(base_url=url, timeout=PATIENT) as client,
    ):
        assert client.get("/healthz").headers["x-assay-bundle"] == digest(bundles[0])
        (tmp_path / "next").symlink_to(bundles[1])
        (tmp_path / "next").rename(link)
        until(lambda: client.get("/healthz").headers["x-assay-bundle"] == digest(bundles[1]))


def test_a_bundle_with_a_mismatch_does_not_start(bundle: Path, rag: Verb, tmp_path: Path) -> None:
    said = rag("serve", str(measured(bundle, "bus.md:0-3")), "--port", "0")
    assert said.code == 2
    assert "does not answer as it was measured" in said.err


def test_an_address_that_is_taken_is_told_before_anything_is_opened(rag: Verb, tmp_path: Path, bundles: list[Path]) -> None:
    with live(Served([bundles[0]]), tmp_path / "serve.db") as server:
        said = rag("serve", str(tmp_path / "nothing"), "--port", str(httpx.URL(server.url).port))
    assert (said.code, "cannot be had" in said.err) == (2, True)


def test_what_is_no_bundle_is_told(rag: Verb, tmp_path: Path) -> None:
    said = rag("serve", str(tmp_path / "nothing"), "--port", "0")
    assert (said.code, "is not there" in said.err) == (2, True)
