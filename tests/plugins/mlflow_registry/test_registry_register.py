"""Registering bundles: once each, checked before and after, as folders and as archives."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb, verb
from support.registered_models import QUESTIONS, Place, bundle_folder, request
from support.scripted_server import say, serving
from support.small_server import small_bundle

from rag.bundle.archive import pack
from rag.bundle.differences import Mismatch, Replay
from rag.bundle.open_bundle import open_bundle
from rag.core.errors import ConfigError, DataError, UserError
from rag.core.types import Material, Query
from rag.execution.sweep.open_config import config_of, open_config
from rag.plugins.mlflow_registry import load_bundle
from rag.plugins.mlflow_registry.promote import promote
from rag.plugins.mlflow_registry.prompts import write_choice
from rag.plugins.mlflow_registry.register import register


def test_a_changed_bundle_is_not_loaded(at_home: Place, mlflow_here: Any) -> None:
    found = register(at_home("notes-wide"), "notes")
    place = bundle_folder(mlflow_here.MlflowClient(), found)
    documents = place / "documents.jsonl"
    documents.write_bytes(documents.read_bytes().replace(b"crowns", b"pounds"))
    with pytest.raises(UserError, match=r"documents\.jsonl"):
        mlflow_here.pyfunc.load_model(found.uri)
    shutil.rmtree(place)
    shutil.copytree(at_home("notes-narrow"), place)
    with pytest.raises(DataError, match="was registered"):
        mlflow_here.pyfunc.load_model(found.uri)


def test_a_model_is_logged_below_the_run_of_its_trial(at_home: Place, mlflow_here: Any) -> None:
    client, bundle = mlflow_here.MlflowClient(), open_bundle(at_home("notes-wide"))
    experiment = client.create_experiment("notes", f"{Path.cwd().as_uri()}/kept")
    run = client.create_run(experiment, tags={"assay.trial": bundle.manifest.trial})
    client.log_metric(run.info.run_id, "ndcg_at_10", 0.9)
    client.set_terminated(run.info.run_id, end_time=run.info.start_time + 1)
    register(bundle.path, "notes")
    version = client.get_model_version("notes", "1")
    assert version.run_id == run.info.run_id
    model = client.get_logged_model(version.source.rpartition("/")[2])
    assert (model.experiment_id, {metric.key for metric in model.metrics}) == (experiment, {"ndcg_at_10"})
    after = client.get_run(run.info.run_id).info
    assert (after.status, after.end_time) == ("FINISHED", run.info.start_time + 1), "the end of the trial's run stays"


rag = pytest.fixture(verb)
CHANGES = {"first": (), "second": ("k=2",), "third": ("prompt=cited", "prompt.goal='Set {{braces}}.'")}


def test_the_printed_command_serves_the_model(
    at_home: Place, versions: Any, rag: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = os.environ["MLFLOW_TRACKING_URI"]
    path = str(at_home("notes-wide"))
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "of a server that sends traces")
    said = rag("register", path, "notes")
    assert (said.code, said.err) == (0, "")
    assert f"MLFLOW_TRACKING_URI={uri} mlflow models serve -m models:/notes/2 --env-manager local" in said.out
    assert "rag bundle promote notes" in said.out
    content = rag("register", path, "notes", "--json").json
    assert (content["version"], content["new"], content["tracking"], content["aliases"]) == (2, False, uri, ["challenger"])
    assert "is set by a gate" in rag("register", path, "notes", "--alias", "champion").err


def test_a_bundle_that_answers_differently_is_not_registered(at_home: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    differs = Replay(mismatches=[Mismatch("q1", "answer", "seven", "eight")])
    monkeypatch.setattr(load_bundle, "replay", lambda bundle: differs)
    with pytest.raises(DataError, match="does not answer as it was measured"):
        register(at_home("answers"), "otherwise")


def test_a_bundle_is_one_version(at_home: Place, versions: Any) -> None:
    first = register(at_home("notes-narrow"), "notes", alias="tried")
    assert (first.version, first.new, first.aliases) == (1, False, ("tried",))
    again = register(at_home("notes-narrow"), "notes")
    assert (again.version, again.digest, set(again.aliases)) == (1, first.digest, {"challenger", "tried"})
    other = register(at_home("few-narrow"), "notes")
    assert (other.version, other.new, other.aliases) == (3, True, ("challenger",))


def test_an_archive_is_the_same_bundle(at_home: Place, mlflow_here: Any, tmp_path: Path) -> None:
    archive = tmp_path / "wide.tar.zst"
    pack(at_home("notes-wide"), archive)
    found = register(archive, "packed")
    assert found.new
    assert not register(at_home("notes-wide"), "packed").new
    answer = mlflow_here.pyfunc.load_model(found.uri).predict(request(QUESTIONS[0]))
    assert answer["custom_outputs"]["bundle"] == open_bundle(at_home("notes-wide")).digest
    assert promote("packed").promoted


def test_a_model_behind_an_endpoint_is_asked_for_answers_only(at_home: Place, mlflow_here: Any, tmp_path: Path) -> None:
    with serving(say("The ferry leaves at seven [1].")) as script:
        asked = ("generator=openai", f"generator.base_url={script.url}", "generator.model=tiny")
        found = register(small_bundle(tmp_path, *asked), "endpoint")
        model = mlflow_here.pyfunc.load_model(found.uri)
        assert not script.asked, "logging and loading cost nothing"
        reply = model.predict(request("When does the ferry to Holm leave?"))
        assert len(script.asked) == 1
        assert not model.predict(request("And the bus?") | {"custom_inputs": {"answer": False}})["custom_outputs"]["answer"]
        assert len(script.asked) == 1
    assert reply["output"][0]["content"][0]["text"] == "The ferry leaves at seven [1]."
    assert reply["usage"]["total_tokens"] == 34


def test_the_prompt_that_a_model_reads_is_a_prompt_of_mlflow(
    at_home: Place, mlflow_here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("generator=openai", "generator.base_url=http://127.0.0.1:9", "generator.model=m")
    bundles = [small_bundle(tmp_path / name, *asked, *more) for name, more in CHANGES.items()]
    found = [register(bundle, "my notes") for bundle in bundles]
    assert [each.prompt for each in found] == [f"prompts:/my_notes-prompt/{number}" for number in (1, 1, 2)]
    assert register(bundles[2], "my notes").prompt == found[2].prompt
    assert not register(at_home("answers"), "extracts").prompt, "no model reads it"
    prompt = (client := mlflow_here.MlflowClient()).load_prompt(found[2].prompt)
    assert prompt.variables == {"contexts", "question"}
    assert prompt.tags["assay.bundle"] == found[2].digest
    version = client.get_model_version("my notes", "3")
    linked = client.get_run(version.run_id).data.tags, client.get_logged_model(version.source.rpartition("/")[2]).tags
    assert [json.loads(each["mlflow.linkedPrompts"]) for each in linked] == [[{"name": prompt.name, "version": "2"}]] * 2
    monkeypatch.chdir(tmp_path)
    write_choice(found[2].prompt, Path("conf/prompt/mine.yaml"))
    kept, back = open_bundle(bundles[2]).pipeline.reading.prompt, open_config(config_of(["prompt=mine"])).reading.prompt
    material = Material(Query("q", "Why {so}?"), ("One {{two}}.", "Three."))
    assert back.render(material) == kept.render(material)


def test_the_environment_stays(at_home: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    folder = tmp_path / "here"
    (folder / ".rag").mkdir(parents=True)
    shutil.copy(tmp_path / "mlflow.db", folder / ".rag")
    monkeypatch.chdir(folder)
    register(at_home("notes-narrow"), "here")
    assert "MLFLOW_TRACKING_URI" not in os.environ
    assert sorted(path.name for path in folder.iterdir()) == [".rag"]


@pytest.mark.parametrize(
    ("name", "alias"), [("a/b", "challenger"), ("notes", "champion"), ("notes", "v1"), ("notes", "Latest")]
)
def test_unusable_names_are_refused(at_home: Place, name: str, alias: str) -> None:
    with pytest.raises(ConfigError):
        register(at_home("notes-wide"), name, alias)
