"""A bundle answers as its trial was measured, here and over HTTP, and every difference is reported."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.command_line import Verb
from support.forged_bundles import forged, refusal, resealed, tensors, written
from support.scripted_server import answer, say, serving
from support.servers import key_of, running
from support.small_set import write_golden
from support.swept_trial import swept, trials

from rag.bundle import golden_cases
from rag.bundle import replay as replays
from rag.bundle.differences import COMPARED, Replay
from rag.bundle.errors import BundleError
from rag.bundle.golden_cases import Case
from rag.bundle.open_bundle import Bundle, open_bundle
from rag.bundle.replay import replay, replay_url
from rag.bundle.seal import export
from rag.bundle.source_trial import measured
from rag.bundle.trust import ROOMS
from rag.components.rerankers.maxsim import MaxSimReranker
from rag.config import catalog
from rag.core.encoded_passages import KnownPassages
from rag.core.errors import DataError, ServiceError
from rag.core.records.queries import RecordQuery, Routed
from rag.core.types import Message, Query, Recalled, Sought, Turn
from rag.execution.store.entry_format import Entry

PIPELINES = {
    "words alone": "index=[bm25s] fusion=single index.bm25s.analyser=ids prompt=bare chunker=fixed",
    "vectors alone": "index=[dense] fusion=single reranker=mmr chunker=semantic prompt=section",
    "a graph": "index=[faiss_hnsw,bm25] fusion=weighted index.bm25.analyser=words",
    "no generator": "generator=none selector=neighbours chunker=sentence index.bm25s.analyser=all_stems",
    "sections": "selector=[mmr,parents] selector.parents.size=90 chunker=sentence guard=[scan] "
    "index.bm25s.analyser=content_words",
    "windows": "selector=[window,score_floor] chunker=sentence context_tokens=40",
    "titles": "passage=titled reranker=mmr chunker=markdown guard=[spotlight] prompt=cited",
    "token vectors": "reranker=maxsim chunker=sentence",
    "rows": "passage=row selector=[editions,figures] chunker=table_rows",
    "a floor and neighbours": "selector=[score_floor,neighbours] context_tokens=60 index.bm25s.analyser=closed_compounds "
    "lock=[*.md]",
    "guards": "guard=[scan,rules,spotlight,output] index.bm25s.analyser=ids_and_words",
    "off topic": "check=[off_topic] check.off_topic.words=1 check.off_topic.floor=0.3",
    "checks": "check=[retrieval_floor,citations,numbers,quotes]",
    "found before": "reuse=similar reuse.full=0.3 reuse.half=0.1 reuse.guard=none queries=last_turn memory=buffer",
    "locked": "lock=[bus.md] memory=buffer chunker=whole prompt=strict_book",
    "without a file": "exclude=[ferry.md] context_tokens=12 chunker=table_whole",
    "pinned": "pinned=[bus.md] chunker=token_800 check=[grounded,overall_pass] prompt=grounded_study",
    "carried over": "queries=carry_over memory=two_layer",
    "joined": "queries=concatenate memory=summary_buffer",
    "every index": "index=[bm25,bm25s,dense,faiss_flat,faiss_hnsw,qdrant] chunker=token chunker.target=20 "
    "index.bm25.analyser=every_word",
    "two looks": "policy=gap_loop_rules policy.rounds=2 guard=[scan,spotlight]",
    "shaped": "shape=rules condense=extractive memory=buffer prompt=layered guard=[scan,spotlight]",
    "routed": "route=rules enrich=tables guard=[scan,output]",
}
ELSEWHERE = {
    "embedder": {"minilm", "minilm_int8", "minilm_windows", "static", "sentence_transformer", "openai"},
    "index": {"chroma", "pgvector"},
    "generator": {
        *("openai", "gemini", "google", "groq", "anthropic", "auto", "ollama", "llamacpp", "vllm", "closed_book", "gold"),
        *("system", "litellm", "command", "openai_batch", "anthropic_batch"),
    },
    "memory": {"summary_model"},
    "passage": {"contextual"},
    "policy": {"gap_loop", "agent"},
    "queries": {"decompose", "human", "hyde", "multi_query", "rewrite"},
    "reranker": {"cross_encoder", "tei", "vllm", "jina", "cohere"},
    "route": {"model"},
    "shape": {"model"},
    "condense": {"model"},
    "selector": {"nli_gate", "relevance_gate"},
}
"""Choices with a model or a server of their own, which have other tests, and choices that answer golden questions only."""
CHOSEN = "chunker=recursive analyser=stems prompt=plain passage=plain embedder=hashing fusion=rrf route=semantic policy=single"
USUAL = dict(choice.split("=") for choice in f"{CHOSEN} generator=extractive".split())
"""The choices of pipelines that name no other."""
HISTORY = [{"role": "user", "text": "Is there a bus to Holm?"}, {"role": "assistant", "text": "Yes, it leaves at eight."}]


FARES = "# Fares\n\n| Line | Price |\n|---|---|\n| Holm | 9 crowns |\n| Sund | 4 crowns |\n| Vik | 12 crowns |\n"


def with_conversations(folder: Path) -> Path:
    """Write the small golden set, with a question that has a conversation before it."""
    golden = write_golden(folder / "golden")
    line = {"id": "q7", "text": "And what does a ticket for it cost?", "kind": "follow_up", "split": "tune", "history": HISTORY}
    line |= {"answers": ["four crowns"], "evidence": [{"any": [{"doc": "bus.md", "quote": "A ticket costs four crowns."}]}]}
    (golden / "documents" / "fares.md").write_text(FARES, "utf-8")
    count = {"id": "q8", "text": "How many lines have a price below 10 crowns?", "route": "records", "expects": {"value": "2"}}
    count |= {"answers": ["two"], "split": "tune", "evidence": [{"any": [{"doc": "fares.md"}]}]}
    with (golden / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(line)}\n{json.dumps(count)}\n")
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = with_conversations(tmp_path_factory.mktemp("swept"))
    axes = "  pipeline:\n" + "".join(f"    {name}: {choice}\n" for name, choice in PIPELINES.items())
    return swept(folder, axes.rstrip())


def bundle_of(place: Path, name: str, target: Path) -> Bundle:
    """A copy of the bundle of a pipeline, which is exported once."""
    kept = place / "bundles" / name
    if not kept.exists():
        (row,) = (row for row in trials(place) if row["choices"]["pipeline"] == name)
        export(f"trial={row['trial']}", kept)
    shutil.copytree(kept, target)
    return open_bundle(target)


@pytest.mark.parametrize("name", PIPELINES)
def test_every_pipeline_answers_as_it_was_measured(there: Path, tmp_path: Path, name: str) -> None:
    bundle = bundle_of(there, name, tmp_path / "b")
    found = replay(bundle)
    assert found.mismatches == []
    assert found.compared["passages"] == 8
    answers = 0 if name == "no generator" else 8
    assert (found.compared["prompt"], found.compared["contexts"], found.compared["answer"]) == (answers,) * 3


def test_the_tokens_of_passages_are_not_encoded_again(there: Path, tmp_path: Path) -> None:
    pipeline = bundle_of(there, "token vectors", tmp_path / "b").pipeline
    assert isinstance(pipeline.reranker, MaxSimReranker)
    assert isinstance(encoder := pipeline.reranker.encoder, KnownPassages)
    assert {*encoder.known} == {*pipeline.corpus.index_texts}
    tokens = "passages/reranker.safetensors"
    for change, what in (
        (tensors(tokens, ends=lambda known: known[1:]), "not those of"),
        (written(tokens, b"1234"), "not a valid safetensors"),
        (written("passages/mmr.safetensors", b"1234"), "nothing in the config compares"),
    ):
        shutil.rmtree(tmp_path / "c", ignore_errors=True)
        assert what in str(refusal(forged(tmp_path / "b", tmp_path / "c", change)))


def test_a_routed_question_is_answered_from_the_records_of_the_bundle(there: Path, tmp_path: Path) -> None:
    bundle = bundle_of(there, "routed", tmp_path / "b")
    case = golden_cases.cases_of(bundle)[7]
    assert (case.prompt, case.answer) == (golden_cases.digest_of_messages(()), "2 [1].")
    assert bundle.pipeline.answer(case.query).look.result.rows == ((2,),)
    recorded = replace(case, routed=Routed("records", RecordQuery("list", "fares Fares", ("Line",))))
    found = replay(with_lines(bundle, golden_cases.golden_bytes([recorded])))
    assert found.mismatches[0].what == "answer", "a recorded route is used"


def test_records_with_places_outside_of_the_documents_are_refused(there: Path, tmp_path: Path) -> None:
    bundle_of(there, "routed", tmp_path / "b")
    for change in (
        lambda records: records["tables"][0]["records"][0].update(end=10**6),
        lambda records: records["tables"][0]["records"][0].update(doc_id="../secret"),
        lambda records: records["tables"][0]["records"][0].update(values="x"),
        lambda records: records.update(tables=7),
    ):
        copy = shutil.copytree(tmp_path / "b", tmp_path / "c", dirs_exist_ok=True)
        with pytest.raises(BundleError, match=r"records\.json"):
            changed(copy, "records.json", change)
    (tmp_path / "b" / "records.json").write_text("{}", "utf-8")
    with pytest.raises(BundleError):
        open_bundle(tmp_path / "b")


@pytest.mark.parametrize("role", ROOMS)
def test_every_choice_is_in_a_pipeline(role: str) -> None:
    named = re.findall(rf"\b{role}=\[?([\w,]+)", " ".join(PIPELINES.values()))
    used = {name for names in named for name in names.split(",")} | {USUAL.get(role, "none")} | ELSEWHERE.get(role, set())
    assert used | {"none"} >= {*catalog.choices(role)}


def test_a_bundle_must_repeat_the_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = swept(tmp_path, "  k: k=3")
    monkeypatch.chdir(folder)
    (row,) = trials(folder)
    found = measured(row["trial"])
    key = found.made.stages[found.trial.ends.ranking].entry
    kept = found.runner.store.read(key)
    positions = kept.arrays["positions"].copy()
    positions[0, :2] = positions[0, [1, 0]]
    found.runner.store.write(key, Entry({**kept.arrays, "positions": positions}, kept.meta))
    mismatches = replay(open_bundle(export(f"trial={row['trial']}", tmp_path / "b").path)).mismatches
    assert (mismatches[0].query_id, mismatches[0].what) == ("q1", "passages")
    assert {mismatch.query_id for mismatch in mismatches} == {"q1"}
    assert "q1: passage 1 was" in str(mismatches[0])


def changed(path: Path, file: str, change: Callable[[Any], Any]) -> Bundle:
    """A bundle with one of its files changed, and sealed again."""
    place = path / file
    if file.endswith(".json"):
        content = json.loads(place.read_text("utf-8"))
        change(content)
        place.write_text(json.dumps(content), "utf-8")
    else:
        lines = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
        change(lines)
        place.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return open_bundle(resealed(path))


@pytest.mark.parametrize(
    ("name", "file", "change", "kinds"),
    [
        ("a graph", "config.json", lambda config: config.update(k=1), {"passages", "prompt", "contexts", "answer"}),
        ("a graph", "config.json", lambda config: config["generator"].update(sentences=1, share=1.0), {"answer"}),
        ("carried over", "config.json", lambda config: config["memory"].update(turns=1), {"prompt"}),
        ("a graph", "golden.jsonl", lambda lines: lines[0]["retrieved"].reverse(), {"passages"}),
        ("a graph", "golden.jsonl", lambda lines: lines[0].update(answer="Forty-two."), {"answer"}),
        ("a graph", "golden.jsonl", lambda lines: lines[0]["contexts"].append("bus.md:0-9"), {"contexts"}),
        ("a graph", "golden.jsonl", lambda lines: lines[6]["query"]["history"].clear(), {"prompt"}),
    ],
)
def test_every_change_is_noticed(
    there: Path, tmp_path: Path, name: str, file: str, change: Callable[[Any], Any], kinds: set[str]
) -> None:
    bundle_of(there, name, tmp_path / "b")
    found = replay(changed(tmp_path / "b", file, change)).mismatches
    assert kinds <= {mismatch.what for mismatch in found}
    assert all(str(mismatch) and mismatch.to_json()["said"] == str(mismatch) for mismatch in found)


def test_recorded_texts_replace_those_of_the_pipeline(there: Path, tmp_path: Path) -> None:
    bundle = bundle_of(there, "carried over", tmp_path / "b")
    cases = golden_cases.cases_of(bundle)
    turns = tuple(Turn("user", f"{number}?") for number in range(3))
    odd = [replace(cases[0], sought=Sought("dogs", ("dogs",)), recalled=Recalled(turns, "")), *cases[1:]]
    found = replay(with_lines(bundle, golden_cases.golden_bytes(odd))).mismatches
    assert {mismatch.query_id for mismatch in found} == {"q1"}


def with_lines(bundle: Bundle, data: bytes) -> Bundle:
    """The bundle with another golden.jsonl."""
    return replace(bundle, files={**bundle.files, "golden.jsonl": data})


ODD = [
    *({}, [], "text", 7, {"query": {"query_id": 7, "text": ""}}),
    *(
        {"query": {"query_id": "q", "text": "x", **query}, "retrieved": [], **rest}
        for query, rest in (
            ({"history": [{"role": "system", "text": "Hi."}]}, {}),
            ({}, {"retrieved": "ferry.md:0-9"}),
            ({}, {"contexts": {}}),
            ({}, {"sought": []}),
            ({}, {"recalled": {"turns": [{}]}}),
        )
    ),
]


def test_invalid_golden_questions_are_refused(there: Path, tmp_path: Path) -> None:
    bundle = bundle_of(there, "words alone", tmp_path / "b")
    for odd in ODD:
        with pytest.raises(DataError, match=r"golden\.jsonl.* is "):
            replay(with_lines(bundle, json.dumps(odd).encode() + b"\n"))
    with pytest.raises(DataError, match="at most 1,000"):
        replay(with_lines(bundle, bundle.read("golden.jsonl") * 150))


def test_a_bundle_without_golden_questions_has_nothing_to_repeat(there: Path, tmp_path: Path) -> None:
    (row, *_) = trials(there)
    bundle = open_bundle(export(f"trial={row['trial']}", tmp_path / "b", queries=0).path)
    assert replay(bundle).to_json() == Replay().to_json()
    assert Replay().to_json() == {"compared": dict.fromkeys(COMPARED, 0), "mismatches": [], "left_out": {}}


def test_a_case_is_read_as_it_was_written(there: Path, tmp_path: Path) -> None:
    turns = (Turn("user", "Is there a bus?"), Turn("assistant", "Yes\u2028at eight."))
    query = Query("q", "And what does it cost?\x85", turns)
    case = Case(query, ("a:0-1",), "00", (), "", Sought("what", ("one", "two")), Recalled(turns, "sum"))
    bare = Case(Query("r", "What \ud83d?"), ())
    bundle = bundle_of(there, "words alone", tmp_path / "b")
    assert golden_cases.cases_of(with_lines(bundle, golden_cases.golden_bytes([case, bare]))) == [case, bare]


ASKING = (
    "queries=rewrite queries.generator.base_url={url} queries.generator.api_key_env=null "
    "memory=summary_model memory.turns=1 memory.summarizer.generator.base_url={url} "
    "memory.summarizer.generator.api_key_env=null"
)


def test_texts_of_models_before_the_answer_are_replayed_without_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = with_conversations(tmp_path)
    with serving(answer(lambda text: f"What does a bus ticket cost, {len(text)} times?")) as script:
        swept(folder, f'  model:\n    asked: "{ASKING.format(url=script.url)}"')
        assert script.asked
    monkeypatch.chdir(folder)
    bundle = open_bundle(export("small", tmp_path / "b").path)
    (case,) = (case for case in golden_cases.cases_of(bundle) if case.query.history)
    assert case.sought.question.startswith("What does a bus ticket cost")
    assert case.recalled.summary
    # The server of the model is gone.
    found = replay(bundle)
    assert found.mismatches == []
    assert found.compared == {"passages": 8, "prompt": 8, "contexts": 8, "answer": 8}
    # Without a recorded text the model is not asked either.
    for part in ("sought", "recalled"):
        found = replay(changed(tmp_path / "b", "golden.jsonl", lambda lines, part=part: lines[0].update({part: None})))
        assert found.left_out == {"what a model said is not recorded": 1}


def test_the_prompt_of_a_chat_model_is_compared_and_its_answer_is_not(
    tmp_path: Path, rag: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-unused")
    with serving(say("It leaves at seven [1].")) as script:
        axes = f'  model:\n    chat: "generator=openai generator.base_url={script.url} generator.api_key_env=OUR_KEY"'
        folder = swept(tmp_path, axes)
    messages = [[Message(part["role"], part["content"]) for part in body["messages"]] for body in script.asked]
    sent = set(map(golden_cases.digest_of_messages, messages))
    monkeypatch.chdir(folder)
    path, host = str(tmp_path / "b"), f"127.0.0.1:{script.server_port}=OUR_KEY"
    said = rag("export", "small", "--to", path, "--json")
    assert "--trust-host 127.0.0.1=OUR_KEY" in said.json["needs"]
    assert "--trust-host" in rag("export", "small", "--to", path).out
    assert [rag("verify", path).code, rag("verify", path, "--trust-host", host).code] == [2, 0]
    bundle = open_bundle(tmp_path / "b", hosts=(host,))
    cases = golden_cases.cases_of(bundle)
    declined = {case.query.query_id for case in cases if case.prompt == golden_cases.digest_of_messages(())}
    assert declined == {"q5"}, "off_topic keeps it from the model"
    assert {case.prompt for case in cases} == sent | {golden_cases.digest_of_messages(())}
    assert {case.query.query_id for case in cases if case.answer is not None} == declined
    assert replay(bundle).to_json()["mismatches"] == []
    assert replay(bundle).compared == {"passages": 6, "prompt": 6, "contexts": 1, "answer": 1}
    # The server of the model is gone: an answer in the golden questions does not make the replay ask it.
    cases[0] = replace(cases[0], answer="Seven.", contexts=())
    assert replay(with_lines(bundle, golden_cases.golden_bytes(cases))).compared["answer"] == 1
    assert len(script.asked) == len(sent) == 5


def test_live_conversations_are_asked_as_they_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = with_conversations(tmp_path)
    questions = folder / "golden" / "questions.jsonl"
    lines = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    lines[1] |= {"dialogue": "d", "turn": 1}
    lines[6] |= {"dialogue": "d", "turn": 2, "history": [{"role": "user", "text": lines[1]["text"]}, HISTORY[1]]}
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    swept(folder, "  live:\n    lived: history=live queries=carry_over")
    monkeypatch.chdir(folder)
    bundle = open_bundle(export("small", tmp_path / "b").path)
    before, after = (case for case in golden_cases.cases_of(bundle) if case.query.query_id in ("q2", "q7"))
    answer = after.query.history[1].text
    assert answer != HISTORY[1]["text"]
    assert answer in before.answer
    assert replay(bundle).mismatches == []


def test_a_server_answers_as_its_bundle_was_measured(there: Path, tmp_path: Path) -> None:
    bundle = bundle_of(there, "carried over", tmp_path / "b")
    other = bundle_of(there, "joined", tmp_path / "other")
    with running([bundle.path], f"sqlite:///{tmp_path / 'serve.db'}", ["ann"]) as server:
        found = replay_url(bundle, f"{server.url}/", key_of("ann"))
        assert found.mismatches == []
        # The answer to a conversation comes without its prompt.
        assert found.compared == {"passages": 7, "prompt": 7, "contexts": 8, "answer": 8}
        assert not found.left_out
        (mismatch,) = replay_url(other, server.url, key_of("ann")).mismatches
        assert (mismatch.what, mismatch.expected, mismatch.found) == ("bundle", other.digest, bundle.digest)
        assert bundle.digest in str(mismatch)
        lying = with_lines(bundle, bundle.read("golden.jsonl").replace(b"four crowns", b"four pounds"))
        assert {mismatch.what for mismatch in replay_url(lying, server.url, key_of("ann")).mismatches} == {"answer"}
        with pytest.raises(ServiceError, match="--key-env"):
            replay_url(bundle, server.url)


Answering = Callable[..., None]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Let every server give one answer to all requests."""

    def answer(content: Any, status: int = 200, **headers: str) -> None:
        transport = httpx.MockTransport(lambda request: httpx.Response(status, json=content, headers=headers))
        monkeypatch.setattr(httpx, "Client", partial(CLIENT, transport=transport))

    return answer


CLIENT = httpx.Client


def test_other_addresses_and_servers_are_reported(there: Path, tmp_path: Path, answering: Answering) -> None:
    bundle = bundle_of(there, "words alone", tmp_path / "b")
    for address in ("127.0.0.1:8000", "ftp://127.0.0.1", "file:///etc/passwd", ""):
        with pytest.raises(ServiceError, match="not the address"):
            replay_url(bundle, address)
    for content in ({"data": [{"id": "gpt"}]}, {"data": None}, [], {}, "no", 7):
        answering(content)
        with pytest.raises(ServiceError):
            replay_url(bundle, "http://there")


def test_questions_that_cannot_be_asked_over_http_are_left_out(there: Path, tmp_path: Path, answering: Answering) -> None:
    bundle = bundle_of(there, "words alone", tmp_path / "b")
    cases = [case for case in golden_cases.cases_of(bundle) if case.query.history]
    silent = [replace(case, answer=None) for case in cases]
    marked = [replace(case, query=replace(case.query, history=(Turn("assistant", "Eight [1]."),))) for case in cases]
    halved = [replace(case, query=Query("q", "When \ud800?")) for case in cases]
    asking = {**bundle.config, "queries": {"_target_": "rag.components.queries.several.ModelQuestions"}}
    assert golden_cases.asks(asking)
    answering({"data": [{"id": "m", "bundle": bundle.digest}]})
    for lines in (silent, marked, halved):
        found = replay_url(with_lines(bundle, golden_cases.golden_bytes(lines)), "http://there")
        assert sum(found.left_out.values()) == 1
    assert sum(replay_url(replace(bundle, config=asking), "http://there").left_out.values()) == 8


def test_a_busy_server_is_asked_again_after_the_time_it_names(
    there: Path, tmp_path: Path, answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = bundle_of(there, "words alone", tmp_path / "b")
    waited: list[float] = []
    monkeypatch.setattr(replays.time, "sleep", waited.append)
    answering({"title": "Too many requests"}, 429, **{"Retry-After": "7"})
    with pytest.raises(ServiceError, match="429"):
        replay_url(bundle, "http://there")
    assert waited == [7.0] * replays.RETRIES


def test_verify_exits_with_1_if_something_differs(there: Path, tmp_path: Path, rag: Verb) -> None:
    path = bundle_of(there, "checks", tmp_path / "b").path
    said = rag("verify", str(path), "--json")
    assert (said.code, said.json["same"], said.json["queries"]) == (0, True, 8)
    assert said.json["here"]["compared"]["passages"] == 8
    changed(path, "config.json", lambda config: config.update(k=1))
    said = rag("verify", str(path), "--json")
    assert (said.code, said.json["same"]) == (1, False)
    assert {one["query_id"] for one in said.json["here"]["mismatches"]} <= {f"q{number}" for number in range(1, 9)}
    shown = rag("verify", str(path))
    assert shown.code == 1
    assert "more" in shown.out
    (path / "documents.jsonl").write_text("", "utf-8")
    assert rag("verify", str(path)).code == 2
    assert rag("verify", str(tmp_path / "none")).code == 2
    assert rag("verify", str(path), "--model", "embedder").code == 2
