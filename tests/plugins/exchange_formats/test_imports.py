"""Files of other tools and damaged ones become golden questions, or a reason."""

import json
import pickle
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.corpora import text_folder
from support.sample_files import archive, parts_of, xlsx

from rag.authoring.exchange import tables
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError
from rag.core.types import Document
from rag.evaluation.data import golden as golden_sets
from rag.plugins.exchange_formats import imports
from rag.plugins.exchange_formats.exports import write
from rag.plugins.exchange_formats.imports import PARTIAL, Report, import_set

DOCUMENT = Document("bus.md", "# Bus\n\nThe bus to Holm leaves at eight. A ticket costs **4 crowns**, not more.")


def imported(source: Path, *documents: Document, **given: str) -> tuple[Report, list[dict[str, Any]]]:
    to = source.with_name(f"{source.name}-set")
    report = import_set(source, to, {each.doc_id: each for each in documents} or None, given, "2026-11-23")
    return report, [json.loads(line) for line in (to / "questions.jsonl").read_text("utf-8").splitlines()]


def written(folder: Path, name: str, content: str | bytes | list[Any]) -> Path:
    path = folder / name
    if isinstance(content, list):
        content = "".join(f"{json.dumps(row)}\n" for row in content) if name.endswith("jsonl") else json.dumps(content)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path


def test_contexts_become_spans_or_are_listed_with_the_nearest_text(tmp_path: Path) -> None:
    contexts = ["The bus to Holm leaves at eight.", "A ticket costs 4 crowns, not more.", "The bvs to Holm leaves at eiqht."]
    rows = [{"question": f"q{number}", "answer": "a", "contexts": [text]} for number, text in enumerate(contexts)]
    rows += [{"question": "q3", "answer": "a", "contexts": ["A ticket costs 5 crowns, not more.", contexts[0]]}]
    rows += [{"question": "q4", "answer": "a", "contexts": "The ship sails."}, {"question": "q5", "answer": "a"}]
    report, lines = imported(written(tmp_path, "mine.jsonl", rows), DOCUMENT)
    assert report.anchored == {"exact": 2, "rendered": 1, "fuzzy": 1}
    quotes = [[group["any"][0]["quote"] for group in line.get("evidence", ())] for line in lines]
    bus, ticket = ["The bus to Holm leaves at eight."], ["A ticket costs **4 crowns**, not more."]
    assert quotes == [bus, ticket, [bus[0][:-1]], bus, [], []]
    assert [line["tags"] for line in lines if "tags" in line] == [[PARTIAL]]
    assert (len(report.not_found), report.without_evidence) == (2, 2)
    assert "nearest: " in report.not_found[0]
    assert "4 crowns" in report.not_found[0]


def test_without_documents_the_contexts_become_documents(tmp_path: Path) -> None:
    named = [{"document_id": name, "text": f"text of {name}"} for name in ("../../up", "/etc/passwd", "a/b.md", "..", "a\0b")]
    rows = [
        {"question": "q", "contexts": [*named, "bare"]},
        {"question": "r", "contexts": [{"doc_id": "a/b.md", "text": "other"}]},
    ]
    report, lines = imported(written(tmp_path, "in.jsonl", rows))
    folder = tmp_path / "in.jsonl-set" / "documents"
    names = [path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file()]
    assert report.documents == len(names) == 7
    assert sorted(place["doc"] for line in lines for group in line["evidence"] for place in group["any"]) == sorted(names)
    assert (folder / "a" / "b.md").read_text("utf-8") == "text of a/b.md"
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "in.jsonl-set"}


@pytest.mark.parametrize(
    ("codec", "separator"), [("utf-8", ","), ("utf-8-sig", ";"), ("utf-16", "\t"), ("utf-16-le", ";"), ("cp1252", "\t")]
)
def test_tables_in_usual_encodings_and_separators_are_read(tmp_path: Path, codec: str, separator: str) -> None:
    text = f'question{separator}Ground Truth\n"Größe; in,\tm?"{separator}"5 – 6"\n'
    report, lines = imported(written(tmp_path, "in.csv", text.encode(codec)))
    assert (report.format, lines[0]["text"], lines[0]["answers"]) == ("csv", "Größe; in,\tm?", ["5 – 6"])


def test_sheets_are_read_and_their_formulas_are_not_run(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(str(tmp_path / "in.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["question", "answer"])
        sheet.write_row(1, 0, ["How many?", 4])
        sheet.write(2, 0, "Run?")
        sheet.write_formula(2, 1, '=HYPERLINK("http://127.0.0.1")', value="kept value")
    _, lines = imported(tmp_path / "in.xlsx")
    assert [line["answers"] for line in lines] == [["4"], ["kept value"]]


def test_exports_of_tools_are_known_by_their_columns(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Where?"}]}
    smith = [{"inputs": {"question": "Q?"}, "outputs": {"result": "A."}, "metadata": {"dataset_split": ["base"]}}]
    smith += [{"inputs": chat, "outputs": {"messages": [{"role": "assistant", "content": "Here."}]}}]
    report, lines = imported(written(tmp_path, "smith.jsonl", smith))
    assert (report.format, [(line["text"], line["answers"]) for line in lines]) == (
        "langsmith",
        [("Q?", ["A."]), ("Where?", ["Here."])],
    )
    cells = "id,inputs,outputs\n" + '7,"{""question"": ""Q?""}","{""answer"": ""A.""}"\n'
    assert imported(written(tmp_path, "smith.csv", cells))[1][0]["answers"] == ["A."]
    fuse = [{"id": "i", "input": "Q?", "expectedOutput": "A.", "metadata": {"kind": "k"}, "status": "ACTIVE"}]
    report, lines = imported(written(tmp_path, "fuse.json", fuse))
    assert (report.format, lines[0]["id"], lines[0]["kind"], lines[0]["answers"]) == ("langfuse", "i", "k", ["A."])


def test_assertions_of_promptfoo_are_data(tmp_path: Path) -> None:
    text = """
prompts: [file://secret.txt]
tests:
  - vars: {question: "Capital?"}
    assert: [{type: icontains-any, value: [Paris, Lutetia]}, {type: javascript, value: process.exit()}]
  - vars: {question: "Which?"}
    assert: [{type: contains-all, value: [red, blue]}, {type: equals, value: file://answer.txt}, {type: equals, value: red}]
  - file://more.yaml
"""
    report, lines = imported(written(tmp_path, "promptfoo.yaml", text))
    assert (report.format, report.rows, len(report.refused), len(report.notes)) == ("promptfoo", 3, 1, 2)
    assert [line.get("answers") for line in lines] == [["Paris", "Lutetia"], ["red"]]
    assert lines[1]["expects"] == {"values": ["red", "blue"]}
    cells = "question,__expected1,__expected2\nQ?,contains: one,llm-rubric: is nice\nR?,two: or three,\n"
    assert [line["answers"] for line in imported(written(tmp_path, "t.csv", cells))[1]] == [["one"], ["two: or three"]]


def test_conversations_become_questions_with_their_history(tmp_path: Path) -> None:
    said = [("user", "Where?"), ("system", "In Holm."), ("user", "When?"), ("agent", "At eight.")]
    turns = [{"speaker": speaker, "text": text} for speaker, text in said]
    turns[1] |= {"contexts": [{"document_id": "d1", "text": "The bus goes to Holm."}]}
    report, lines = imported(written(tmp_path, "mtrag.json", [{"conversation_id": "c", "messages": turns}]))
    history = [{"role": "user", "text": "Where?"}, {"role": "assistant", "text": "In Holm."}]
    assert [(line["id"], line["dialogue"], line["turn"]) for line in lines] == [("c_1", "c", 1), ("c_2", "c", 2)]
    assert [(line["text"], line["answers"], line.get("history", [])) for line in lines] == [
        ("Where?", ["In Holm."], []),
        ("When?", ["At eight."], history),
    ]
    assert (report.format, lines[0]["evidence"]) == ("conversations", [{"grade": 1, "any": [{"doc": "d1.txt"}]}])
    task = {"task_id": "t", "conversation_id": "c", "text": "When?", "history": turns[:2], "answer": "At eight."}
    row = imported(written(tmp_path, "tasks.jsonl", [task]))[1][0]
    assert (row["turn"], row["history"]) == (2, history)
    cast = {"number": 31, "turn": [{"number": 1, "raw_utterance": "Where?", "manual_rewritten_utterance": "Where now?"}]}
    cast["turn"][0] |= {"response": "Here."}  # type: ignore[index]
    row = imported(written(tmp_path, "cast.json", [cast]))[1][0]
    assert (row["id"], row["rewrite"], row["answers"]) == ("31_1", "Where now?", ["Here."])
    with pytest.raises(DataError, match="the speaker is 'narrator'"):
        imported(written(tmp_path, "odd.jsonl", [{"messages": [{"role": "narrator", "content": "Once."}]}]))


def test_rows_that_would_be_scored_wrong_are_refused_with_a_reason(tmp_path: Path) -> None:
    rows = [{"id": 1, "question": "a", "answer": "b"}, {"id": 1, "question": "c", "answer": "d"}, {"question": "e"}]
    rows += [{"question": " ", "answer": "f"}, {"question": "g\0", "answer": "f"}, {"question": "h", "unanswerable": True}]
    rows += [{"id": 9, "question": "i", "answer": "j", "split": "tune"}, {"question": "k", "contexts": ["x", 3]}]
    path = written(tmp_path, "in.jsonl", rows)
    path.write_bytes(
        path.read_bytes() + b'[1]\n{"question": "\\ud800"}\n{"question": "x", "question": "y"}\n{' + b"[" * 100_000
    )
    report, lines = imported(path)
    assert [line["text"] for line in lines] == ["a", "h"]
    assert (report.rows, report.questions, report.unanswerable, len(report.refused)) == (12, 2, 1, 10)
    reasons = ["is there already", "no answer and no evidence", "empty", "NUL", "only a part of the questions has a split"]
    reasons += ["passage 2: is 3", "not an object", "part of a pair", "holds the key", "not valid JSON"]
    assert all(reason in line for reason, line in zip(reasons, report.refused, strict=True))


def test_bombs_are_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "bomb.xlsx", "w", 8) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * (20 << 20))
    with pytest.raises(DataError, match="unpacks"):
        imported(tmp_path / "bomb.xlsx")
    levels = [f"  l{number}: &l{number} [{', '.join([f'*l{number - 1}'] * 10)}]" for number in range(1, 9)]
    tests = ["tests:", "- vars: {question: q}", "  answers: *l8"]
    laughs = "\n".join(["defs:", "  l0: &l0 [lol]", *levels, *tests])
    with pytest.raises(DataError, match="more than 10,000 values"):
        imported(written(tmp_path, "bomb.yaml", laughs))


def test_a_sheet_that_fills_memory_is_lost_to_a_limit(tmp_path: Path) -> None:
    parts, ns = parts_of(xlsx()), 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    words = "".join(map(str, range(170_000)))
    parts["xl/sharedStrings.xml"] = f"<sst {ns}><si><t>{words}</t></si></sst>".encode()
    rows = "".join(f'<row r="{row}"><c r="A{row}" t="s"><v>0</v></c></row>' for row in range(1, 1500))
    parts["xl/worksheets/sheet1.xml"] = f"<worksheet {ns}><sheetData>{rows}</sheetData></worksheet>".encode()
    with pytest.raises(DataError, match=r"needs more than 512 MB of memory|ended the process of its parser \(SIGABRT"):
        imported(written(tmp_path, "bomb.xlsx", archive(parts)))


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.parquet"])
def test_too_many_columns_are_refused(tmp_path: Path, name: str) -> None:
    row = {f"c{number}": "x" for number in range(50_000 if name[2] in "ct" else 1_500)} | {"question": ""}
    write(tmp_path / name, [row], list(row))
    if name == "a.json":
        written(tmp_path, name, [row])
    began = time.process_time()
    with pytest.raises(DataError, match=r"has (50|1),[05]0[01] columns"):
        imported(tmp_path / name)
    assert time.process_time() - began < 5, "a header of 50,000 names was compared with itself"


class Trap:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("unpickled"),)


def test_types_of_parquet_that_hold_code_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    held = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickle.dumps(Trap())}
    schema = pa.schema([pa.field("question", pa.string(), metadata=held), pa.field("answer", pa.list_(pa.string()))])
    parquet.write_table(pa.Table.from_pylist([{"question": "q", "answer": ["a"]}], schema), tmp_path / "in.parquet")
    assert imported(tmp_path / "in.parquet")[1][0]["answers"] == ["a"]
    assert not (tmp_path / "unpickled").exists()


def test_a_cell_may_be_huge_and_hold_lists(tmp_path: Path) -> None:
    huge = "word " * 200_000
    cells = f'question,answers,contexts\nq,"[\'a\', ""b \\n c""]","{huge}"\n'
    _, lines = imported(written(tmp_path, "in.csv", cells))
    assert lines[0]["answers"] == ["a", "b \n c"]
    assert next((tmp_path / "in.csv-set/documents").iterdir()).read_text("utf-8") == huge.strip()


KEYS = ["id", "question", "answers", "contexts", "evidence", "document", "tags", "split", "history", "messages", "expects"]
KEYS += ["dialogue", "turn", "input", "metadata", "assert", "__expected", "unanswerable", "role", "text", "any", "doc", "start"]
WORDS = st.sampled_from(
    ["The bus to Holm", "4", "user", "system", "tune", "", "[]", '["a"]', "{", "bus.md", "why?", "\0", "true"]
)
VALUES = st.recursive(
    WORDS | st.integers(-2, 3) | st.booleans() | st.none() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.fixed_dictionaries({"question": WORDS, "answer": WORDS}, optional=dict.fromkeys(KEYS[4:], VALUES)), max_size=4)
)
def test_any_row_is_refused_or_loads(rows: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        path = written(Path(folder), "in.jsonl", rows)
        (Path(folder) / "documents").mkdir()
        (Path(folder) / "documents" / "bus.md").write_text(DOCUMENT.text, "utf-8")
        with pytest.MonkeyPatch.context() as patch:  # to start a process for each example would take long
            patch.setattr(imports, "read", lambda path, kind: tables.rows_of(path.open("rb"), str(path), kind, "utf-8"))
            try:
                report, _ = imported(path, DOCUMENT)
            except DataError:
                return
        loader = text_folder(f"{folder}/documents")
        assert len(golden_sets.load(loader, NativeQuestions(f"{path}-set")).examples) == report.questions


def test_an_answer_in_a_named_document_drafts_its_passage(tmp_path: Path) -> None:
    rows = [{"question": said, "answer": said, "document": "bus.md", "is_impossible": False} for said in ("eight", "nine")]
    report, lines = imported(written(tmp_path, "mine.jsonl", rows), DOCUMENT)
    quotes = [line["evidence"][0]["any"][0].get("quote", "") for line in lines]
    assert quotes == ["The bus to Holm leaves at eight.", ""]
    assert [note.split()[1] for note in report.notes] == ["passages", "times", "column"]
