"""Another bundle replaces the one that answers; one that does not answer as it was measured never does."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from support.forged_bundles import node, resealed
from support.servers import PATIENT, running
from support.small_server import QUESTION

from rag.bundle.golden_cases import Case, golden_bytes
from rag.bundle.open_bundle import open_bundle
from rag.core.errors import UserError
from rag.core.types import Query
from rag.serve.loaded_bundles import ParityError, Served, _state


def measured(bundle: Path, *retrieved: str) -> Path:
    """Add a golden question to a bundle with the chunks that were retrieved for it, and seal it again."""
    (bundle / "golden.jsonl").write_bytes(golden_bytes([Case(Query("q1", QUESTION), retrieved)]))
    return resealed(bundle)


def replaced(bundle: Path, by: Path) -> None:
    """Replace the bundle at a path, as a deployment does."""
    bundle.rename(bundle.with_name("old"))
    copytree(by, bundle)


def digest(bundle: Path) -> str:
    """The hash of a bundle."""
    return open_bundle(bundle).digest


def test_the_name_of_a_replaced_model_means_its_replacement_and_a_hash_does_not(
    bundle: Path, other_bundle: Path, tmp_path: Path
) -> None:
    with running([bundle], tmp_path / "serve.db") as server:
        served, before = server.served, server.served.models[0]
        assert served.pick(before.bundle.digest) is before
        after = served.switch(other_bundle)
        assert server.payload("/search", question=QUESTION, model=before.name)["model"] == after.name
        assert [one["id"] for one in server.client.get("/v1/models").json()["data"]] == [after.name]
        with pytest.raises(UserError, match="there is no"):
            served.pick(before.bundle.digest)


def test_the_thread_of_a_replaced_model_ends_with_its_last_question(bundle: Path, other_bundle: Path) -> None:
    served = Served([bundle])
    held = served.pick(None)
    served.switch(other_bundle)
    (thread,) = held.batcher._threads
    assert thread.is_alive()
    assert asyncio.run(held.batcher.search_with_steps(Query("q", QUESTION))), "its questions are still answered"
    del held
    thread.join(PATIENT)
    assert not thread.is_alive()


def test_every_changed_source_is_opened_again(bundle: Path, own_bundle: Path, other_bundle: Path) -> None:
    served = Served([bundle, own_bundle])
    models = served.models
    served.refresh()
    assert served.models is models
    replaced(own_bundle, other_bundle)
    served.refresh()
    assert [model.bundle.digest for model in served.models] == [digest(bundle), digest(other_bundle)]


def test_files_that_change_after_verification_change_nothing(own_bundle: Path) -> None:
    served = Served([own_bundle])
    before = served.models[0].bundle.pipeline.corpus.documents
    (own_bundle / "documents.jsonl").write_bytes(b"x")
    served.refresh()
    assert served.models[0].bundle.pipeline.corpus.documents is before


def test_every_file_of_a_growing_copy_changes_its_state(bundle: Path, tmp_path: Path) -> None:
    copy, states = tmp_path / "copy", list[object]()
    copy.mkdir()
    for path in sorted(bundle.rglob("*"), reverse=True):  # the manifest comes before most of the files that it lists
        if path.is_file():
            (copy / path.relative_to(bundle)).parent.mkdir(exist_ok=True)
            (copy / path.relative_to(bundle)).write_bytes(path.read_bytes())
            states.append(_state(copy))
    assert len(set(states)) == len(states)
    assert _state(tmp_path / "nothing") == ()


def test_only_a_bundle_that_answers_as_measured_is_served(own_bundle: Path) -> None:
    pipeline = open_bundle(own_bundle).pipeline
    found = [hit.chunk.chunk_id for hit in pipeline.contexts(pipeline.trace(Query("q", QUESTION)))]
    assert Served([measured(own_bundle, *found)]).models
    with pytest.raises(ParityError, match="passage 1 was bus"):
        Served([measured(own_bundle, "bus.md:0-3")])


def piped(folder: Path) -> None:
    (folder / "documents.jsonl").unlink()
    os.mkfifo(folder / "documents.jsonl")


BROKEN: dict[str, Callable[[Path], object]] = {
    "answers that were not measured": lambda folder: measured(folder, "bus.md:0-3"),
    "nothing": rmtree,
    "a changed document": lambda folder: (folder / "documents.jsonl").write_bytes(b"x"),
    "a pipe as a file": piped,
    "a program as chunker": lambda folder: (
        node("chunker", target="os.system", command="touch pwned")(folder),
        resealed(folder),
    ),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_bundle_replaces_nothing(
    bundle: Path, own_bundle: Path, other_bundle: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    served = Served([own_bundle])
    replaced(own_bundle, other_bundle)
    BROKEN[broken](own_bundle)
    with caplog.at_level("ERROR", "rag.serve.loaded_bundles"):
        served.refresh()
    assert caplog.messages
    assert served.pick(None).bundle.digest == digest(bundle)
    with pytest.raises(UserError):
        served.switch(own_bundle)
