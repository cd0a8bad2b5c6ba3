"""Models that MLflow loads from bundles: the same answers, no pickle, no other bundle than the registered one."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
import pytest
from support.forged_bundles import resealed
from support.registered_models import QUESTIONS, Place, bundle_folder, request

from rag.bundle.open_bundle import Bundle, open_bundle
from rag.core.text.citations import without_markers
from rag.core.types import Query, Request, Turn
from rag.pipeline.shapes.passage_fates import traced_answer
from rag.plugins.mlflow_registry.agent import BundleAgent
from rag.plugins.mlflow_registry.register import register


def bundle_answer(bundle: Bundle, *texts: str) -> dict[str, Any]:
    """The answer of the bundle itself."""
    roles: tuple[Literal["user", "assistant"], ...] = ("user", "assistant")
    history = tuple(Turn(roles[number % 2], without_markers(text)) for number, text in enumerate(texts[:-1]))
    query = Query("ask", texts[-1], history)
    trace = bundle.pipeline.trace(query)
    return {"bundle": bundle.digest, **traced_answer(bundle.pipeline, trace, bundle.pipeline.answer_from(query, trace))}


def as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


TALK = ("What does the amber lantern cost?", "It costs 10 crowns. [1]", "And the copper kettle?")


@pytest.mark.parametrize("turns", [*((question,) for question in QUESTIONS), TALK])
def test_a_model_answers_as_its_bundle_whole_and_in_pieces(answering: Any, turns: tuple[str, ...]) -> None:
    asked, expected = request(*turns), bundle_answer(answering.bundle, *turns)
    asked["input"].insert(0, {"role": "system", "content": "Answer in verse."})
    *pieces, last = list(answering.model.predict_stream(asked))
    assert "".join(piece["delta"] for piece in pieces) == expected["answer"]
    found = answering.model.predict(asked)
    for item, outputs in ((found["output"][0], found["custom_outputs"]), (last["item"], last["custom_outputs"])):
        assert item["content"][0]["text"] == expected["answer"]
        assert as_json(outputs) == as_json(expected)


def test_annotations_point_at_the_markers(answering: Any) -> None:
    bundle, model = answering.bundle, answering.model
    content = model.predict(request(QUESTIONS[0]))["output"][0]["content"][0]
    assert content["annotations"], "the extractive answer cites what it quotes"
    for annotation in content["annotations"]:
        assert content["text"][annotation["start_index"] : annotation["end_index"]].startswith("[")
        doc_id, _, place = annotation["url"].removeprefix("/documents/").partition("#")
        start, end = map(int, place.split("-"))
        document = next(each for each in bundle.pipeline.corpus.documents if each.doc_id == doc_id)
        assert content["text"][: annotation["start_index"]].strip() in document.text[start:end]


@pytest.mark.parametrize("turns", [[], [("assistant", "Yes?")], [("user", "Hm?"), ("assistant", "Yes?")], [("user", " ")]])
def test_a_conversation_without_a_question_is_refused(answering: Any, turns: list[tuple[str, str]]) -> None:
    model = answering.model
    with pytest.raises(Exception, match=r"(does not end with a message of a user|is empty)"):
        model.predict({"input": [{"role": role, "content": text} for role, text in turns]})


def test_a_model_holds_the_bundle_and_no_pickle(answering: Any) -> None:
    bundle = answering.bundle
    copy = bundle_folder(answering.client, answering.registered)
    there = copy.parent.parent
    names = {path.name for path in there.rglob("*") if path.is_file()}
    assert "answering.py" in names
    assert not [name for name in names if name.endswith((".pkl", ".pickle", ".joblib"))]
    for path in (path for path in bundle.path.rglob("*") if path.is_file()):
        assert (copy / path.relative_to(bundle.path)).read_bytes() == path.read_bytes()
    lines = (there / "requirements.txt").read_text("utf-8").splitlines()
    assert any(line.startswith("assay-rag==") for line in lines)
    assert not [line for line in lines if "+" in line]


def test_requirements_do_not_come_from_the_bundle(at_home: Place, mlflow_here: Any, tmp_path: Path) -> None:
    shutil.copytree(at_home("notes-wide"), tmp_path / "b")
    theirs = {"evil": "9.9", "--index-url http://evil.example": "1", "numpy": "evil @ https://evil.example/x==1.whl"}
    found = register(resealed(tmp_path / "b", lambda manifest: manifest["versions"].update(theirs)), "hostile")
    path = mlflow_here.artifacts.download_artifacts(f"{found.uri}/requirements.txt", dst_path=str(tmp_path))
    lines = Path(path).read_text("utf-8").splitlines()
    assert f"numpy=={np.__version__}" in lines
    assert "evil" not in " ".join(lines)


def test_a_bundle_without_a_generator_retrieves_passages(at_home: Place, versions: Any, mlflow_here: Any) -> None:
    bundle, model = open_bundle(at_home("notes-wide")), mlflow_here.pyfunc.load_model("models:/notes/2")
    for question in QUESTIONS:
        found = model.predict(request(question))
        assert (found["output"][0]["content"][0]["text"], as_json(found["custom_outputs"])) == (
            "",
            as_json(bundle_answer(bundle, question)),
        )
        assert bool(found["custom_outputs"]["contexts"]) == (question != QUESTIONS[2]), "the last has no passage"


def test_a_version_names_its_bundle_and_trial(answering: Any) -> None:
    bundle, found, client = answering.bundle, answering.registered, answering.client
    version = client.get_model_version(found.model, str(found.version))
    assert version.tags["assay.bundle"] == bundle.digest
    assert version.tags["assay.trial"] == bundle.manifest.trial
    run = client.get_run(version.run_id)
    assert run.data.tags["assay.trial"] == bundle.manifest.trial
    assert client.get_experiment(run.info.experiment_id).name == bundle.manifest.experiment


class _Endless:
    """A generator that streams until the stream is closed."""

    stopped = False

    def stream(self, request: Request) -> Iterator[str]:
        try:
            while True:
                yield "and "
        finally:
            self.stopped = True


def test_closing_the_stream_stops_the_model(answering: Any) -> None:
    bundle, endless = answering.bundle, _Endless()
    agent = BundleAgent()
    agent.bundle = replace(bundle, pipeline=replace(bundle.pipeline, generator=endless))  # type: ignore[arg-type]
    agent._lock = Lock()
    stream = agent.predict_stream(request(QUESTIONS[0]))  # type: ignore[arg-type]
    assert next(stream).delta == "and "
    stream.close()
    deadline = time.monotonic() + 60
    while not endless.stopped and time.monotonic() < deadline:
        time.sleep(0.01)
    assert endless.stopped
