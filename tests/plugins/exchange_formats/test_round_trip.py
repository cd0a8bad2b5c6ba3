"""Every format: what was exported is imported again, and the tools themselves read what is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.corpora import text_folder

from rag.authoring.exchange.format_table import formats
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import UserError
from rag.core.types import Document, Example, document_of, spans_of
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.golden_digests import question_fields
from rag.plugins.exchange_formats.exports import export_set, rows_of
from rag.plugins.exchange_formats.imports import Report, import_set

TEXTS = {
    "town/ferry.md": "# Ferry\n\nThe ferry leaves at **seven**. A ticket costs 9 crowns.\n\nDogs travel free of charge.",
    "bus.md": "# Bus\n\nThe bus leaves at eight. A ticket costs 4 crowns.\n\nDogs travel free of charge, too. Dogs bark.",
}
FARES = [("town/ferry.md", "A ticket costs 9 crowns."), ("bus.md", "A ticket costs 4 crowns.")]
DOGS = [("town/ferry.md", "Dogs travel free of charge"), ("bus.md", "Dogs travel free of charge, too")]


def places(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"doc": doc, "quote": quote} for doc, quote in pairs]


ROWS: list[dict[str, Any]] = [
    {
        **{"id": "q1", "text": "=1+1, or when does the ferry leave?", "kind": "factoid", "tags": ["a", "b"], "split": "tune"},
        **{"cluster": "c1", "answers": ["-7", '["7"]', 'seven\n"o\'clock"']},
        "evidence": [{"grade": 2, "any": places(("town/ferry.md", "leaves at **seven**"))}],
    },
    {
        **{"id": "q2", "text": "Which is cheaper?", "split": "holdout", "expects": {"values": ["bus", "4"]}, "route": "both"},
        **{"answers": ["the bus"], "evidence": [{"any": places(fare)} for fare in FARES]},
    },
    {
        **{"id": "q3", "text": "And dogs?", "split": "tune", "dialogue": "d", "turn": 2, "rewrite": "Do dogs pay?"},
        **{"answers": ["'=no"], "evidence": [{"any": places(*DOGS)}]},
        "history": [{"role": "user", "text": "Do I pay?"}, {"role": "assistant", "text": "Yes."}],
    },
    {"id": "q4", "text": "Who paints it?", "split": "tune"},
    {"id": "q5", "text": "Who, then?", "split": "tune", "unanswerable": True, "answers": ["That is not known."]},
    {"id": "q6", "text": "What barks?", "split": "tune", "answers": ["dogs"], "evidence": [{"any": [{"doc": "bus.md"}]}]},
    {
        **{"id": "q7", "text": "What is first?", "split": "tune", "answers": ["dogs"]},
        "evidence": [{"any": [{"doc": "bus.md", "quote": "Dogs", "start": 91, "end": 95}]}],
    },
]


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Golden:
    folder = tmp_path_factory.mktemp("set")
    for name, text in TEXTS.items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "questions.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    return loaded(folder)


def loaded(folder: Path, documents: Path | None = None) -> Golden:
    return golden_sets.load(text_folder(str(documents or folder / "documents")), NativeQuestions(str(folder)))


def exported(golden: Golden, format: str, to: Path) -> dict[str, int]:
    return dict(export_set(ROWS, golden.documents, format, to))


def imported(source: Path, to: Path, golden: Golden | None = None, **given: str) -> Report:
    documents: dict[str, Document] | None = {each.doc_id: each for each in golden.documents} if golden else None
    return import_set(source, to, documents, given, "2026-11-23")


def asked(example: Example) -> tuple[Any, ...]:
    return (
        example.query.text,
        example.answers,
        [[spans_of(place) for place in group.alternatives] for group in example.evidence],
    )


@pytest.mark.parametrize("format", sorted(name for name, each in formats().items() if each.holds is None))
def test_formats_with_room_for_all_fields_give_the_same_set(golden: Golden, format: str, tmp_path: Path) -> None:
    assert exported(golden, format, tmp_path / "out") == {}
    (*_, written) = (tmp_path / "out").iterdir()
    source = tmp_path / "out" if format == "huggingface" else written
    report = imported(source, tmp_path / "set", golden)
    tools = ("mlflow", "langsmith", "langfuse", "promptfoo", "huggingface")
    assert (report.rows, report.questions, report.refused, report.not_found) == (7, 7, [], [])
    assert report.format == (format if format in tools else source.suffix[1:])
    assert (report.unanswerable, report.without_evidence) == (2, 0)
    for name, text in TEXTS.items():
        (tmp_path / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "documents" / name).write_text(text, "utf-8")
    again = loaded(tmp_path / "set", tmp_path / "documents")
    for before, after in zip(golden.examples, again.examples, strict=True):
        assert question_fields(after) == question_fields(before)
    first = json.loads((tmp_path / "set" / "questions.jsonl").read_text("utf-8").splitlines()[0])["provenance"]
    assert first["method"] == f"import:{report.format}"
    assert (first["author"], first["at"]) == (source.name, "2026-11-23")
    assert len(first["documents"]["town/ferry.md"]) == 16


def test_beir_and_autorag_bring_their_documents(golden: Golden, tmp_path: Path) -> None:
    expected = {
        "beir": {"answers": 6, "alternatives": 1, "quotes": 4, "expects": 1, "kind": 1, "tags": 1, "split": 7, "cluster": 1},
        "autorag": {"quotes": 4, "grades": 1, "history": 1, "dialogue": 1, "turn": 1, "rewrite": 1, "expects": 1, "kind": 1},
    }
    expected["beir"] |= {"unanswerable": 2, "several answers": 1, "route": 1}
    expected["autorag"] |= {"route": 1, "tags": 1, "split": 7, "cluster": 1, "unanswerable": 2}
    kept = {"beir": ["q1", "q2", "q3", "q6", "q7"], "autorag": ["q1", "q2", "q3", "q5", "q6", "q7"]}
    for format, lost in expected.items():
        assert exported(golden, format, tmp_path / format) == lost
        report = imported(tmp_path / format, tmp_path / f"{format}-set")
        assert (report.format, report.documents, len(report.refused)) == (format, 2, 7 - len(kept[format]))
        again = loaded(tmp_path / f"{format}-set")
        assert {each.doc_id: each.text for each in again.documents} == TEXTS
        assert [example.query.query_id for example in again.examples] == kept[format]
        before = {example.query.query_id: example for example in golden.examples}
        for after in again.examples:
            same = before[after.query.query_id]
            assert [document_of(place) for place in after.places] == [document_of(place) for place in same.places]
            assert after.answers == (same.answers if format == "autorag" else ())
    assert loaded(tmp_path / "beir-set").examples[2].query.history == golden.examples[2].query.history
    assert loaded(tmp_path / "beir-set").examples[0].evidence[0].grade == 2
    assert loaded(tmp_path / "autorag-set").examples[2].evidence == loaded(tmp_path / "autorag-set").examples[2].evidence[:1]


def test_passages_of_a_corpus_become_spans_of_the_documents(golden: Golden, tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    corpus = [
        {"doc_id": "p1", "contents": "The bus leaves at eight."},
        {"doc_id": "p2", "contents": "A ticket costs 9 crowns."},
    ]
    asked = [{"qid": "a", "query": "When?", "retrieval_gt": [["p1"], ["p2"]], "generation_gt": ["at eight"]}]
    (tmp_path / "in").mkdir()
    for name, rows in (("corpus", corpus), ("qa", asked)):
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / f"{name}.parquet")
    assert imported(tmp_path / "in", tmp_path / "set", golden).anchored == {"exact": 2}
    evidence = json.loads((tmp_path / "set" / "questions.jsonl").read_text("utf-8"))["evidence"]
    assert [group["any"] for group in evidence] == [
        [{"doc": "bus.md", "quote": "The bus leaves at eight."}],
        [{"doc": "town/ferry.md", "quote": "A ticket costs 9 crowns."}],
    ]


def test_ragas_reads_what_is_written_and_is_read(golden: Golden, tmp_path: Path) -> None:
    schema = pytest.importorskip("ragas.dataset_schema")
    testset = pytest.importorskip("ragas.testset.synthesizers.testset_schema")
    exported(golden, "ragas", tmp_path / "out")
    single = schema.EvaluationDataset.from_jsonl(tmp_path / "out" / "single-turn.jsonl")
    several = schema.EvaluationDataset.from_jsonl(tmp_path / "out" / "multi-turn.jsonl")
    assert [sample.user_input for sample in single] == [row["text"] for row in ROWS if not row.get("history")]
    assert [turn.content for turn in several[0].user_input] == ["Do I pay?", "Yes.", "And dogs?"]
    samples = [testset.TestsetSample(eval_sample=each, synthesizer_name="single_hop") for each in (single[0], single[1])]
    samples[1].eval_sample.reference_contexts = [
        f"<{n}-hop>\n\n{text}" for n, text in enumerate(single[1].reference_contexts, 1)
    ]
    testset.Testset(samples).to_jsonl(tmp_path / "ragas.jsonl")
    testset.Testset(samples).to_pandas().to_csv(tmp_path / "ragas.csv", index=False)
    for number, name in enumerate(("ragas.jsonl", "ragas.csv", "out/multi-turn.jsonl")):
        report = imported(tmp_path / name, tmp_path / f"set{number}", golden)
        assert (report.format, report.refused, report.not_found) == ("ragas", [], [])
    for number in (0, 1):
        rows = [json.loads(line) for line in (tmp_path / f"set{number}/questions.jsonl").read_text("utf-8").splitlines()]
        assert [row["kind"] for row in rows] == ["single_hop"] * 2
        assert [group["any"][0]["quote"] for group in rows[1]["evidence"]] == [
            "A ticket costs 9 crowns.",
            "A ticket costs 4 crowns.",
        ]
    row = json.loads((tmp_path / "set2/questions.jsonl").read_text("utf-8"))
    assert (row["text"], row["history"], row["answers"]) == ("And dogs?", ROWS[2]["history"], ["'=no"])


def test_hugging_face_reads_what_is_written_and_is_read(golden: Golden, tmp_path: Path) -> None:
    library = pytest.importorskip("datasets")
    library.disable_progress_bars()
    exported(golden, "huggingface", tmp_path / "out")
    table = library.load_from_disk(tmp_path / "out")
    assert table["question"][:2] == [row["text"] for row in ROWS[:2]]
    squad = {"question": "When?", "context": TEXTS["bus.md"], "answers": {"text": ["eight"], "answer_start": [20]}}
    both = library.DatasetDict({name: library.Dataset.from_list([squad | {"id": name}]) for name in ("train", "test")})
    both.save_to_disk(tmp_path / "both")
    report = imported(tmp_path / "both", tmp_path / "set", golden)
    assert (report.questions, report.anchored) == (2, {"exact": 2})
    rows = [json.loads(line) for line in (tmp_path / "set/questions.jsonl").read_text("utf-8").splitlines()]
    assert [(row["tags"], row["answers"]) for row in rows] == [(["test"], ["eight"]), (["train"], ["eight"])]


def test_an_export_of_another_loader_has_its_questions(tmp_path: Path, golden: Golden) -> None:
    from rag.plugins.public_sets.loaders.beir import BeirLoader, BeirQuestions

    exported(golden, "beir", tmp_path / "beir")
    questions = BeirQuestions(str(tmp_path / "beir"))
    rows = list(rows_of(golden_sets.load(BeirLoader(str(tmp_path / "beir")), questions), questions))
    assert [row["id"] for row in rows] == ["q1", "q2", "q3", "q6", "q7"]
    assert rows[0]["evidence"] == [{"grade": 2, "any": [{"doc": "town/ferry.md"}]}]
    assert "split" not in rows[0]


def test_unknown_formats_and_folders_that_exist_are_refused(golden: Golden, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'csv'"):
        exported(golden, "cvs", tmp_path / "out")
    with pytest.raises(UserError, match="exists already"):
        exported(golden, "csv", tmp_path)
