"""`rag data fix`: quotes that differ in form are corrected once a person accepts the diff."""

import io
import json
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.corpora import text_folder

from rag.authoring.review.question_file import QuestionFile
from rag.authoring.review.quote_fixes import find_fixes
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError
from rag.core.types import Document, Span
from rag.evaluation.data import golden as golden_sets

TEXTS = {"a.md": "Now: you may **carry** four days.\n\nTwice. Twice.", "b.md": "It\u2019s [free](x.md) for dogs."}
DOCUMENTS = {name: Document(name, text) for name, text in TEXTS.items()}


def line(doc: str, quote: str, **offsets: int) -> dict[str, object]:
    return {"id": "q", "text": "t\u00fc", "evidence": [{"any": [{"doc": doc, "quote": quote, **offsets}]}]}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (line("a.md", "you may carry four  days."), line("a.md", "you may **carry** four days.")),
        (line("b.md", "It's free for dogs."), line("b.md", "It\u2019s [free](x.md) for dogs.")),
        (line("a.md", "four days", start=0, end=9), line("a.md", "four days", start=23, end=32)),
        (line("b.md", "you may carry four days."), line("a.md", "you may **carry** four days.")),
        (line("gone.md", "for dogs"), line("b.md", "for dogs")),
        (line("a.md", "four days"), None),
        (line("a.md", "Twice."), None),
        (line("a.md", "five days"), None),
        (line("a.md", " "), None),
        ({"evidence": [{"any": 1}, 2]}, None),
        ({"evidence": 3}, None),
    ],
)
def test_corrections_of_quotes(given: dict[str, object], wanted: dict[str, object] | None) -> None:
    text = f"{json.dumps(given, ensure_ascii=False)}\n"
    made = find_fixes(text, DOCUMENTS)
    assert (made.after, made.count) == (f"{json.dumps(wanted or given, ensure_ascii=False)}\n", int(wanted is not None))
    assert bool(made.diff("q")) == (wanted is not None)


@pytest.mark.parametrize("style", [{}, {"ensure_ascii": False}, {"separators": (",", ":")}])
def test_changed_lines_keep_their_style(style: dict[str, object]) -> None:
    def dumped(quote: str) -> str:
        return json.dumps(line("b.md", quote), **style)  # type: ignore[arg-type]

    kept = '\ufeff{ "id" :1 }\r\n\r\nno json\r\n'
    made = find_fixes(kept + dumped("It's free for dogs.") + "\r\n", DOCUMENTS)
    assert made.after == kept + dumped("It\u2019s [free](x.md) for dogs.") + "\r\n"
    assert made.diff("q").splitlines()[2] == "@@ -4 +4 @@"


@pytest.fixture
def rag(here: Path, golden: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    document = golden / "documents" / "bus.md"
    document.write_text(document.read_text("utf-8").replace("four crowns", "*four*\ncrowns"), "utf-8")
    return verb(capsys, monkeypatch)


FIX = ("dataset", "fix", "native", "dataset.path=../golden")


@pytest.mark.parametrize(("typed", "written"), [("y\n", True), ("n\n", False), ("", False)])
def test_a_diff_is_written_if_it_is_accepted(
    rag: Verb, golden: Path, monkeypatch: pytest.MonkeyPatch, typed: str, written: bool
) -> None:
    path = golden / "questions.jsonl"
    before = path.read_text("utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
    said = rag(*FIX)
    assert said.code == 0, said
    assert '"quote": "A ticket costs *four*\\ncrowns."' in said.out
    after = path.read_text("utf-8")
    assert (after == before.replace("costs four crowns", "costs *four*\\ncrowns"), after == before) == (written, not written)


def test_a_fixed_set_has_the_same_gold_and_needs_no_further_fixes(rag: Verb, golden: Path) -> None:
    def load() -> golden_sets.Golden:
        return golden_sets.load(text_folder(str(golden / "documents")), NativeQuestions(str(golden)))

    before = load()
    report = rag(*FIX, "--json").json
    assert (report["quotes"], report["written"]) == (1, False)
    assert rag(*FIX, "--yes", "--json").json == report | {"written": True}
    assert load().golden_digest == before.golden_digest
    assert before.examples[1].evidence[0].alternatives == (Span("bus.md", 40, 69),)
    assert rag(*FIX).out == "no quotes written.\n"


def test_a_file_that_changed_meanwhile_is_not_overwritten(rag: Verb, golden: Path) -> None:
    file = QuestionFile(text_folder(str(golden / "documents")), NativeQuestions(str(golden)))
    made = file.fixes()
    file.path.write_text(made.before + "\n", "utf-8")
    with pytest.raises(DataError, match="changed meanwhile"):
        file.write(made)
    assert file.path.read_text("utf-8") == made.before + "\n"
