"""A system that runs elsewhere has the scores of the same search run here, and what it loses is said."""

import json
import math
import runpy
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from support.servers import serving_process
from support.small_server import ALICE, small_bundle
from support.small_set import QUESTIONS as GOLDEN
from support.small_set import TEXTS, write_golden

import rag
from rag.analysis.compare.trec_export import write_trec
from rag.api.progress import progress
from rag.api.sweeps import SweepResult, conduct
from rag.components.systems.none import NoSystem
from rag.config.experiment import Experiment
from rag.config.identity import libraries
from rag.core.errors import ConfigError, DataError, ReplayError, UserError
from rag.core.systems import SystemPassage, SystemReply
from rag.core.types import Document, Query, Reply, Span
from rag.documents.anchors.system_passages import place_passages
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.cached_replies import components_for
from rag.execution.store.store import Store
from rag.execution.sweep import sweep as sweeps
from rag.plugins.systems.result_rows import read_results
from rag.plugins.systems.systems.http import HttpSystem
from rag.plugins.systems.systems.results import RecordedSystem
from rag.testing import check_system
from rag.testing.answering import QUERIES

METRICS = "metrics=[recall@1,recall@5,ndcg@10,mrr@10,precision@5,map@10,char_recall@5,iou@5,recall@60chars,judged@5]"
EXAMPLES = Path(__file__).parents[3] / "examples" / "systems"
SMALL = ("generator=none", "latency=0", METRICS)


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_golden(tmp_path / "golden")


def run(golden: Path, *overrides: str) -> SweepResult:
    fixed = ("dataset=native", f"dataset.path={golden}", *SMALL, *overrides)
    declared = Experiment("mine", "?", fixed, objective="maximize recall@5", controls=False)
    return conduct(sweeps.prepare(declared), progress)


def scores(result: SweepResult) -> dict[str, float]:
    (row,) = result.leaderboard
    return {name: value for name, value in row.items() if "@" in name}


def rows_of(result: SweepResult, form: str) -> Iterator[dict[str, Any]]:
    """What a trial of our own found, as another system might return it."""
    made, store = result.sweep.plan, result.store
    (trial,) = made.trials
    entries = [store.read(made.stages[key].entry) for key in (trial.ends.corpus, trial.ends.ranking)]
    corpus, rankings = corpus_of(entries[0], trial.golden), rankings_of(entries[1])
    for number, example in enumerate(trial.golden.examples):
        chunks = [corpus.chunk(position) for position, _ in rankings.row(number)]
        passages: dict[str, list[Any]] = {
            "chunk_id": [{"document": chunk.chunk_id} for chunk in chunks],
            "span": [{"doc": each.span.doc_id, "start": each.span.start, "end": each.span.end} for each in chunks],
            "text": [chunk.text for chunk in chunks],
            "titled": [f"{chunk.span.doc_id}\n\n{chunk.text.upper()}" for chunk in chunks],
        }
        trace = {"traceId": f"t{number}", "type": "RETRIEVER", "input": example.query.text, "output": passages["span"]}
        yield trace if form == "trace" else {"question": example.query.text, "retrieved_contexts": passages[form]}


@pytest.mark.parametrize("form", ["chunk_id", "span", "text", "titled", "trace"])
def test_a_trial_that_is_imported_has_its_own_scores(golden: Path, form: str) -> None:
    native = run(golden, "index=[bm25s]", "fusion=single", "chunker.size=80", "chunker.overlap=0")
    lines = [json.dumps(row) for row in rows_of(native, form)]
    Path("results.jsonl").write_text("\n".join(lines), "utf-8")
    imported = run(golden, "system=results", "system.path=results.jsonl")
    left_out = ("char", "iou") if form == "titled" else ()  # Marks at the edges of such a passage are not placed.
    for name, value in scores(native).items():
        if not name.startswith(left_out):
            assert scores(imported)[name] == pytest.approx(value, abs=1e-9), name
    assert imported.conclusion.notes == ()


def test_a_trec_run_has_the_scores_of_its_trial(golden: Path) -> None:
    for path in (golden / "questions.jsonl",):  # gold of whole documents
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for line in lines:
            line["evidence"] = [{"any": [{"doc": place["doc"]} for place in group["any"]]} for group in line["evidence"]]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    native = run(golden, "index=[bm25s]", "fusion=single", "chunker=whole")
    (found,) = [path for path in write_trec(native.sweep.plan, native.store, Path("trec")) if path.suffix == ".run"]
    imported = run(golden, "system=results", f"system.path={found}")
    assert scores(imported) == pytest.approx(scores(native), abs=1e-9, nan_ok=True)


def test_passages_in_no_document_keep_their_rank_and_are_bounded(golden: Path) -> None:
    found = {"q1": ["Made up.", "The ferry to Holm leaves at seven."], "q2": ["Made up.", "nothing of this"]}
    rows = [{"id": name, "passages": found.get(name, [])} for name, *_ in GOLDEN]
    rows[3] = {"id": "q4", "error": "it timed out"}
    Path("results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = run(golden, "system=results", "system.path=results.jsonl")
    # Of q1 … q6 five have gold; q1 is found at rank 2. At most q1 and q2 were found.
    assert scores(result)["recall@5"] == pytest.approx(1 / 5)
    assert scores(result)["mrr@10"] == pytest.approx(1 / 2 / 5)
    failed, lost = result.conclusion.notes
    assert failed == "default failed on 1 of 6 questions, which count as not found. The first: it timed out"
    assert lost.startswith("75.0% of the passages of default, in 2 questions, are not in the documents and count as wrong.")
    assert lost.endswith("Its recall@5 is .200, and .400 at most.")


def test_a_place_is_found_by_letters_in_the_named_document_or_in_any() -> None:
    text = "# A\n\nOne *bold* word, 3 of them.\n\nOne more."
    documents = [Document("a.md", text), Document("b.md", "Other.\n\nOne more.")]
    wanted = {
        SystemPassage("One bold word, 3 of them."): Span("a.md", 5, 31),
        SystemPassage("One more."): Span("a.md", 34, 43),
        SystemPassage("One more.", "b.md"): Span("b.md", 8, 17),
        SystemPassage("", "a.md"): Span("a.md", 0, len(text)),
        SystemPassage("", "a.md:0-3"): Span("a.md", 0, 3),
        SystemPassage("One bold word, 4 of them."): None,
        SystemPassage("", "c.md"): None,
        SystemPassage("…"): None,
    }
    assert dict(zip(wanted, place_passages(list(wanted), documents), strict=True)) == wanted


def test_answers_of_a_system_are_checked_and_scored(golden: Path) -> None:
    asked = list[str]()

    def answering(question: str, history: list[Mapping[str, str]]) -> dict[str, Any]:
        asked.append(question)
        assert history == []
        passages = [LangChainDocument("The ferry to Holm leaves at seven.", metadata={"source": "ferry.md"})]
        return {"passages": passages, "answer": "At seven [1].", "completion_tokens": 4, "cost": 0.5}

    overrides = ("latency=0", "metrics=[recall@5,citation_precision,answered]", "check=[none]")
    result = rag.evaluate(answering, "native", *overrides, name="ferry", questions=golden)
    (row,) = result.leaderboard
    assert row["recall@5"] == pytest.approx(1 / 5)
    assert repr(result).startswith("SweepResult(ferry, 1 trial, recommended default (")
    assert row["cost_usd"] == pytest.approx(3.0)
    assert row["tokens"] == 24
    assert row["answered"] == 1.0
    assert json.loads(Path(".rag/systems/ferry.jsonl").read_text("utf-8").splitlines()[0])["id"] == "q1"
    result = rag.evaluate(answering, "native", *overrides, "sample=2", name="ferry", questions=golden)
    assert (len(asked), len(result.sweep.plan.trials[0].golden.examples)) == (6 + 2, 2)


def test_what_a_function_raises_is_raised_once_and_then_counted(golden: Path) -> None:
    def broken(question: str) -> list[str]:
        raise RuntimeError("no index")

    def flaky(question: str) -> list[str]:
        if "bus" in question:
            raise RuntimeError("token sk-proj-AAAABBBBCCCCDDDDEEEEFFFFGGGG1234")
        return ["The ferry to Holm leaves at seven."]

    with pytest.raises(RuntimeError, match="no index"):
        rag.evaluate(broken, "native", questions=golden)
    with pytest.raises(ConfigError, match="without questions"):
        rag.evaluate(flaky, documents=golden)
    with pytest.raises(DataError, match="returns int"):
        rag.evaluate(lambda question: 3, "native", questions=golden)
    (note,) = rag.evaluate(flaky, "", "latency=0", questions=golden / "questions.jsonl").conclusion.notes
    assert note.startswith("default failed on 1 of 6 questions")
    assert "sk-proj" not in Path(".rag/systems/system.jsonl").read_text("utf-8")


@pytest.mark.system
def test_our_own_server_has_the_scores_of_its_bundle(golden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", ALICE)
    cut = ("chunker.size=80", "embedder=hashing", "embedder.dimensions=64", "check=none")
    answers = (*cut, "generator=extractive", "metrics=[recall@5,ndcg@5,token_f1,citation_precision,answered]")
    with serving_process(small_bundle(tmp_path / "sealed", *answers), tmp_path) as server:
        asks = ("system=http", f"system.base_url={server.url}", "system.api_key_env=OUR_KEY")
        searched = run(golden, *asks, "system.path=/search", 'system.body={question: "{question}", k: 100}')
        answered = run(golden, *asks, "system.path=/ask", *answers[-2:], "generator=system")
    assert str(scores(searched)) == str(scores(run(golden, *cut)))
    native = next(iter(run(golden, *answers).leaderboard))
    for name in ("recall@5", "ndcg@5", "token_f1", "citation_precision", "answered"):
        assert next(iter(answered.leaderboard))[name] == native[name], name


def test_a_question_is_asked_once_although_a_run_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answering(self: HttpSystem, query: Query) -> SystemReply:
        asked.append(query.query_id)
        if len(asked) == 3:
            raise KeyboardInterrupt
        found = SystemReply((SystemPassage(query.text, "a.md", 1, 2),), Reply("so"))
        return SystemReply(failure="busy") if len(asked) == 4 else found

    monkeypatch.setattr(HttpSystem, "answer_of", answering)
    node = {"_target_": "rag.plugins.systems.systems.http.HttpSystem", "base_url": "http://127.0.0.1:1"}
    store, queries = Store(str(tmp_path)), [Query(name, f"Why {name}?") for name in "123"]
    with pytest.raises(KeyboardInterrupt):
        components_for(store).handed(node, "system").answer(queries)
    first, second = (components_for(store).handed(node, "system").answer(queries) for _ in range(2))
    assert asked == ["1", "2", "3", "3", "3"], "a failure is not kept"
    assert str(second[:2]) == str(first[:2])
    replayed = components_for(store, Ledger(store, Terms(replay="only"))).handed(node, "system")
    assert str(replayed.answer(queries)) == str(second)
    with pytest.raises(ReplayError, match="1 of 1"):
        replayed.answer([Query("4", "Why 4?")])


LIBRARIES = {"langchain": "langchain_retriever", "llama_index": "llama_index_retriever", "haystack": "haystack_pipeline"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_retriever_of_another_library_is_measured(golden: Path, library: str, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")  # before its import, which would send
    pytest.importorskip(library, reason=f"{library} is not installed")
    monkeypatch.setattr(sys, "argv", [library, str(golden / "documents"), str(golden / "questions.jsonl")])
    runpy.run_path(str(EXAMPLES / f"{LIBRARIES[library]}.py"))
    assert capsys.readouterr().out.startswith("{'recall@5': 1.0,"), "of 10 paragraphs"
    rows = map(json.loads, Path(f".rag/systems/{library}.jsonl").read_text("utf-8").splitlines())
    assert {part["metadata"]["source"] for row in rows for part in row["passages"]} == set(TEXTS)


def test_an_index_of_opensearch_is_measured(golden: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Paragraphs) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        own = ["dataset=native", f"dataset.path={golden}", f"system.base_url=http://127.0.0.1:{server.server_port}"]
        result = rag.sweep(str(EXAMPLES / "opensearch.yaml"), overrides=own, track=False)
        server.shutdown()
    # The first five paragraphs hold the evidence of q1 and q2, and half of that of q3; q4 and q6 have gold, too.
    assert scores(result)["recall@5"] == pytest.approx((1 + 1 + 1 / 2) / 5)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"question": "a"}', "neither passages nor an answer"),
        ('{"passages": ["x"]}', "names no question"),
        ('{"question": "a", "passages": [3]}', "write a text"),
        ('{"question": "a", "passages": [{"rank": 1}]}', "has the keys rank"),
        ('{"question": "a", "answer": "x", "prompt_tokens": "many"}', "write a number"),
        ('{"question": "a", "answer": "x", "cost": -1}', "write a number from 0"),
        ('{"question": "a", "passages": []}\n{"question": "a", "passages": ["x"]}', "a second time"),
        ("q1 Q0 a.md 1 nan x\n", "write: question Q0"),
        ("q1 Q0 a.md 1 2.5 x\nq1 Q0 a.md 2 2.4 x\n", "ranks 'a.md' twice"),
        ("q1 Q0 a.md 1 2.5 x\nq1 Q0\n", ":2"),
    ],
)
def test_a_file_that_says_too_little_or_two_things_is_refused(tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError) as caught:
        read_results(path)
    assert what in str(caught.value)


def test_files_of_other_tools_are_read_by_their_usual_names(tmp_path: Path) -> None:
    rows = {
        "ragas.csv": "user_input,retrieved_contexts,response\na,\"['x', 'y']\",z\n",
        "deepeval.json": '[{"input": "a", "retrieval_context": ["x", "y"], "actual_output": "z"}]',
        "langsmith.jsonl": '{"inputs": {"question": "a"}, "outputs": {"documents": ["x", "y"], "answer": "z"}}',
        "haystack.jsonl": '{"query": "a", "documents": [{"content": "x"}, {"content": "y"}], "answer": "z"}',
    }
    for name, text in rows.items():
        (tmp_path / name).write_text(text, "utf-8")
        reply = read_results(tmp_path / name)[0]["a"]
        assert [passage.text for passage in reply.passages] == ["x", "y"], name
        assert reply.reply is not None
        assert reply.reply.text == "z"
    (tmp_path / "run").write_text("a Q0 low 1 1.5 t\na Q0 high 2 2.5 t\n", "utf-8")
    found, is_run = read_results(tmp_path / "run")
    assert is_run
    assert [passage.document for passage in found["a"].passages] == ["high", "low"]


def test_a_file_without_a_question_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"question": "a", "passages": []}', "utf-8")
    with pytest.raises(DataError, match="no row for 1 question of 2, the first is 'q2'"):
        RecordedSystem(str(path)).answer([Query("q1", "a"), Query("q2", "b")])


def test_parts_that_do_not_fit_a_system_are_refused(golden: Path) -> None:
    path = Path("results.jsonl")
    path.write_text("".join(json.dumps({"id": name, "passages": []}) + "\n" for name, *_ in GOLDEN), "utf-8")
    given = ("system=results", "system.path=results.jsonl")
    for wrong, what in (
        ((*given, "control=closed_book"), "another system cannot do"),
        (("generator=system",), "there is none"),
    ):
        with pytest.raises(UserError, match=what):
            run(golden, *wrong)


class Served(BaseHTTPRequestHandler):
    """An OpenSearch-shaped server; the question says how it misbehaves."""

    def hits(self, asked: str) -> list[Any]:
        return [{"_id": "ferry.md", "_source": {"text": f"{asked}!"}}]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["query"]["match"]["text"]
        status = 302 if asked == "redirect" else 500 if asked == "fail" else 200
        found = {"hits": [] if asked == "other" else {"hits": self.hits(asked)}}
        body = b"<html>" if asked == "html" else json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.send_header("Content-Length", str(len(body) + (asked == "lie")))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Paragraphs(Served):
    def hits(self, asked: str) -> list[Any]:
        parts = [(name, part) for name, text in TEXTS.items() for part in text.split("\n\n")]
        return [{"_source": {"text": part, "doc_id": name}} for name, part in parts]


def test_every_system_keeps_the_laws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    rows = [{"id": query.query_id, "passages": ["x"], "answer": "y"} for query in QUERIES]
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in [*rows[:-1], {"id": QUERIES[-1].query_id, "error": "no"}]), "utf-8"
    )
    check_system(system := RecordedSystem(str(path)))
    check_system(NoSystem())
    known = system.fingerprint()
    monkeypatch.setattr("rag.plugins.systems.systems.results.code_identity", lambda *_: "other code of a format")
    assert system.fingerprint() != known


def test_results_need_no_package_beyond_the_core() -> None:
    assert not libraries("rag.plugins.systems.systems.results", needed=True) & {"python_calamine", "pandas", "openai"}


def test_a_server_is_asked_and_its_faults_are_those_of_single_questions() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Served)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        body, paths = {"query": {"match": {"text": "{question}"}}}, ("hits.hits", "_source.text", "_id")
        system = HttpSystem(f"http://127.0.0.1:{server.server_port}", "/docs/_search", body, *paths, timeout=5.0, retries=0)
        asked = ["ferry", "redirect", "fail", "html", "lie", "other", "bus"]
        replies = system.answer([Query(str(number), text) for number, text in enumerate(asked)])
        assert [bool(reply.failure) for reply in replies] == [False, True, True, True, True, True, False]
        assert replies[-1].passages == (SystemPassage("bus!", "ferry.md"),)
        assert all(math.isfinite(reply.seconds) for reply in (replies[0], replies[-1]))
        with pytest.raises(UserError, match="answers none of 3 questions"):
            system.answer([Query(str(number), "fail") for number in range(4)])
    finally:
        server.shutdown()
        server.server_close()
    with pytest.raises(ConfigError, match="body"):
        HttpSystem("http://127.0.0.1:1", body={"q": "x"})
