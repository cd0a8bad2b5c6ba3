"""Hostile bundles at the path of a running process: each is refused, and no request is lost."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, rmtree

import httpx
from support.changing_bundles import digest, measured, point
from support.forged_bundles import Change, forged, node
from support.servers import PATIENT, serving_process, until
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
    "a changed document": (_tampered, False),
    "a program as chunker": (node("chunker", target="os.system", command="touch pwned"), True),
    "a class of ours that opens files": (node("chunker", target="rag.serve.database.Database", url="sqlite:///pwned"), True),
    "answers that were not measured": (lambda folder: measured(folder, "bus.md:0-3"), False),
    "a link as a file": (_linked, False),
    "a pipe as a file": (_piped, False),
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
                named = response.json().get("bundle", "")
                answers.append((response.status_code, named if named == response.headers["x-assay-bundle"] else "another"))
                stop.wait(0.01)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        stop.set()
        thread.join(PATIENT)


def test_a_hostile_bundle_never_replaces_another_and_no_request_is_lost(
    bundle: Path, other_bundle: Path, tmp_path: Path
) -> None:
    good, other = digest(bundle), digest(other_bundle)
    current = tmp_path / "current"
    current.symlink_to(bundle)
    with serving_process(current, tmp_path, RAG_RATE="0") as server, asking(server.url) as answers:
        refusals: list[dict[str, str]] = []

        def refused() -> int:
            refusals.extend(line for line in server.log_lines() if line["log"] == "rag.serve.loaded_bundles")
            return len(refusals)

        until(lambda: answers)  # before its first answer the process does not handle the signal
        for number, (change, again) in enumerate(HOSTILE.values(), 1):
            forged(other_bundle, tmp_path / f"hostile-{number}", change, again)
            point(current, tmp_path / f"hostile-{number}")
            server.process.send_signal(signal.SIGHUP)
            until(lambda number=number: refused() >= number)  # type: ignore[misc]
        assert [line["level"] for line in refusals] == ["error"] * len(HOSTILE), "one line for each"
        assert all(f"bundle-{good[:12]} goes on: " in json.dumps(line) for line in refusals)
        assert {*answers} == {(200, good)}
        point(current, other_bundle)
        server.process.send_signal(signal.SIGHUP)
        until(lambda: answers[-1][1] == other)
        assert {status for status, _ in answers} == {200}
    assert not list(tmp_path.rglob("pwned"))


def test_files_that_change_after_verification_change_nothing(bundle: Path, tmp_path: Path) -> None:
    folder = Path(copytree(bundle, tmp_path / "served"))
    served = Served([folder])
    before = served.models[0].bundle.pipeline.corpus.documents
    _tampered(folder)
    assert served.models[0].bundle.pipeline.corpus.documents is before
    served.refresh()
    assert served.models[0].bundle.pipeline.corpus.documents is before
