"""The alias `champion`: who gets it, who does not, and what is said."""

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command_line import Verb, verb
from support.gate_experiment import AXES, GATE, write_gated

from rag.analysis.gate.spec import Gate, Margin
from rag.bundle.seal import seal
from rag.config.build import Components
from rag.core.errors import ConfigError, DataError, ServiceError
from rag.execution.sweep.open_config import config_of
from rag.tracking.registry import promote as promotion
from rag.tracking.registry import promotion_lock
from rag.tracking.registry.promote import PromotionRequest, promote
from rag.tracking.registry.register import register
from rag.tracking.registry.service import registry
from rag.tracking.registry.uncalibrated_metrics import advisory
from rag.tracking.registry.versions import challenger, fetched

Place = Callable[[str], Path]


@pytest.fixture
def rag(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    return verb(capsys, monkeypatch)


def aliased(client: Any, model: str) -> dict[str, int]:
    """Who is what, by number of version."""
    found = client.get_registered_model(model).aliases
    return {alias: int(version) for alias, version in found.items()}


def test_the_first_champion_has_only_bounds_to_keep(rag: Verb, versions: Any) -> None:
    said = rag("promote", "notes", "--json")
    assert said.code == 0
    told = said.json
    assert (told["promoted"], told["verdict"], told["champion"], told["challenger"]["version"]) == (True, "PASS", None, 2)
    assert [kept["text"] for kept in told["bounds"]] == ["failed == 0"]
    assert not told["rows"]
    assert aliased(versions, "notes") == {"champion": 2}
    assert versions.get_model_version("notes", "2").tags["assay.gate"].startswith("PASS: ")


def test_what_is_worse_is_not_promoted(rag: Verb, versions: Any) -> None:
    versions.set_registered_model_alias("notes", "champion", "2")
    said = rag("promote", "notes", "--version", "1", "--json")
    assert said.code == 1
    assert (said.json["promoted"], said.json["verdict"], said.json["champion"]["version"]) == (False, "FAIL", 2)
    (row,) = [row for row in said.json["rows"] if row["column"] == "ndcg@10"]
    assert row["high"] < 0
    assert row["low"] < -0.03
    assert aliased(versions, "notes")["champion"] == 2
    assert "assay.gate" not in versions.get_model_version("notes", "1").tags


def test_what_is_better_is(rag: Verb, versions: Any) -> None:
    versions.set_registered_model_alias("notes", "champion", "1")
    said = rag("promote", "notes")
    assert said.code == 0
    assert "notes@champion is version 2" in said.out
    assert aliased(versions, "notes") == {"champion": 2}


def test_what_cannot_be_told_is_not_unless_that_is_said(rag: Verb, versions: Any) -> None:
    versions.set_registered_model_alias("few", "champion", "2")
    asked = ("promote", "few", "--version", "1")
    said = rag(*asked)
    assert said.code == 3
    assert "few@champion stays version 2" in said.out
    assert "questions of tune, by which the trials were chosen" in said.out
    assert rag(*asked, "--inconclusive", "fail").code == 1
    assert aliased(versions, "few")["champion"] == 2
    assert rag(*asked, "--inconclusive", "pass").code == 0
    assert aliased(versions, "few")["champion"] == 1
    assert rag(*asked, "--inconclusive", "perhaps").code == 2


def test_nothing_there_to_promote(rag: Verb, versions: Any) -> None:
    for arguments, said in {
        ("nobody",): "is not registered",
        ("notes", "--version", "9"): "has no version 9",
        ("notes", "--experiment", "unheard"): "there is none called 'unheard'",
    }.items():
        found = rag("promote", *arguments)
        assert found.code == 2
        assert said in found.err
    assert rag("promote", "notes").code == 0
    assert "is the champion already" in rag("promote", "notes", "--version", "2").err
    assert "has no challenger" in rag("promote", "notes").err


def test_trials_of_different_questions_are_not_compared(at_home: Place, versions: Any) -> None:
    register(at_home("few-narrow"), "notes")
    versions.set_registered_model_alias("notes", "champion", "2")
    with pytest.raises(DataError, match="was measured on 'tune', and notes version 2 on 'all'"):
        promote("notes")


def test_another_gate_counts_where_one_is_named(at_home: Place, versions: Any) -> None:
    path = Path("experiments/timed.yaml")
    text = Path("experiments/notes.yaml").read_text("utf-8")
    before = '  bounds: ["failed == 0"]'
    assert before in text
    path.write_text(text.replace(before, '  bounds: ["latency_p95_ratio <= 900", "ndcg@10 >= 0.999"]'), "utf-8")
    versions.set_registered_model_alias("notes", "champion", "1")
    found = promote("notes", asked=PromotionRequest("timed"))
    assert [(kept.text, kept.verdict) for kept in found.bounds] == [
        ("latency_p95_ratio <= 900", "PASS"),
        ("ndcg@10 >= 0.999", "FAIL"),
    ]
    assert found.bounds[0].value
    assert (found.verdict, found.exit_code) == ("FAIL", 1)
    assert aliased(versions, "notes")["champion"] == 1


def test_bundles_are_kept_while_they_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Opened:
        """A bundle whose models go when it does."""

        def __init__(self, path: str) -> None:
            self.pipeline = {"path": path, "models": True}

        def __del__(self) -> None:
            self.pipeline["models"] = False

    def timed(*sides: Any) -> Any:
        assert [side["models"] for side in sides[:2]] == [True, True]
        return [side["path"] for side in sides[:2]]

    monkeypatch.setattr(promotion, "open_bundle", Opened)
    monkeypatch.setattr(promotion.latency, "timed", timed)
    monkeypatch.setattr(promotion.latency, "of", lambda seconds: seconds)
    pair = SimpleNamespace(golden=SimpleNamespace(examples=()))
    before, after = SimpleNamespace(path="a"), SimpleNamespace(path="b")
    assert promotion._ratio(pair, after, before) == ["a", "b"]  # type: ignore[arg-type, comparison-overlap]


def test_what_nobody_measured_cannot_be_compared(at_home: Place, versions: Any, tmp_path: Path) -> None:
    sealed = tmp_path / "sealed"
    seal(config_of([f"dataset.path={os.getcwd()}/golden", "dataset=native", "embedder=hashing", "generator=none"]), sealed)
    assert register(sealed, "sealed").new
    with pytest.raises(DataError, match="holds no scores"):
        promote("sealed")


def test_a_model_of_somebody_else_is_no_bundle(versions: Any) -> None:
    versions.create_registered_model("theirs")
    source = versions.get_model_version("notes", "1").source
    versions.create_model_version("theirs", source)
    with pytest.raises(DataError, match="is no bundle"):
        promote("theirs", 1)


def test_a_bundle_that_was_exchanged_is_not_promoted(at_home: Place, versions: Any) -> None:
    found = register(at_home("answers"), "answers")
    place = Path(versions.get_model_version_download_uri("answers", str(found.version)).removeprefix("file://"))
    (manifest,) = place.rglob("manifest.json")
    shutil.rmtree(manifest.parent)
    shutil.copytree(at_home("notes-wide"), manifest.parent)
    with pytest.raises(DataError, match="was registered"):
        promote("answers")
    assert "champion" not in aliased(versions, "answers")


def test_an_alias_that_somebody_moved_meanwhile_stays(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    versions.set_registered_model_alias("notes", "champion", "1")
    held = promotion.held

    def meanwhile(*arguments: Any) -> Any:
        versions.delete_registered_model_alias("notes", "champion")
        return held(*arguments)

    monkeypatch.setattr(promotion, "held", meanwhile)
    with pytest.raises(ServiceError, match="somebody moved it meanwhile"):
        promote("notes")
    assert "champion" not in aliased(versions, "notes")


def test_of_two_who_promote_at_once_one_moves_the_alias(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion_lock, "PAUSE", 0)
    monkeypatch.setattr(promotion_lock, "TRIES", 2)
    look, looks = promotion.versions.champion, []

    def meanwhile(client: Any, model: str) -> Any:
        known = look(client, model)
        looks.append(known)
        if len(looks) == 2:  # the first one is about to move the alias: whoever comes now must not
            with pytest.raises(ServiceError, match="by somebody else at this moment"):
                promotion._move(client, replace(found, challenger=replace(found.challenger, number=1)))
        return known

    monkeypatch.setattr(promotion.versions, "champion", meanwhile)
    with registry("x") as client, fetched(challenger(client, "notes", 1)) as version:
        found = promotion.held(version, None, PromotionRequest())
    promote("notes")
    assert len(looks) == 2
    assert aliased(versions, "notes") == {"champion": 2}
    assert not versions.get_registered_model("notes").tags


def test_who_died_while_promoting_is_not_waited_for(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion_lock, "PAUSE", 0)
    for began, stops in ((time.time() + 60, True), (time.time() - promotion_lock.STALE - 60, False)):
        versions.set_registered_model_tag("notes", f"{promotion_lock.CLAIM}other", f"{began:.0f}")
        if stops:
            with pytest.raises(ServiceError, match="at this moment"):
                promote("notes")
            assert not aliased(versions, "notes").get("champion")
        else:
            assert promote("notes").promoted


def test_the_corpus_may_differ_where_that_is_said(at_home: Place, versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    versions.set_registered_model_alias("notes", "champion", "1")
    _changed_corpus(monkeypatch)
    with pytest.raises(ConfigError, match="--bridge corpus"):
        promote("notes")
    assert promote("notes", asked=PromotionRequest(bridges=("corpus",))).promoted


def _changed_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The champion was measured over other documents."""
    held = promotion.held

    def older(candidate: Any, champion: Any, asked: PromotionRequest) -> Any:
        result = champion.scores.result
        result = replace(result, fingerprints={**result.fingerprints, "corpus": "0" * 16})
        return held(candidate, replace(champion, scores=replace(champion.scores, result=result)), asked)

    monkeypatch.setattr(promotion, "held", older)


def test_a_judge_without_a_card_warns(versions: Any) -> None:
    config = config_of(["judge=local", "metric=[ndcg,faithfulness]", "metrics=[ndcg@10,faithfulness]"])
    gate = Gate((Margin("faithfulness", "", 0.1), Margin("ndcg@10", "", 0.1)), ())
    with registry("again") as client, fetched(challenger(client, "notes", 1)) as found:
        known = replace(found, scores=replace(found.scores, result=replace(found.scores.result, config=config)))
        assert advisory(gate, known) == {"faithfulness"}
        judge = Components().identity(config["judge"], "judge")
        assert advisory(gate, replace(known, cards=frozenset({judge}))) == frozenset()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "without the config of their metrics"),
        ({"metric": ["ndcg"]}, "without the config of their metrics"),
        ({"metric": {"ndcg": {"_target_": "rag.serve.database.Database", "url": "sqlite:///made.db"}}}, "is no component"),
        ({"metric": {"ndcg": {"_target_": "os.system"}}}, "is no component"),
    ],
)
def test_scores_of_a_stranger_build_nothing_but_metrics(versions: Any, changed: dict[str, Any], words: str) -> None:
    gate = Gate((Margin("ndcg@10", "", 0.1),), ())
    with registry("again") as client, fetched(challenger(client, "notes", 1)) as found:
        known = found.scores.result.config
        config = {name: part for name, part in known.items() if changed and name != "metric"} | changed
        other = replace(found, scores=replace(found.scores, result=replace(found.scores.result, config=config)))
        with pytest.raises(DataError, match=words):
            advisory(gate, other)
    assert not Path("made.db").exists()


def test_the_holdout_decides_where_it_was_measured(rag: Verb, at_home: Place, versions: Any) -> None:
    """Trials are chosen on `tune`; what a sweep measured again on the holdout is what their bundles bring."""
    write_gated(Path("experiments/held.yaml"), Path("golden"), AXES, GATE)
    assert rag("sweep", "held", "--no-track").code == 0
    rows = json.loads(Path("reports/held/leaderboard.json").read_text("utf-8"))["trials"]
    for row in sorted(rows, key=lambda row: row["name"]):
        place = f"bundles/held-{row['name']}"
        assert rag("export", f"trial={row['trial']}", "--to", place).code == 0
        assert rag("register", place, "held").code == 0
    assert rag("promote", "held", "--version", "1").code == 0
    told = rag("promote", "held", "--json").json
    assert (told["promoted"], told["split"], told["rows"][0]["n"]) == (True, "holdout", 96)
    assert "expect less" not in told["sentence"]


def test_json_is_one_object(rag: Verb, versions: Any) -> None:
    said = rag("promote", "notes", "--json")
    assert set(json.loads(said.out)) == {
        *("model", "promoted", "verdict", "sentence", "exit_code", "split", "champion", "challenger", "rows", "bounds")
    }
