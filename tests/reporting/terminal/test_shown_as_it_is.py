"""The terminal shows texts character by character: no emoji for `:100:`, no markup, no cut; one module makes all consoles."""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text
from support.command_line import verb

import rag
from rag import cli
from rag.analysis.dataset_health import Finding as Suspect
from rag.analysis.why import Account, Why
from rag.components.generators.extractive import ExtractiveGenerator
from rag.core.errors import DataError
from rag.core.types import Answer, Chunk, Finding, Hit, Query, Reply, Span
from rag.documents.folder.file_tree import Skipped
from rag.evaluation.data.validation import DatasetCheck, SplitSize, Stray, Twins
from rag.reporting import terminal
from rag.reporting.terminal import output, passages, store_contents, why
from rag.reporting.terminal.answers import answered, sources
from rag.reporting.terminal.golden_sets import _listed
from rag.reporting.terminal.output import LiteralConsole, escape, out, table, visible
from rag.reporting.terminal.streamed_answer import Waiting

PIECES = (
    *("10:100:1", ":smile:", "[bold]", "[/bold]", "[/]", "[link=file:///etc/passwd]x[/link]", "[@click=f()]", "[ ]", "[1, 2]"),
    *("\\", "\\[", "\\\\[1]", "[b", "c]", "[", "]", "[2](x)", "http://x.y/[z]", "true 3.14 None 'a'", "{}", "%s", "…", "–"),
    *("\x1b[2J", "\u202e", "\x9b", "\x07", "\r", "\t", "\n", "\u3000", "日本", "👩‍🚀", "שלום", "é", "ﬁ", "٣", "\u200b", "🇩🇪"),
)
"""Texts that Rich would change, that a terminal would obey, or that are wider or narrower than one cell per character."""
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), min_size=1, max_size=6).map("".join)
WIDE = 2_000
few = settings(max_examples=25)


def bare(text: str) -> str:
    """A text as shown, without white space, since lines may break anywhere."""
    return "".join(visible(text).split())


@contextmanager
def showing(width: int = WIDE) -> Iterator[list[str]]:
    """What is printed meanwhile, without white space."""
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patched, out.capture() as captured:
        patched.setattr(out, "_width", width)
        yield said
    said.append("".join(captured.get().split()))


def assert_shown(said: list[str], *texts: str) -> None:
    assert [text for text in texts if bare(text) not in said[0]] == []


@given(TEXTS, TEXTS)
@example("\\", "x")
@example("[b", "c]")
@example("\\[", "\\")
@example("[1]\\[1]", "\\\\[a]")
def test_a_text_in_markup_is_the_text(one: str, other: str) -> None:
    shown = out.render_str(f"[bold]{escape(one)}[/bold] {escape(other)}[dim]: {escape(one)}[/dim]")
    assert bare(shown.plain) == bare(f"{one} {other}: {one}")


@given(TEXTS, st.integers(2, 40))
def test_no_width_loses_a_character(text: str, width: int) -> None:
    with showing(width) as said:
        out.print(escape(text))
    assert said == [bare(text)]
    cells = table("", show_header=False)
    cells.add_row(escape(text))
    with showing(width) as said:
        out.print(cells)
    assert said == [bare(text)]


@few
@given(st.lists(TEXTS, max_size=5), st.booleans())
def test_pieces_of_an_answer(pieces: list[str], on_a_terminal: bool) -> None:
    text = "".join(pieces)
    with pytest.MonkeyPatch.context() as patched, showing() as said:
        patched.setattr(Console, "is_terminal", property(lambda console: on_a_terminal and console is out))
        with Waiting() as hear:
            for piece in pieces:
                hear(piece)
        answered(answer(text), ExtractiveGenerator(), hear.heard)
    assert said[0].startswith(bare(text))


def answer(text: str, where: str = "d", section: str = "", found: str = "") -> Answer:
    """An answer from one passage."""
    chunk = Chunk(Span(where, 0, 1), "x")
    findings = (Finding(section, found, "flag"),) if found else ()
    return Answer(Query("q", "?"), (Hit(chunk, 1.0),), Reply(text, (1,)), findings)


@few
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_ask(text: str, name: str, section: str, found: str) -> None:
    about = {"number": 1, "chunk": name, "section": section, "text": text, "steps": {found: {"rank": 1, "score": 0.5}}}
    with showing() as said:
        passages.passages([about])
        sources(answer("x", name))
        answered(answer(text, name, section, found), ExtractiveGenerator(), "")
    assert_shown(said, text, name, section, found, f"{name}:0-1")


@few
@given(TEXTS, TEXTS, TEXTS, TEXTS, st.booleans())
def test_why(text: str, name: str, reply: str, stage: str, two: bool) -> None:
    gold = {"any": [{"document": name, "start": 0, "end": 3, "quote": text}], "grade": 1}
    question = {"id": name, "text": text, "kind": stage, "split": "", "history": [{"role": "user", "text": reply}]}
    passage = {"number": 1, "chunk": name, "section": stage, "text": text, "steps": {}}
    told = {"answer": reply, "input": "question", "scores": {stage: 0.5}}
    account = Account("t1", name, 5, stage, text, (stage,), (text,), "passage", {stage: (1,)}, (True,), (passage,), told)
    with showing() as said:
        why.why(Why(question | {"evidence": [gold]}, (account,) * (1 + two)))
    assert_shown(said, text, name, reply, stage)


@few
@given(TEXTS, TEXTS, TEXTS)
def test_dataset(name: str, kind: str, file: str) -> None:
    found = DatasetCheck(
        documents=1,
        empty_documents=0,
        characters=1,
        questions=1,
        unanswerable=0,
        evidence_groups=1,
        clusters=1,
        dealing="",
        kinds={kind: {file: 1}},
        splits={"all": SplitSize(1, 1, 1, None), file: SplitSize(1, 1, 1, None)},
        twins=(Twins(name, file, 0.9, True),),
        strays=(Stray(name, kind, "", (file,)),),
        clusters_across_splits=(kind,),
        skipped=(Skipped(file, kind),),
        without_evidence=(name,),
    )
    with showing() as said:
        store_contents.dataset(name, found)
        store_contents.skipped([Skipped(file, kind)])
        _listed("Suspects", [Suspect(name, kind, file)])
    assert_shown(said, name, kind, file, f"not read: {kind}: {file}", f"{name} ~ {file}")


def test_a_pipe_gets_tabs_and_long_lines_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    output.stream("all:\n\tmake [bold]x[/bold]\t# " + "x" * 500)
    assert capsys.readouterr().out == "all:\n\tmake [bold]x[/bold]\t# " + "x" * 500


def test_control_characters_reach_no_terminal_and_styles_do() -> None:
    hostile = "a\x1b]52;c;cm0=\x07b\x1b[2Jc\x9b31md\u202ee\r\x00\x7f"
    console = LiteralConsole(file=StringIO(), force_terminal=True, color_system="standard", width=100)
    rows = table("said")
    rows.add_row(Text(hostile))
    for thing in (hostile, Text(hostile), rows):
        console.print(thing, markup=False)
    console.print(hostile, soft_wrap=True, end="")
    assert isinstance(console.file, StringIO)
    shown = console.file.getvalue()
    assert [code for code in ("\x1b]", "\x1b[2J", "\x9b", "\u202e", "\x07", "\x00", "\x7f", "\r") if code in shown] == []
    assert shown.count("b[2Jc31mde") == 4
    console.print("[bold]né[/bold] שלום 日本 👩‍🚀\nx")
    assert console.file.getvalue().endswith("\x1b[1mné\x1b[0m שלום 日本 👩‍🚀\nx\n")


BARS = ("BarColumn", "MofNCompleteColumn", "Progress", "SpinnerColumn", "TextColumn", "TimeElapsedColumn")
ALLOWED = {
    *("rich.padding.Padding", "rich.console.Group", "rich.cells.cell_len", "rich.text.Text", "rich.errors.LiveError"),
    *(f"rich.progress.{name}" for name in BARS),
}
"""Names of Rich that need no console: `out` and `err` print them."""


def names_used(path: Path) -> tuple[list[str], list[str]]:
    """The full names that a module imports, and the names that it calls."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    imported = [f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    imported += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    return imported, [ast.unparse(call) for call in calls if isinstance(call, ast.Name | ast.Attribute)]


def test_one_module_makes_consoles_and_all_others_print_through_it() -> None:
    modules = sorted(Path(rag.__file__).parent.rglob("*.py"))
    others = [path for path in modules if path.name != "output.py" or path.parent.name != "terminal"]
    assert len(others) == len(modules) - 1
    for path in others:
        if not re.search(r"\brich\b|\bprint\(|from_markup|typer\.echo", path.read_text("utf-8")):
            continue
        imported, called = names_used(path)
        assert [name for name in imported if name.split(".")[0] == "rich" and name not in ALLOWED] == [], path
        assert {"print", "Text.from_markup", "typer.echo"}.isdisjoint(called), path
    consoles = [console for console in vars(output).values() if isinstance(console, Console)]
    assert {type(console) for console in consoles} == {LiteralConsole, output.Output}
    source = (Path(terminal.__file__).parent / "progress.py").read_text("utf-8")
    (bar,) = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Progress"
    ]
    assert {one.arg: ast.unparse(one.value) for one in bar.keywords}["console"] == "err"


def test_an_error_shows_quotes_without_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise DataError("[/]\x1b[2J\u202e:100:", "is\x07 wrong", "fix\x9b it")

    monkeypatch.setattr(cli, "app", fail)
    said = verb(capsys, monkeypatch)("list")
    assert (said.code, said.err) == (2, "[/][2J:100:: is wrong\n  → fix it\n")
