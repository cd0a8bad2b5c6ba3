"""What goes into a bundle, what is kept out of it, and that a trial has one hash."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.command_line import Verb, verb
from support.swept_trial import called, sweep, trials

from rag.analysis import baseline
from rag.bundle import leaks, seal
from rag.bundle.layout import KEPT, MANIFEST, SEAL
from rag.bundle.manifest import digest_of
from rag.bundle.open_bundle import open_bundle
from rag.bundle.seal import Sealed, export
from rag.bundle.source_trial import resolve_trial
from rag.core.errors import ConfigError, DataError, StoreError, UserError
from rag.core.models.pinned import sha256
from rag.core.records import Document
from rag.execution.sweep.open_config import config_of


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("swept"))


@pytest.fixture
def there(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def rag(there: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    return verb(capsys, monkeypatch)


def content(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_the_same_trial_has_one_hash(there: Path, tmp_path: Path) -> None:
    one, other = export("small", tmp_path / "one"), export("small", tmp_path / "deep" / "other")
    assert one.digest == other.digest == digest_of(tmp_path / "one")
    assert content(one.path) == content(other.path)
    by_id = export(f"trial={one.manifest.trial[:6]}", tmp_path / "by id")
    assert by_id.digest == one.digest


def test_another_trial_has_another_hash(there: Path, tmp_path: Path) -> None:
    sealed = [export(f"trial={row['trial']}", tmp_path / row["trial"]) for row in trials(there)]
    assert len({one.digest for one in sealed}) == len(sealed) == 4


def test_a_new_sweep_elsewhere_gives_the_same_hash(there: Path, tmp_path: Path) -> None:
    again = sweep(tmp_path)
    here = export("small", tmp_path / "here")
    called(again, "export", f"trial={here.manifest.trial}", "--to", str(tmp_path / "there"))
    assert digest_of(tmp_path / "there") == here.digest


def test_the_manifest_lists_every_file_and_is_sealed(there: Path, tmp_path: Path) -> None:
    sealed = export("small", tmp_path / "b")
    files = {name: data for name, data in content(sealed.path).items() if name not in (MANIFEST, SEAL)}
    assert {name: (listed.sha256, listed.size) for name, listed in sealed.manifest.files.items()} == {
        name: (sha256(sealed.path / name), len(data)) for name, data in files.items()
    }
    assert (sealed.path / SEAL).read_text("utf-8") == f"{sealed.digest}  {MANIFEST}\n"


def test_the_manifest_says_how_well_the_trial_did(there: Path, tmp_path: Path) -> None:
    sealed = export("small", tmp_path / "b")
    (row,) = (row for row in trials(there) if row["trial"] == sealed.manifest.trial)
    assert sealed.manifest.metrics == row["metrics"]
    assert sealed.manifest.name == row["name"]
    assert sealed.manifest.experiment == "small"
    assert {"embedder", "index.bm25s", "index.dense", "generator"} <= sealed.manifest.identities.keys()


def test_scores_are_those_of_the_trial_question_by_question(there: Path, tmp_path: Path) -> None:
    sealed = export("small", tmp_path / "b")
    kept = baseline.load(sealed.path / "scores.json")
    assert (kept.experiment, kept.result.trial_id) == ("small", sealed.manifest.trial)
    assert set(kept.result.scores.query_ids) == {"q1", "q2", "q3", "q4", "q5", "q6"}


def test_the_config_is_plain_and_holds_what_answers_and_no_more(there: Path, tmp_path: Path) -> None:
    sealed = export("small", tmp_path / "b")
    text = (sealed.path / "config.yaml").read_text("utf-8")
    config = yaml.safe_load(text)
    assert set(config) | {"prompt"} == set(KEPT)
    assert yaml.safe_load((sealed.path / "prompt.yaml").read_text("utf-8"))["_target_"].startswith("rag.components.prompts.")
    assert not any(mark in text for mark in ("${", "&id", "*id", "runtime", "!!"))


def test_no_file_names_this_machine(there: Path, tmp_path: Path) -> None:
    sealed = export("small", tmp_path / "b")
    for name, data in content(sealed.path).items():
        assert str(there).encode() not in data, name
        assert os.uname().nodename.encode() not in data, name
        assert Path.home().as_posix().encode() + b"/" not in data, name


def test_the_recommended_trial_else_the_best(there: Path, tmp_path: Path) -> None:
    verdict = there / "reports" / "small" / "verdict.json"
    content = json.loads(verdict.read_text("utf-8"))
    assert resolve_trial("small")[1] == content["winner"]["recommended"]
    folder = tmp_path / "reports"
    (folder / "small").mkdir(parents=True)
    (folder / "small" / "leaderboard.json").write_text((there / "reports/small/leaderboard.json").read_text("utf-8"), "utf-8")
    assert resolve_trial("small", folder) == ("small", trials(there)[0]["trial"])


@pytest.mark.parametrize("what", ["nothing", "trial=ffffffffff", "trial=", "k=3"])
def test_what_is_not_there_cannot_be_exported(there: Path, tmp_path: Path, what: str) -> None:
    with pytest.raises((ConfigError, DataError)):
        export(what, tmp_path / "b")
    assert not list(tmp_path.iterdir())


def test_the_same_bundle_stays_and_another_is_not_overwritten(there: Path, tmp_path: Path) -> None:
    first, second = (f"trial={row['trial']}" for row in trials(there)[:2])
    assert export(first, tmp_path / "b").written
    before = (tmp_path / "b" / MANIFEST).stat().st_mtime_ns
    assert not export(first, tmp_path / "b").written
    with pytest.raises(StoreError, match="is not this bundle"):
        export(second, tmp_path / "b")
    assert (tmp_path / "b" / MANIFEST).stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", ["golden.jsonl", "config.yaml", MANIFEST])
def test_a_damaged_bundle_is_not_taken_for_the_one_that_was_sealed(there: Path, tmp_path: Path, damage: str) -> None:
    sealed = export("small", tmp_path / "b")
    with (sealed.path / damage).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(StoreError, match="remove it") as caught:
        export("small", tmp_path / "b")
    assert damage == MANIFEST or damage in caught.value.what


def test_a_file_in_the_way_is_not_overwritten(there: Path, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("mine", "utf-8")
    with pytest.raises(StoreError):
        export("small", tmp_path / "b")
    assert (tmp_path / "b").read_text("utf-8") == "mine"


def test_an_archive_is_made_of_a_folder(there: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="b --archive"):
        export("small", tmp_path / "b.tar.zst")


def test_fewer_questions_are_spread_over_the_golden_set(there: Path, tmp_path: Path) -> None:
    def asked(queries: int) -> list[str]:
        lines = (export("small", tmp_path / str(queries), queries).path / "golden.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line)["query_id"] for line in lines]

    assert asked(2) == ["q1", "q4"]
    assert asked(100) == ["q1", "q2", "q3", "q4", "q5", "q6"]
    assert asked(0) == []
    for queries in (-1, 1001):
        with pytest.raises(ConfigError):
            export("small", tmp_path / "other", queries)


def test_a_config_that_nobody_measured_can_be_sealed_too(there: Path, tmp_path: Path) -> None:
    config = config_of(["dataset=native", "dataset.path=golden", "embedder=hashing"])
    assert seal.seal(config, tmp_path / "b") == digest_of(tmp_path / "b")
    assert open_bundle(tmp_path / "b").manifest.trial == ""


def changed(place: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], None]) -> None:
    """What a sweep wrote down, changed in memory only: its keys are those of the trial as it ran."""
    found = seal.measured

    def measured(*arguments: Any) -> Any:
        known = found(*arguments)
        change(known.config)  # type: ignore[arg-type]
        return known

    monkeypatch.setattr(seal, "measured", measured)


KEY = "sk-proj-abcdefghijklmnop1234567890"
PLANTED: dict[str, Callable[[dict[str, Any]], None]] = {
    "generator.api_key": lambda config: config["generator"].update(api_key="hunter2"),
    "generator.extra.token": lambda config: config["generator"].update(extra={"token": "x"}),
    "generator.extra.headers.Authorization": lambda config: config["generator"].update(
        extra={"headers": {"Authorization": "Bearer abc"}}
    ),
    "generator.base_url": lambda config: config["generator"].update(base_url="https://me:hunter2@models.example.org/v1"),
    "generator.model": lambda config: config["generator"].update(model=KEY),
    "prompt.instruction": lambda config: config["prompt"].update(instruction=f"Use {KEY} if asked."),
    "prompt.role": lambda config: config["prompt"].update(role="The word is correct-horse-battery, keep it."),
    "embedder.model": lambda config: config["embedder"].update(model="/srv/models/ours"),
    "queries.glossary": lambda config: config["queries"].update(glossary="file:///srv/words.txt"),
    "check.quotes.path": lambda config: config["check"].update(quotes={"path": "C:\\models\\ours"}),
    "memory.share": lambda config: config["memory"].update(share="\\\\server\\notes"),
    "memory.notes": lambda config: config["memory"].update(notes="~/notes.txt"),
}


@pytest.mark.parametrize("where", PLANTED)
def test_secrets_and_paths_in_a_config_are_refused(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_SECRET", "correct-horse-battery")
    config: dict[str, Any] = {
        role: {"_target_": "rag.x.Y"} for role in ("generator", "prompt", "embedder", "queries", "memory")
    }
    config["check"] = {}
    leaks.check_config(config)
    PLANTED[where](config)
    with pytest.raises(ConfigError) as caught:
        leaks.check_config(config)
    assert caught.value.where == where
    assert not any(secret in str(caught.value) for secret in ("hunter2", KEY, "correct-horse-battery"))


@pytest.mark.parametrize("where", ["prompt.instruction", "prompt.role"])
def test_nothing_is_written_where_a_secret_is_found(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("ASSAY_TEST_SECRET", "correct-horse-battery")
    changed(there, monkeypatch, PLANTED[where])
    with pytest.raises(ConfigError, match=where):
        export("small", tmp_path / "b")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["/no_think", "a/b/c", "and/or", "7", "see /etc/hosts for it", "http://127.0.0.1:8080/v1", "", r"\\(?:text)?color"]
)
def test_what_only_looks_like_a_path_stays(text: str) -> None:
    leaks.check_config({"prompt": {"closing": text}})


def test_documents_hold_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "correct-horse-battery")
    leaks.check_documents((Document("a.md", "A horse is correct.", {"title": "Horses", "source": "docs/a.md"}),))
    with pytest.raises(DataError, match="DEPLOY_TOKEN"):
        leaks.check_documents((Document("a.md", "Say correct-horse-battery.", {}),))
    with pytest.raises(DataError, match="source"):
        leaks.check_documents((Document("a.md", "", {"source": "/srv/docs/a.md"}),))


@pytest.mark.parametrize(
    "document",
    [
        Document("a\nb.md", "Text.", {}),
        Document("", "Text.", {}),
        Document("a.md", "Half a \ud83d.", {}),
        Document("a.md", "Text.", {"weight": float("nan")}),
        Document("a.md", "Text.", {"of": object()}),  # type: ignore[dict-item]
    ],
)
def test_documents_that_no_bundle_can_hold_are_named(document: Document) -> None:
    with pytest.raises(DataError, match="document '"):
        leaks.check_documents((document,))


@pytest.mark.parametrize("word", ["test", "anything", "not-needed", "v1"])
def test_words_are_no_secrets(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", word)
    leaks.check_documents((Document("a.md", f"This is {word}.", {}),))


@pytest.mark.parametrize("secret", ["hunter22", "abcdefghijklmnop"])
def test_what_no_word_is_is_one(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    with pytest.raises(DataError, match="OPENAI_API_KEY"):
        leaks.check_documents((Document("a.md", f"This is {secret}.", {}),))


def test_what_needs_gold_is_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sweep(tmp_path, "  generator: generator=gold,extractive", name="gold")
    monkeypatch.chdir(folder)
    (gold,) = (row for row in trials(folder, "gold") if row["choices"]["generator"] == "gold")
    with pytest.raises(ConfigError, match="reference answer"):
        export(f"trial={gold['trial']}", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_controls_and_rewrites_of_people_are_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = "  control: control=gold_contexts,closed_book\n  queries: queries=human,none"
    folder = sweep(tmp_path, axes, name="odd")
    monkeypatch.chdir(folder)
    for row in trials(folder, "odd"):
        with pytest.raises(ConfigError, match="control"):
            export(f"trial={row['trial']}", tmp_path / "b")
    sweep(tmp_path, "  queries: queries=human", name="human")
    with pytest.raises(ConfigError, match="queries"):
        export("human", tmp_path / "b")


def test_a_trial_whose_documents_changed_is_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sweep(tmp_path)
    monkeypatch.chdir(folder)
    (folder / "golden" / "documents" / "bus.md").write_text(
        "The bus to Holm leaves at eight. A ticket costs four crowns.\n", "utf-8"
    )
    with pytest.raises(UserError):
        export("small", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_export_says_where_the_bundle_lies(rag: Verb, there: Path, tmp_path: Path) -> None:
    said = rag("export", "small", "--to", str(tmp_path / "b"), "--archive", "--json")
    assert said.code == 0, said.err
    assert said.json["path"] == str(tmp_path / "b")
    assert said.json["bundle"] == digest_of(tmp_path / "b")
    assert (said.json["queries"], said.json["experiment"], said.json["models"]) == (6, "small", [])
    packed = Path(said.json["archive"])
    assert packed == tmp_path / "b.tar.zst"
    before = packed.read_bytes()
    assert open_bundle(packed).digest == said.json["bundle"]
    again = rag("export", "small", "--to", str(tmp_path / "b"), "--archive")
    assert again.code == 0
    assert packed.read_bytes() == before
    assert "rag verify" in again.out


def test_models_by_reference_are_named_with_their_fingerprint(there: Path, tmp_path: Path) -> None:
    sealed: Sealed = export("small", tmp_path / "b")
    assert sealed.manifest.models == ()
    assert {"python", "numpy", "bm25s"} <= sealed.manifest.versions.keys()
