"""`rag serve`: what it refuses to start with, and the signals that it hears."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from support.changing_bundles import digest, measured, replaced
from support.command_line import Verb, verb
from support.live_server import PATIENT, events, live
from support.scripted_server import Exchange, serving, stream
from support.small_server import QUESTION, small_bundle

from rag.serve.loaded_bundles import Served

rag = pytest.fixture(verb)


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
