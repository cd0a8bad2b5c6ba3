"""Another bundle takes over while questions are answered; one that does not answer as it was measured never does."""

import threading
from pathlib import Path

import httpx
import pytest
from support.changing_bundles import digest, measured, replaced
from support.live_server import PATIENT, live
from support.small_server import QUESTION

from rag.bundle.open_bundle import open_bundle
from rag.core.errors import UserError
from rag.core.records import Query
from rag.serve.hot_reload import _state
from rag.serve.loaded_bundles import ParityError, Served


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
    (thread,) = held.batcher._threads
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
    with caplog.at_level("ERROR", "rag.serve.loaded_bundles"):
        served.refresh()
    assert served.pick(None).bundle.digest == digest(bundles[0])
    with pytest.raises(UserError):
        served.switch(bundle)
