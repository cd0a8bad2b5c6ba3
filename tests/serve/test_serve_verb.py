"""`rag serve`: what it refuses to start with, watching its files, and the end by a signal."""

import signal
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from support.changing_bundles import digest, measured, point
from support.command_line import Verb, verb
from support.scripted_server import Exchange, serving, stream
from support.servers import PATIENT, events_of, running, serving_process, until
from support.small_server import ALICE, QUESTION, bearer, small_bundle

rag = pytest.fixture(verb)


def test_a_watched_link_is_reloaded_and_a_process_that_ends_finishes_its_answers(bundle: Path, tmp_path: Path) -> None:
    gate, link = threading.Event(), tmp_path / "current"
    link.symlink_to(bundle)

    def halting(exchange: Exchange) -> None:
        stream("At ", ending=b"")(exchange)
        exchange.wfile.flush()
        assert gate.wait(PATIENT)
        exchange.wfile.write(b'data: {"choices":[{"delta":{"content":"seven."},"finish_reason":"stop"}]}\n\n')

    with serving(halting) as script:
        scripted = small_bundle(tmp_path / "b", "generator=openai", f"generator.base_url={script.url}", "generator.model=m")
        with serving_process(link, tmp_path, "--watch") as server:
            assert server.bundle() == digest(bundle)
            point(link, scripted)
            until(lambda: server.bundle() == digest(scripted))
            body = {"question": QUESTION, "stream": True}
            asked = {"json": body, "headers": bearer(ALICE), "timeout": PATIENT}
            with httpx.stream("POST", f"{server.url}/ask", **asked) as response:
                found = events_of(response.iter_lines())
                assert [next(found)[0], next(found)] == ["passages", ("piece", {"text": "At "})]
                server.process.send_signal(signal.SIGTERM)
                with suppress(httpx.TransportError):
                    while server.bundle():  # until it accepts no connection
                        assert server.process.poll() is None
                gate.set()
                *_, (name, answer) = found
                assert (name, answer["answer"]) == ("answer", "At seven.")
            assert server.process.wait(PATIENT) == 0


def test_a_bundle_that_does_not_answer_as_measured_is_refused(own_bundle: Path, rag: Verb) -> None:
    said = rag("serve", str(measured(own_bundle, "bus.md:0-3")), "--port", "0")
    assert said.code == 2
    assert "does not answer as it was measured" in said.err


def test_a_taken_address_is_refused_before_anything_is_opened(rag: Verb, tmp_path: Path, bundle: Path) -> None:
    with running([bundle], tmp_path / "serve.db") as server:
        said = rag("serve", str(tmp_path / "nothing"), "--port", str(httpx.URL(server.url).port))
    assert (said.code, "cannot be used" in said.err) == (2, True)
