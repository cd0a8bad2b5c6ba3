"""The verbs as people and scripts use them: their output and their exit codes."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.plugin_packages import add_plugin
from support.small_set import AXES, TEXTS, write_experiment

from rag.pipeline.shapes.json_shapes import PipelineAnswer

pytestmark = pytest.mark.usefixtures("here", "golden")

GIVEN = ("dataset=native", "dataset.path=../golden", "embedder=hashing", "latency=0", "generator=none")
RUN = ("run", "--no-track", *GIVEN)


@pytest.fixture
def study(here: Path, golden: Path) -> str:
    """An experiment of 18 trials."""
    return str(write_experiment(here / "study.yaml", golden, AXES))


# Filters


@pytest.mark.parametrize("verb_name", ["search", "ask"])
def test_where_restricts_a_search(rag: Verb, verb_name: str) -> None:
    generator = ["generator=extractive"] if verb_name == "ask" else []
    done = rag(verb_name, "When does the ferry leave?", *GIVEN, *generator, "--where", "title=Winter", "--json")
    found = json.loads(done.out)
    assert {one["doc_id"] for one in found["passages" if verb_name == "search" else "contexts"]} == {"winter.md"}
    refused = rag(verb_name, "When?", *GIVEN, *generator, "--where", "titel=Winter")
    assert refused.code == 2
    assert "there is no key 'titel'" in refused.err


# JSON


def test_plan_and_sweep_as_json(rag: Verb, study: str) -> None:
    planned = rag("plan", study, "--json").json
    distinct = planned["stages"]["distinct"]
    assert planned["stages"] == {"total": 6 * (7 + 9 + 11), "distinct": distinct, "cached": 0, "to_run": distinct}
    assert planned["trials"] == 18
    assert {"experiment", "question", "seconds", "unmeasured", "tokens", "cost"} <= set(planned)
    assert (planned["tokens"], planned["cost"]) == (0, 0.0)
    told = rag("plan", study)
    assert f"18 trials; 162 stages one by one, {distinct} distinct." in told.out
    assert "never ran on this store" in told.out

    said = rag("sweep", study, "--no-track", "--json")
    assert (said.code, said.err) == (0, "")
    swept = said.json
    assert swept["stages"] == {"distinct": distinct, "ran": distinct, "failed": 0, "blocked": 0, "reused": 0}
    assert swept["objective"] == {"column": "ndcg@10", "maximize": True, "text": "maximize ndcg@10"}
    assert (swept["errors"], swept["interrupted"]) == ({}, False)
    assert len(swept["trials"]) == len(swept["measured"]) == 18
    first = swept["trials"][0]
    assert set(first) == {"trial", "name", "choices", "status", "metrics", "kinds"}
    assert set(first["choices"]) == {"chunker", "search", "k"}
    assert {"mean", "low", "high", "n"} <= set(first["metrics"]["ndcg@10"])
    values = [trial["metrics"]["ndcg@10"]["mean"] for trial in swept["trials"]]
    assert values == sorted(values, reverse=True)
    written = {path.name: json.loads(path.read_text("utf-8")) for path in Path("reports/study").iterdir()}
    assert set(written) == {"leaderboard.json", "measured.json", "trials.json", "verdict.json"}
    assert written["leaderboard.json"]["trials"] == swept["trials"]

    again = rag("plan", study, "--json").json
    assert again["stages"] == planned["stages"] | {"cached": distinct, "to_run": 0}
    assert again["seconds"] == 0


def test_answers_and_passages_as_json(rag: Verb) -> None:
    given = (*GIVEN, "generator=extractive", "k=2", "chunker.size=60")
    assert rag("ask", "What does a bus ticket cost?", *given).out.count("No model is configured: sentences are quoted.") == 1
    told = rag("ask", "What does a bus ticket cost?", *given, "--json").json
    left_out, added = {"prompt", "look", "overall_pass"}, {"not_as_measured", "proposed_lock"}
    assert set(told) == PipelineAnswer.__annotations__.keys() - left_out | added
    assert "four crowns" in told["answer"]
    assert [told["answer"][one["start"] : one["end"]] for one in told["citations"]] == [
        f"[{one['number']}]" for one in told["citations"]
    ]
    assert [fate["number"] for fate in told["trace"]["passages"]][:3] == [1, 2, None]
    found = rag("search", "What does a bus ticket cost?", *given, "--json").json
    assert (set(found), found["question"]) == ({"question", "passages"}, told["question"])
    assert [_without_steps(passage) for passage in found["passages"]] == told["contexts"]
    first = found["passages"][0]
    assert first["chunk"].startswith("bus.md:")
    assert first["text"] in TEXTS["bus.md"]
    assert first["indexed"] is None, "it is read as it is quoted"
    assert set(first["steps"]) == {"bm25s", "dense", "fused"}
    assert {"rank", "score"} == set(first["steps"]["fused"])


def _without_steps(passage: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in passage.items() if key not in ("steps", "indexed")}


def test_datasets_and_stores_as_json(rag: Verb) -> None:
    checked = rag("dataset", "check", "native", "dataset.path=../golden", "--json").json
    assert (checked["documents"], checked["questions"], checked["unanswerable"]) == (4, 6, 1)
    stages = rag(*RUN, "--json").json["stages"]["ran"]
    assert rag("store", "stats", "--json").json["spaces"]["stages"]["entries"] == stages > 5
    assert rag("store", "verify", "--json").json["damaged"] == []
    assert rag("store", "gc", "--json").json["removed"] == 0
    assert rag("store", "gc", "--days", "0", "--json").json["removed"] == stages
    assert rag("store", "stats", "--json").json["spaces"]["stages"]["entries"] == 0


def test_a_failed_trial_ends_with_1_and_is_told_in_json(rag: Verb) -> None:
    dead = ("generator=openai", "generator.base_url=http://127.0.0.1:9/v1", "generator.runtime.retries=0")
    said = rag(*RUN, *dead, "--json")
    assert said.code == 1
    assert said.json["stages"]["failed"] == 1
    assert "127.0.0.1:9" in said.json["errors"]["default"]
    server, failure = said.err.splitlines()[:2]
    assert server == "generator asks http://127.0.0.1:9 with no key."
    assert failure.startswith("failed generate BufferMemory SectionPrompt OpenAiGenerator: http://127.0.0.1:9")
    assert len(said.err.splitlines()) == 2
    assert rag(*RUN).code == 0


def test_no_answer_says_why(rag: Verb) -> None:
    assert "generator=none gives none" in rag("ask", "When?", *GIVEN).out
    assert "nothing in the passages fits" in rag("ask", "xyzzy", *GIVEN, "generator=extractive", "check=none").out


# For people


def test_a_terminal_that_knows_no_dashes_loses_no_result(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments in (RUN, (*RUN, "--json"), ("ask", "Où est le café?", *GIVEN, "--json")):
        screen = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", screen)
            assert rag(*arguments).code == 0
        screen.seek(0)
        text = screen.read()
        assert json.loads(text) if "--json" in arguments else "First so far: " in text


# Processes

SLOW = '''
import os, time
from pathlib import Path

import numpy as np

class SlowEmbedder:
    """Sleeps when it gets many texts, when it gets the second corpus, or never."""

    def embed_documents(self, texts):
        second = Path("first").exists()
        Path("first").touch()
        if {"many": len(texts) > 20, "second": second, "never": False}[os.environ["SLOW"]]:
            Path("slow").touch()
            time.sleep(600)
        return self.embed_queries(texts)

    def embed_queries(self, texts):
        return np.array([[len(text), text.count("e") + 1] for text in texts], np.float32)
'''


def plugin(folder: Path) -> dict[str, str]:
    """Install `embedder=slow` into a folder; returns the environment of a process that finds it."""
    add_plugin(folder, "slow_plugin", SLOW, {"embedder/slow": "SlowEmbedder"})
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def until(true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


def entries() -> int:
    return sum(1 for path in Path(".rag/store/stages").rglob("*") if path.is_file() and not path.name.startswith("."))


def interrupted(command: list[str], environment: Mapping[str, str]) -> tuple[subprocess.CompletedProcess[str], int]:
    """Start a sweep, wait until it sleeps and has stored all other stages, press Ctrl-C; returns its output and its group.

    The sleep takes ten minutes; the sweep must end long before.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    assert until(Path("slow").exists, 120), entries()
    stored = -1
    while stored != entries():
        stored = entries()
        time.sleep(2)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(command, process.returncode, out, err), process.pid


def is_gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.system
@pytest.mark.parametrize(("mode", "slow"), [("inline", "second"), ("processes", "many")])
def test_ctrl_c_shows_what_there_is_and_the_next_run_goes_on(here: Path, golden: Path, mode: str, slow: str) -> None:
    axes = '  chunker: [chunker=whole, "chunker=fixed chunker.size=10"]'
    fixed = ', embedder=slow, "index=[dense]", fusion=single'
    write_experiment(here / "study.yaml", golden, axes, fixed)
    study = (here / "study.yaml").read_text("utf-8").replace(" embedder=hashing, embedder.dimensions=64,", "")
    (here / "study.yaml").write_text(study, "utf-8")
    environment = plugin(here / "installed")
    command = [sys.executable, "-m", "rag", "sweep", "study.yaml", "--no-track", f"execute={mode}"]
    done, group = interrupted(command, {**environment, "SLOW": slow})
    stored = entries()
    assert done.returncode == 130, done.stderr
    assert [line for line in done.stderr.splitlines() if " stages (" not in line] == []
    assert "Interrupted: the same command continues" in done.stdout
    assert "not run" in done.stdout
    assert re.search(r"[1-9]\d* still to run", done.stdout)
    assert "nothing is concluded" in done.stdout
    assert until(lambda: is_gone(group), 60), "a worker outlived its sweep"
    again = subprocess.run(
        [*command, "execute=inline", "--json"], capture_output=True, text=True, env={**environment, "SLOW": "never"}, check=True
    )
    told: dict[str, Any] = json.loads(again.stdout)
    assert [trial["status"] for trial in told["trials"]] == ["done", "done"]
    assert told["stages"]["reused"] == stored > 1


@pytest.mark.system
@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"]])
def test_a_reader_that_closes_the_pipe_is_no_error(here: Path, arguments: list[str]) -> None:
    process = subprocess.Popen([sys.executable, "-m", "rag", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 0


def test_a_table_becomes_a_set_that_checks_and_is_exported(rag: Verb, golden: Path, here: Path) -> None:
    (here / "mine.csv").write_text(
        "frage,answer,contexts\nWhen?,seven,The ferry to Holm leaves at SEVEN!\nWho?,a painter,\nWhy?,,\n", "utf-8"
    )
    documents = str(golden / "documents")
    refused = rag("dataset", "import", "mine.csv", "--to", "set", "--documents", documents)
    assert (refused.code, "there are: 'frage', 'answer', 'contexts'" in refused.err) == (2, True)
    done = rag("dataset", "import", "mine.csv", "--to", "set", "--documents", documents, "--question", "frage")
    assert done.code == 0
    for line in ("csv, 3 rows → 2 questions", "Evidence: 1 fuzzy", "1 question without evidence", "Refused (1):"):
        assert line in done.out
    assert rag("dataset", "check", "native", "dataset.path=set", f"loader.path={documents}").code == 0
    again = rag("dataset", "import", "mine.csv", "--to", "set")
    assert (again.code, "exists already" in again.err) == (2, True)
    out = rag(
        *("dataset", "export", "native", "dataset.path=set", f"loader.path={documents}", "--format", "beir"),
        *("--to", "out", "--json"),
    )
    assert out.json == {"folder": "out", "questions": 2, "not_held": {"answers": 2, "quotes": 1}}
    assert json.loads((here / "out/queries.jsonl").read_text("utf-8").splitlines()[0])["text"] == "When?"
