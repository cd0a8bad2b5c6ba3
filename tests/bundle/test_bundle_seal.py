"""What goes into a bundle, what is kept out, and that a trial has one hash."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.swept_trial import called, sweep, swept, trials

from rag.analysis import baseline
from rag.bundle import leaks, seal
from rag.bundle.layout import MANIFEST, SEAL
from rag.bundle.manifest import digest_of
from rag.bundle.open_bundle import open_bundle
from rag.bundle.seal import Sealed, export
from rag.bundle.source_trial import resolve_trial
from rag.core.errors import ConfigError, DataError, StoreError, UserError
from rag.core.models.pinned import sha256
from rag.core.types import Document


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("swept"))


@pytest.fixture(scope="module")
def sealed(place: Path) -> Sealed:
    """The recommended trial, sealed; tests only read it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        found = export("small", place / "sealed")
    assert found.written
    return found


@pytest.fixture
def copy(sealed: Sealed, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sealed.path, tmp_path / "b"))


def content(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_a_trial_has_one_hash_and_another_trial_another(there: Path, sealed: Sealed, tmp_path: Path) -> None:
    ids = [row["trial"] for row in trials(there)]
    others = [export(f"trial={trial_id[:6]}", tmp_path / "deep" / trial_id) for trial_id in ids]
    assert sealed.digest == digest_of(sealed.path)
    (same,) = (other for other in others if other.manifest.trial == sealed.manifest.trial)
    assert content(same.path) == content(sealed.path)
    assert len({other.digest for other in others}) == len(ids) == 4


def test_a_new_sweep_elsewhere_gives_the_same_hash(sealed: Sealed, tmp_path: Path) -> None:
    called(swept(tmp_path), "export", f"trial={sealed.manifest.trial}", "--to", str(tmp_path / "there"))
    assert digest_of(tmp_path / "there") == sealed.digest


def test_the_manifest_describes_the_files_and_the_trial(there: Path, sealed: Sealed) -> None:
    manifest, files = sealed.manifest, content(sealed.path)
    assert {name: (listed.sha256, listed.size) for name, listed in manifest.files.items()} == {
        name: (sha256(sealed.path / name), len(data)) for name, data in files.items() if name not in (MANIFEST, SEAL)
    }
    assert files[SEAL].decode() == f"{sealed.digest}  {MANIFEST}\n"
    (row,) = (row for row in trials(there) if row["trial"] == manifest.trial)
    assert (manifest.experiment, manifest.name, manifest.metrics) == ("small", row["name"], row["metrics"])
    assert {"embedder", "index.bm25s", "index.dense", "generator"} <= manifest.identities.keys()
    assert {"python", "numpy", "bm25s"} <= manifest.versions.keys()
    assert manifest.models == ()
    scores = baseline.load(sealed.path / "scores.json")
    assert (scores.experiment, scores.result.trial_id) == ("small", manifest.trial)
    assert set(scores.result.scores.query_ids) == {"q1", "q2", "q3", "q4", "q5", "q6"}


def test_no_file_names_this_machine(there: Path, sealed: Sealed) -> None:
    for name, data in content(sealed.path).items():
        for text in (str(there), os.uname().nodename, f"{Path.home().as_posix()}/"):
            assert text.encode() not in data, name


def test_an_experiment_stands_for_its_recommended_trial_or_else_the_best(there: Path, tmp_path: Path) -> None:
    verdict = json.loads((there / "reports" / "small" / "verdict.json").read_text("utf-8"))
    assert resolve_trial("small")[1] == verdict["winner"]["recommended"]
    (tmp_path / "small").mkdir()
    shutil.copy(there / "reports/small/leaderboard.json", tmp_path / "small")
    assert resolve_trial("small", tmp_path) == ("small", trials(there)[0]["trial"])


@pytest.mark.parametrize(
    ("what", "target", "queries", "words"),
    [
        ("nothing", "b", 3, "nothing"),
        ("trial=ffffffffff", "b", 3, "ffffffffff"),
        ("k=3", "b", 3, "neither an experiment nor a trial"),
        ("small", "b.tar.zst", 3, "b --archive"),
        ("small", "b", -1, "--queries"),
    ],
)
def test_wrong_arguments_write_nothing(there: Path, tmp_path: Path, what: str, target: str, queries: int, words: str) -> None:
    with pytest.raises((ConfigError, DataError), match=words):
        export(what, tmp_path / target, queries)
    assert not list(tmp_path.iterdir())


def test_the_same_bundle_stays_and_anything_else_is_not_overwritten(there: Path, copy: Path, tmp_path: Path) -> None:
    before = (copy / MANIFEST).stat().st_mtime_ns
    assert not export("small", copy).written
    with pytest.raises(StoreError, match="is not this bundle"):
        export(f"trial={trials(there)[-1]['trial']}", copy)
    assert (copy / MANIFEST).stat().st_mtime_ns == before
    (tmp_path / "file").write_text("mine", "utf-8")
    with pytest.raises(StoreError, match="is not this bundle"):
        export("small", tmp_path / "file")
    assert (tmp_path / "file").read_text("utf-8") == "mine"


@pytest.mark.parametrize("damage", ["golden.jsonl", "config.json", MANIFEST])
def test_a_damaged_bundle_is_reported_and_kept(there: Path, sealed: Sealed, copy: Path, damage: str) -> None:
    with (copy / damage).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(StoreError, match="remove it") as caught:
        seal._same(copy, sealed.digest)
    assert damage == MANIFEST or damage in caught.value.what


def test_fewer_questions_are_spread_over_the_golden_set(there: Path, tmp_path: Path) -> None:
    for queries, expected in ((2, ["q1", "q4"]), (100, ["q1", "q2", "q3", "q4", "q5", "q6"]), (0, [])):
        lines = (export("small", tmp_path / str(queries), queries).path / "golden.jsonl").read_text("utf-8").splitlines()
        assert [json.loads(line)["query"]["query_id"] for line in lines] == expected


KEY = "sk-proj-abcdefghijklmnop1234567890"
PLANTED: dict[str, Any] = {
    "generator.api_key": "hunter2",
    "generator.extra.headers.Authorization": "Bearer abc",
    "generator.base_url": "https://me:hunter2@models.example.org/v1",
    "generator.model": KEY,
    "prompt.instruction": f"Use {KEY} if asked.",
    "prompt.role": "The word is correct-horse-battery, keep it.",
    "embedder.model": "/srv/models/ours",
    "check.quotes.path": "C:\\models\\ours",
    "memory.share": "\\\\server\\notes",
}


def plant(config: dict[str, Any], where: str) -> None:
    *path, last = where.split(".")
    for part in path:
        config = config.setdefault(part, {})
    config[last] = PLANTED[where]


@pytest.mark.parametrize("where", PLANTED)
def test_secrets_and_paths_in_a_config_are_refused(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_SECRET", "correct-horse-battery")
    config: dict[str, Any] = {
        role: {"_target_": "rag.x.Y"} for role in ("generator", "prompt", "embedder", "queries", "memory")
    }
    leaks.check_config(config)
    plant(config, where)
    with pytest.raises(ConfigError) as caught:
        leaks.check_config(config)
    assert caught.value.where == where
    assert not any(secret in str(caught.value) for secret in ("hunter2", KEY, "correct-horse-battery"))


def test_a_secret_keeps_the_export_from_writing(there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_TEST_SECRET", "correct-horse-battery")
    measured = seal.measured

    def planted(*arguments: Any) -> Any:
        source = measured(*arguments)
        monkeypatch.setitem(source.config["prompt"], "role", PLANTED["prompt.role"])
        return source

    monkeypatch.setattr(seal, "measured", planted)
    with pytest.raises(ConfigError, match=r"prompt\.role"):
        export("small", tmp_path / "b")
    assert not list(tmp_path.iterdir())


def test_texts_that_only_look_like_a_path_stay() -> None:
    for text in ("/no_think", "a/b/c", "see /etc/hosts for it", "http://127.0.0.1:8080/v1", r"\\(?:text)?color"):
        leaks.check_config({"prompt": {"closing": text}})


TEXT = "Text of a document."


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (Document("a.md", "Say correct-horse-battery.", {}), "DEPLOY_TOKEN"),
        (Document("a.md", "Say hunter22.", {}), "SHORT_TOKEN"),
        (Document("a.md", TEXT, {"source": "/srv/docs/a.md"}), "source"),
        (Document("a\nb.md", TEXT, {}), "document '"),
        (Document("a.md", "Half a \ud83d.", {}), "document '"),
        (Document("a.md", TEXT, {"weight": float("nan")}), "document '"),
    ],
)
def test_documents_that_must_not_be_sealed_are_named(document: Document, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DEPLOY_TOKEN": "correct-horse-battery",
        "SHORT_TOKEN": "hunter22",
        "OPENAI_API_KEY": "not-needed",
    }.items():
        monkeypatch.setenv(name, value)
    leaks.check_documents(
        (Document("a.md", "A horse is correct, and not-needed.", {"title": "Horses", "source": "docs/a.md"}),)
    )
    with pytest.raises(DataError, match=words):
        leaks.check_documents((document,))


def test_trials_that_need_gold_or_people_are_not_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    axes = """  pipeline:
    "reference answer": generator=gold
    control: control=closed_book
    "gold of a question": control=gold_contexts
    queries: queries=human"""
    folder = sweep(tmp_path, axes, name="odd")
    monkeypatch.chdir(folder)
    rows = trials(folder, "odd")
    assert len(rows) == 4
    for row in rows:
        with pytest.raises(ConfigError, match=row["choices"]["pipeline"]):
            export(f"trial={row['trial']}", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_a_trial_whose_documents_changed_is_not_sealed(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shutil.copytree(place, tmp_path / "swept"))
    Path("golden/documents/bus.md").write_text("The bus to Holm leaves at eight. A ticket costs four crowns.\n", "utf-8")
    with pytest.raises(UserError, match="would be"):
        export("small", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_export_prints_where_the_bundle_is(there: Path, copy: Path, rag: Verb) -> None:
    said = rag("export", "small", "--to", str(copy), "--archive", "--json")
    assert said.code == 0, said.err
    assert (said.json["path"], said.json["bundle"], said.json["written"]) == (str(copy), digest_of(copy), False)
    assert (said.json["queries"], said.json["experiment"], said.json["models"]) == (6, "small", [])
    packed = Path(said.json["archive"])
    assert packed == copy.with_name("b.tar.zst")
    before = packed.read_bytes()
    assert open_bundle(packed).digest == said.json["bundle"]
    again = rag("export", "small", "--to", str(copy), "--archive")
    assert again.code == 0
    assert packed.read_bytes() == before
    assert "rag bundle verify" in again.out
