"""The alias `champion`: which versions get it, and what is printed."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.command_line import Verb, verb
from support.registered_models import Place
from support.unmeasured_bundles import seal

from rag.analysis.gate.spec import Gate, Margin
from rag.config.build import Components
from rag.core.errors import ConfigError, DataError, ServiceError
from rag.execution.sweep.open_config import config_of
from rag.plugins.mlflow_registry import promote as promotion
from rag.plugins.mlflow_registry import promote as promotion_lock
from rag.plugins.mlflow_registry.promote import PromotionRequest, promote
from rag.plugins.mlflow_registry.register import register
from rag.plugins.mlflow_registry.service import registry
from rag.plugins.mlflow_registry.uncalibrated_metrics import advisory
from rag.plugins.mlflow_registry.versions import challenger, fetched

rag = pytest.fixture(verb)


def aliased(client: Any, model: str) -> dict[str, int]:
    """Version numbers by alias."""
    return {alias: int(version) for alias, version in client.get_registered_model(model).aliases.items()}


def test_the_first_champion_must_keep_the_bounds_only(rag: Verb, versions: Any) -> None:
    said = rag("promote", "notes", "--json")
    assert said.code == 0
    content = said.json
    keys = ("model", "promoted", "verdict", "sentence", "exit_code", "split", "champion", "challenger", "rows", "bounds")
    assert set(content) == set(keys)
    assert (content["promoted"], content["verdict"], content["champion"]) == (True, "PASS", None)
    assert content["challenger"]["version"] == 2
    assert [kept["text"] for kept in content["bounds"]] == ["failed == 0"]
    assert not content["rows"]
    assert aliased(versions, "notes") == {"champion": 2}
    assert versions.get_model_version("notes", "2").tags["assay.gate"].startswith("PASS: ")


def test_a_worse_version_is_not_promoted(rag: Verb, versions: Any) -> None:
    versions.set_registered_model_alias("notes", "champion", "2")
    said = rag("promote", "notes", "--version", "1", "--json")
    assert said.code == 1
    assert (said.json["promoted"], said.json["verdict"], said.json["champion"]["version"]) == (False, "FAIL", 2)
    (row,) = [row for row in said.json["rows"] if row["column"] == "ndcg@10"]
    assert row["high"] < 0
    assert row["low"] < -0.03
    assert aliased(versions, "notes")["champion"] == 2
    assert "assay.gate" not in versions.get_model_version("notes", "1").tags


def test_an_inconclusive_gate_does_not_promote_by_default(rag: Verb, versions: Any) -> None:
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


def test_errors_name_what_is_missing(rag: Verb, versions: Any) -> None:
    for arguments, words in {
        ("unknown",): "is not registered",
        ("notes", "--version", "9"): "has no version 9",
        ("notes", "--experiment", "unheard"): "there is none called 'unheard'",
    }.items():
        found = rag("promote", *arguments)
        assert found.code == 2
        assert words in found.err
    assert rag("promote", "notes").code == 0
    assert "is the champion already" in rag("promote", "notes", "--version", "2").err
    assert "has no challenger" in rag("promote", "notes").err


def test_trials_of_different_questions_are_not_compared(at_home: Place, versions: Any) -> None:
    register(at_home("few-narrow"), "notes")
    versions.set_registered_model_alias("notes", "champion", "2")
    with pytest.raises(DataError, match="was measured on 'tune', and notes version 2 on 'all'"):
        promote("notes")


def test_the_gate_of_a_named_experiment_counts(at_home: Place, versions: Any) -> None:
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
        """A bundle whose models are removed with it."""

        def __init__(self, path: str) -> None:
            self.pipeline = {"path": path, "models": True}

        def __del__(self) -> None:
            self.pipeline["models"] = False

    def timed(*sides: Any) -> Any:
        assert [side["models"] for side in sides[:2]] == [True, True]
        return [side["path"] for side in sides[:2]]

    monkeypatch.setattr(promotion, "open_bundle", Opened)
    monkeypatch.setattr(promotion.latency, "timed", timed)
    monkeypatch.setattr(promotion.latency, "ratio_of_p95", lambda seconds: seconds)
    pair = SimpleNamespace(golden=SimpleNamespace(examples=()))
    before, after = SimpleNamespace(path="a"), SimpleNamespace(path="b")
    assert promotion._ratio(pair, after, before) == ["a", "b"]  # type: ignore[arg-type, comparison-overlap]


def test_a_bundle_without_scores_cannot_be_promoted(at_home: Place, versions: Any, tmp_path: Path) -> None:
    sealed = tmp_path / "sealed"
    seal(config_of([f"dataset.path={os.getcwd()}/golden", "dataset=native", "embedder=hashing", "generator=none"]), sealed)
    assert register(sealed, "sealed").new
    with pytest.raises(DataError, match="holds no scores"):
        promote("sealed")


def test_another_model_is_refused(versions: Any) -> None:
    versions.create_registered_model("theirs")
    source = versions.get_model_version("notes", "1").source
    versions.create_model_version("theirs", source)
    with pytest.raises(DataError, match="is not a bundle"):
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


def test_an_alias_that_was_moved_meanwhile_stays(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    versions.set_registered_model_alias("notes", "champion", "1")
    judged = promotion.judged

    def meanwhile(*arguments: Any) -> Any:
        versions.delete_registered_model_alias("notes", "champion")
        return judged(*arguments)

    monkeypatch.setattr(promotion, "judged", meanwhile)
    with pytest.raises(ServiceError, match="was moved meanwhile"):
        promote("notes")
    assert "champion" not in aliased(versions, "notes")


def test_of_two_promotions_at_once_one_moves_the_alias(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion_lock, "PAUSE", 0)
    monkeypatch.setattr(promotion_lock, "TRIES", 2)
    look, looks = promotion.versions.champion, []

    def meanwhile(client: Any, model: str) -> Any:
        known = look(client, model)
        looks.append(known)
        if len(looks) == 2:  # the first promotion is about to move the alias
            with pytest.raises(ServiceError, match="by another process"):
                promotion._move(client, replace(found, challenger=replace(found.challenger, number=1)))
        return known

    monkeypatch.setattr(promotion.versions, "champion", meanwhile)
    with registry("x") as client, fetched(challenger(client, "notes", 1)) as version:
        found = promotion.judged(version, None, PromotionRequest())
    promote("notes")
    assert len(looks) == 2
    assert aliased(versions, "notes") == {"champion": 2}
    assert not versions.get_registered_model("notes").tags


def test_a_claim_of_a_dead_promotion_expires(versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(promotion_lock, "PAUSE", 0)
    for began, stops in ((time.time() + 60, True), (time.time() - promotion_lock.STALE - 60, False)):
        versions.set_registered_model_tag("notes", f"{promotion_lock.CLAIM}other", f"{began:.0f}")
        if stops:
            with pytest.raises(ServiceError, match="by another process"):
                promote("notes")
            assert not aliased(versions, "notes").get("champion")
        else:
            assert promote("notes").promoted


def test_a_bridge_allows_another_corpus(at_home: Place, versions: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    versions.set_registered_model_alias("notes", "champion", "1")
    _changed_corpus(monkeypatch)
    with pytest.raises(ConfigError, match="--bridge corpus"):
        promote("notes")
    assert promote("notes", asked=PromotionRequest(bridges=("corpus",))).promoted


def _changed_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """The champion was measured over other documents."""
    judged = promotion.judged

    def older(candidate: Any, champion: Any, asked: PromotionRequest) -> Any:
        result = champion.scores.result
        result = replace(result, fingerprints={**result.fingerprints, "corpus": "0" * 16})
        return judged(candidate, replace(champion, scores=replace(champion.scores, result=result)), asked)

    monkeypatch.setattr(promotion, "judged", older)


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
        ({"metric": {"ndcg": {"_target_": "rag.serve.database.Database", "url": "sqlite:///made.db"}}}, "is not a component"),
        ({"metric": {"ndcg": {"_target_": "os.system"}}}, "is not a component"),
    ],
)
def test_untrusted_scores_build_metrics_only(versions: Any, changed: dict[str, Any], words: str) -> None:
    gate = Gate((Margin("ndcg@10", "", 0.1),), ())
    with registry("again") as client, fetched(challenger(client, "notes", 1)) as found:
        known = found.scores.result.config
        config = {name: part for name, part in known.items() if changed and name != "metric"} | changed
        other = replace(found, scores=replace(found.scores, result=replace(found.scores.result, config=config)))
        with pytest.raises(DataError, match=words):
            advisory(gate, other)
    assert not Path("made.db").exists()


def test_a_verdict_on_other_questions_than_those_of_the_gate_has_a_caveat(versions: Any) -> None:
    gate = Gate((Margin("ndcg@10", "", 0.1),), (), split="holdout")
    with registry("again") as client, fetched(challenger(client, "notes", 1)) as found:
        for split, caveat in (("tune", True), ("holdout", False), ("all", False)):
            version = replace(found, scores=replace(found.scores, split=split))
            assert ("expect less" in promotion._caveat(gate, version)) == caveat
