"""Rules of ingestion: which rule decides, when, and what a wrong rule says."""

import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.choices import build, choices
from support.corpora import text_folder

from rag.components.ingest.rules import FirstMatchRules
from rag.config.build import Components
from rag.core.errors import ConfigError
from rag.core.roles import IngestionRules
from rag.core.source_files import Decision, SourceFile
from rag.execution.sweep.open_config import config_of

NOW = datetime.now(UTC)
GERMAN = "Der Urlaub beträgt dreißig Tage im Jahr, und wer krank wird, meldet sich am ersten Tag bei der Leitung."
ENGLISH = "You have thirty days of leave a year, and you report to your manager on the first day that you are ill."


def file(name: str = "a/b.md", size: int = 10, modified: datetime = NOW, text: str | None = None) -> SourceFile:
    return SourceFile(name, Path(name), size, modified.timestamp(), text)


def rules(*content: dict[str, Any]) -> FirstMatchRules:
    return FirstMatchRules("Tests.", [{"reason": "because"} | each for each in content])


def excludes(condition: dict[str, Any], of: SourceFile) -> bool:
    decision = rules({"exclude": "**"} | condition).decide(of)
    assert decision is not None
    return not decision.includes


def test_the_first_rule_that_matches_decides() -> None:
    made = rules({"include": "a/keep.md", "reason": "needed"}, {"exclude": ["a/**", "*.txt"], "reason": "drafts"})
    assert made.decide(file("a/keep.md")) == Decision(True, "needed", "rules.0")
    assert made.decide(file("a/b.md")) == made.decide(file("A/deep/C.MD")) == Decision(False, "drafts", "rules.1")
    assert made.decide(file("c.txt")) == Decision(False, "drafts", "rules.1")
    assert made.decide(file("d/c.txt")) == Decision(True), "a file that no rule matches is included"


def test_a_rule_about_the_text_waits_for_it_only_if_no_earlier_rule_decides() -> None:
    made = rules({"exclude": "a/**"}, {"exclude": "**/*.md", "content": "(?i)draft"}, {"exclude": "**/b.*"})
    assert made.decide(file("a/b.md")) == Decision(False, "because", "rules.0")
    assert made.decide(file("c/b.md")) is None
    assert made.decide(file("c/b.txt")) == Decision(False, "because", "rules.2")
    assert made.decide(file("c/b.md", text="a Draft")) == Decision(False, "because", "rules.1")
    assert made.decide(file("c/b.md", text="final")) == Decision(False, "because", "rules.2")


@pytest.mark.parametrize(
    ("size", "matches"),
    [
        ({"min": 10}, True),
        ({"min": 11}, False),
        ({"max": 10}, True),
        ({"max": "9 B"}, False),
        ({"min": "0.01 kb", "max": "1 MB"}, True),
    ],
)
def test_sizes(size: dict[str, Any], matches: bool) -> None:
    assert excludes({"size": size}, file(size=10)) is matches


@pytest.mark.parametrize(
    ("modified", "matches"),
    [
        ({"before": "2024-05-02"}, True),
        ({"before": "2024-05-01"}, False),
        ({"after": "2024-05-01"}, True),
        ({"after": "2024-05-02"}, False),
        ({"before": 365}, True),
        ({"after": 365}, False),
    ],
)
def test_ages(modified: dict[str, Any], matches: bool) -> None:
    assert excludes({"modified": modified}, file(modified=datetime(2024, 5, 1, 12, tzinfo=UTC))) is matches


def test_days_count_from_the_beginning_of_today() -> None:
    today = datetime(NOW.year, NOW.month, NOW.day, tzinfo=UTC)
    assert excludes({"modified": {"after": 2}}, file(modified=today - timedelta(days=2)))
    assert not excludes({"modified": {"after": 2}}, file(modified=today - timedelta(days=2, seconds=1)))


def test_types_are_suffixes_or_media_types_of_the_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_bytes(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n")
    wrong = SourceFile("page.txt", tmp_path / "page.txt", 40, 0.0)
    assert excludes({"type": "application/pdf"}, wrong)
    assert excludes({"type": ["image/*", ".TXT"]}, wrong)
    assert not excludes({"type": ["pdf", "image/*"]}, wrong)
    assert not excludes({"type": "application/*"}, SourceFile("gone", tmp_path / "gone", 0, 0.0))


def test_languages() -> None:
    assert excludes({"language": ["de", "fr"]}, file(text=GERMAN))
    assert not excludes({"language": "de"}, file(text=ENGLISH))
    assert not excludes({"language": "de"}, file(text="12.5 % 7")), "too few letters to say"
    with pytest.raises(ConfigError, match=r"rules\.0\.language: the language 'xx' is not known"):
        excludes({"language": "xx"}, file(text=GERMAN))


@pytest.mark.parametrize(
    ("rule", "where", "says"),
    [
        ({"exclude": "**", "reason": " "}, "rules.0.reason", "say why"),
        ({"reason": "x"}, "rules.0", "neither include nor exclude"),
        ({"include": "a", "exclude": "b"}, "rules.0", "both include and exclude"),
        ({"exclude": "**", "contents": "x"}, "rules.0.contents", "did you mean 'content'"),
        ({"exclude": "../*.md"}, "rules.0.exclude", "leaves the folder"),
        ({"exclude": []}, "rules.0.exclude", "glob pattern"),
        ({"exclude": "**", "content": "(?<=a)b"}, "rules.0.content", "no look-around"),
        ({"exclude": "**", "size": {"max": "big"}}, "rules.0.size.max", "'big' is not a size"),
        ({"exclude": "**", "size": {"least": 3}}, "rules.0.size.least", "is not a bound"),
        ({"exclude": "**", "size": 3}, "rules.0.size", "is 3"),
        ({"exclude": "**", "language": "German"}, "rules.0.language", "not a code of a language"),
        ({"exclude": "**", "modified": {"before": "31.5.2024"}}, "rules.0.modified.before", "is not a date"),
        ({"exclude": "**", "modified": {"after": -1}}, "rules.0.modified.after", "is not a date"),
    ],
)
def test_a_wrong_rule_is_named_by_its_key(rule: dict[str, Any], where: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        rules(rule)
    assert caught.value.where == f"loader.ingest.{where}"


@pytest.mark.parametrize(
    ("content", "where", "says"),
    [
        ("rules:\n  - {exclude: '**', modified: {before: 2024-05-01}}\n", ": loader.ingest.rules.0.reason", "say why"),
        ("rules: [\n", ":4", "not valid YAML"),
        (None, "loader.ingest", "did you mean 'mine'"),
    ],
)
def test_an_error_names_the_file_of_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, where: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "conf" / "ingest" / "mine.yaml"
    path.parent.mkdir(parents=True)
    head = "_target_: rag.components.ingest.rules.FirstMatchRules\npurpose: Tests.\n"
    path.write_text(f"{head}{content or 'rules: []'}", "utf-8")
    with pytest.raises(ConfigError, match=says) as caught:
        Components().role("loader", config_of([f"loader.ingest={'mine' if content else 'mime'}"])["loader"])
    assert caught.value.where == (f"{path}{where}" if content else where)


@pytest.mark.parametrize("choice", choices("ingest"))
def test_every_choice_has_a_purpose_and_keeps_an_ordinary_page(choice: str) -> None:
    made = build("ingest", choice)
    assert isinstance(made, IngestionRules)
    assert made.purpose.endswith(".")
    decision = made.decide(file("guide/install.md", text="# Install\n\nReports are generated by the server. Do not edit them."))
    assert decision == Decision(True)


@pytest.mark.parametrize(
    ("name", "excluded"),
    [
        *(("web/package-lock.json", True), ("CHANGELOG.md", True), ("LICENSE", True), ("docs/_build/a.html", True)),
        *(("docs/changes-in-leave.md", False), ("docs/licensing.md", False)),
    ],
)
def test_the_preset_for_documentation(name: str, excluded: bool) -> None:
    decision = build("ingest", "documentation").decide(file(name, text="Some text."))
    assert decision.includes is not excluded
    assert bool(decision.reason) is excluded


def test_the_preset_excludes_generated_pages_and_empty_files() -> None:
    made = build("ingest", "documentation")
    assert made.decide(file(text="<!-- Generated by sphinx. DO NOT EDIT. -->\n# API")).rule == "rules.9"
    assert made.decide(file(size=0)).reason == "empty file"


def test_a_manifest_has_a_line_for_every_file(tmp_path: Path) -> None:
    for name, text in {"a.md": "# Leave\n\nTwo days.", "old/b.md": "old", "c.txt": "DRAFT", "d.png": "", ".git/e": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    os.utime(tmp_path / "a.md", (0, 86400))
    loader = text_folder(str(tmp_path))
    loader.rules = rules(
        {"exclude": "old/**", "reason": "superseded"}, {"exclude": "**", "content": "DRAFT", "reason": "not final"}
    )
    assert [document.doc_id for document in loader.load()] == ["a.md"]
    lines = {line.path: line for line in loader.manifest}
    assert {name: (line.decision, line.reason, line.rule) for name, line in lines.items()} == {
        "a.md": ("included", "", ""),
        "old/b.md": ("excluded", "superseded", "rules.0"),
        "c.txt": ("excluded", "not final", "rules.1"),
        "d.png": ("excluded", ".png (no reader yet)", ""),
        ".git": ("excluded", "hidden", ""),
        "latin.md": ("failed", "not UTF-8", ""),
    }
    kept = lines["a.md"]
    assert (kept.modified, kept.size, kept.characters, kept.type) == ("1970-01-02T00:00:00+00:00", 18, 18, "md")
    assert kept.sha256 == hashlib.sha256(b"# Leave\n\nTwo days.").hexdigest()
    assert lines["old/b.md"].sha256 == "", "a file that a rule excludes by its path is not opened"
    skipped = {each.name: (each.reason, each.detail, each.wanted) for each in loader.skipped}
    assert skipped["old/b.md"] == (".md (excluded by a rule)", "excluded by loader.ingest.rules.0: superseded", False)
    assert skipped["latin.md"][2] is True
    assert "a.md" not in skipped
