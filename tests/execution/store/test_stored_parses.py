"""An unchanged file is not parsed again, and no secret is in the store."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.hostile_parsers import HostileParser

from rag.components.redactors.none import NoRedactor
from rag.core.roles import Parser, Redactor
from rag.core.types import Parsed
from rag.documents.reading import FileRead, ParseStore, Unreadable, read_files
from rag.documents.sandbox.limits import Limits
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import stored
from rag.execution.store.store import Store


class DigitRedactor:
    """Finds runs of nine nines."""

    def find(self, text: str) -> Sequence[tuple[int, int, str]]:
        at = text.find("9" * 9)
        return [(at, at + 9, "digits")] if at >= 0 else []


def wrapped(store: Store, parser: Parser, redactor: Redactor, name: str = "one") -> tuple[Parser, Redactor]:
    ledger = Ledger(store, Terms())
    return stored(store, ledger, parser, lambda: name), stored(store, ledger, redactor, lambda: type(redactor).__name__)


def read(
    store: Store, folder: Path, name: str = "one", redactor: Redactor | None = None, limits: Limits | None = None
) -> list[FileRead]:
    parser, known = wrapped(store, HostileParser("hi"), redactor or NoRedactor(), name)
    files = {path.name: path for path in sorted(folder.glob("*.bad"))}
    return list(read_files(files, {"bad": parser}, known, 1, limits))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, deed in {"a": "say alpha", "b": "refuse is sealed", "c": "say gamma", "d": "segfault"}.items():
        (tmp_path / f"{name}.bad").write_text(deed)
    return tmp_path


def test_a_second_reading_parses_the_changed_file_only(store: Store, folder: Path) -> None:
    first = read(store, folder)
    assert [file.is_stored for file in first] == [False] * 4
    again = read(store, folder)
    assert [file.is_stored for file in again] == [True] * 4
    assert [file.content for file in again] == [file.content for file in first]
    assert [type(file.content) for file in again] == [Parsed, Unreadable, Parsed, Unreadable]
    (folder / "c.bad").write_text("say delta")
    (folder / "copy.bad").write_text("say alpha")
    assert [file.is_stored for file in read(store, folder)] == [True, True, False, True, True]
    another = read(store, folder, name="two")
    assert [file.name for file in another if file.is_stored] == ["copy.bad"]


def test_a_failure_that_another_time_may_not_meet_is_not_stored(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.bad").write_text("sleep")
    for _ in range(2):
        (file,) = read(store, tmp_path, limits=Limits(longest=0.4))
        assert not file.is_stored
        assert file.content == Unreadable("over a limit", "was not parsed within 0.4 seconds", is_lasting=False)


def test_the_store_holds_no_secret_of_a_content_or_of_an_error(store: Store, tmp_path: Path) -> None:
    secret = "9" * 9
    (tmp_path / "a.bad").write_text(f"say the number {secret}")
    (tmp_path / "b.bad").write_text(f"fault cannot read {secret}")
    files = read(store, tmp_path, redactor=DigitRedactor())
    assert isinstance(files[0].content, Parsed)
    assert files[0].content.text == "hi the number [redacted: digits] file.bad"
    assert "cannot read [redacted: digits]" in getattr(files[1].content, "detail", "")
    assert files == [
        FileRead(**{field: getattr(file, field) for field in FileRead.__slots__} | {"is_stored": False, "seconds": one.seconds})
        for file, one in zip(read(store, tmp_path, redactor=DigitRedactor()), files, strict=True)
    ]
    written = [path.read_bytes() for path in Path(store.base).rglob("*") if path.is_file()]
    assert len(written) >= 2
    assert not any(secret.encode() in content for content in written)


def test_another_redactor_parses_again_and_an_unknown_one_stores_nothing(store: Store, folder: Path) -> None:
    read(store, folder)
    assert not any(file.is_stored for file in read(store, folder, redactor=DigitRedactor()))
    parser, _ = wrapped(store, HostileParser("hi"), NoRedactor(), "three")
    assert isinstance(parser, ParseStore)
    count = len(store.keys("parses"))
    list(read_files({"a.bad": folder / "a.bad"}, {"bad": parser}, DigitRedactor(), 1))
    assert len(store.keys("parses")) == count


def test_parses_are_counted_and_collected_with_age(store: Store, folder: Path) -> None:
    read(store, folder)
    assert maintenance.stats(store)["spaces"]["parses"]["entries"] == 4
    assert maintenance.collect(store, 1)["removed"] == 0
    assert maintenance.collect(store, -1)["removed"] == 4
