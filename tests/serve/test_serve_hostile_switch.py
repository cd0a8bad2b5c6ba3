"""A hostile bundle is put in the place of the one that a process answers from: it is refused, and no request notices."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, rmtree

import httpx
from support.changing_bundles import digest, measured
from support.forged_bundles import Change, forged, node
from support.live_server import PATIENT
from support.serving_process import serving
from support.small_server import ALICE, QUESTION, bearer

from rag.serve.loaded_bundles import Served


def _tampered(folder: Path) -> None:
    (folder / "documents.jsonl").write_bytes((folder / "documents.jsonl").read_bytes().replace(b"seven", b"eight"))


def _linked(folder: Path) -> None:
    (folder / "documents.jsonl").unlink()
    (folder / "documents.jsonl").symlink_to("/etc/hostname")


def _piped(folder: Path) -> None:
    (folder / "documents.jsonl").unlink()
    os.mkfifo(folder / "documents.jsonl")


HOSTILE: dict[str, tuple[Change, bool]] = {
    "a document that was changed": (_tampered, False),
    "a program for a chunker": (node("chunker", target="os.system", command="touch pwned"), True),
    "a class of ours that opens files": (node("chunker", target="rag.serve.database.Database", url="sqlite:///pwned"), True),
    "answers that were not measured": (lambda folder: measured(folder, "bus.md:0-3"), False),
    "a link for a file": (_linked, False),
    "a pipe for a file": (_piped, False),
    "nothing": (rmtree, False),
}


@contextmanager
def asking(url: str) -> Iterator[list[tuple[int, str]]]:
    """Ask a server without a pause; the statuses and bundles of its answers."""
    stop, answers = threading.Event(), list[tuple[int, str]]()

    def ask() -> None:
        with httpx.Client(base_url=url, timeout=PATIENT, headers=bearer(ALICE)) as client:
            while not stop.is_set():
                response = client.post("/search", json={"question": QUESTION})
                answers.append((response.status_code, response.json().get("bundle", "")))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        stop.set()
        thread.join(PATIENT)


def wait(until: Callable[[], bool], seconds: float = PATIENT) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_hostile_bundle_never_takes_over_and_no_request_is_lost(bundles: list[Path], bundle: Path, tmp_path: Path) -> None:
    good, other = digest(bundles[0]), digest(bundles[1])
    current = tmp_path / "current"
    current.symlink_to(bundle)
    with serving(current, tmp_path, RAG_RATE="0") as (url, process, errors), asking(url) as answers:
        told: list[dict[str, str]] = []

        def refused() -> list[dict[str, str]]:
            lines = [json.loads(line) for line in errors.read().splitlines() if line.startswith("{")]
            told.extend(line for line in lines if line["log"] == "rag.serve.loaded_bundles")
            return told

        wait(lambda: bool(answers))  # before that nothing listens for the signal
        for number, (change, again) in enumerate(HOSTILE.values(), 1):
            forged(bundles[1], tmp_path / f"hostile-{number}", change, again)
            point(current, tmp_path / f"hostile-{number}")
            process.send_signal(signal.SIGHUP)
            wait(lambda number=number: len(refused()) >= number)  # type: ignore[misc]
        assert [line["level"] for line in told] == ["error"] * len(HOSTILE), "one line for each"
        assert all(f"bundle-{good[:12]} goes on: " in json.dumps(line) for line in told)
        assert {*answers} == {(200, good)}
        point(current, bundles[1])
        process.send_signal(signal.SIGHUP)
        wait(lambda: answers[-1][1] == other)
        assert {status for status, _ in answers} == {200}
    assert not list(tmp_path.rglob("pwned"))


def point(link: Path, at: Path) -> None:
    """As somebody who deploys does it."""
    fresh = link.with_name("next")
    fresh.symlink_to(at)
    fresh.replace(link)


def test_what_is_exchanged_after_it_was_verified_changes_nothing(bundles: list[Path], tmp_path: Path) -> None:
    folder = Path(copytree(bundles[0], tmp_path / "served"))
    served = Served([folder])
    before = served.models[0].bundle.pipeline.corpus.documents
    _tampered(folder)
    assert served.models[0].bundle.pipeline.corpus.documents is before
    served.refresh()
    assert served.models[0].bundle.pipeline.corpus.documents is before
