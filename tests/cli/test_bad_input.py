"""Wrong input on the command line and in files: exit code 2, the place, the remedy, and nothing spent or lost."""

import errno
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandResult, Verb
from support.small_set import TEXTS

pytestmark = pytest.mark.usefixtures("here", "golden")

GIVEN = ("dataset=native", "embedder=hashing", "latency=0", "generator=none")
RUN = ("run", "--no-track", *GIVEN, "dataset.path=../golden")


def assert_error(said: CommandResult, where: str, *remedies: str) -> None:
    """One line with place and problem, one with the remedy, and nothing else but servers that would be asked."""
    assert said.code == 2, said
    assert "Traceback" not in said.err
    first, second, *more = (line for line in said.err.splitlines() if not re.fullmatch(r"[\w.]+ asks \S+ with no key\.", line))
    assert more == [], said.err
    assert first.startswith(f"{where}: "), first
    assert second.startswith("  → "), second
    for remedy in remedies:
        assert remedy in said.err


def assert_refused(said: CommandResult, where: str, *remedies: str) -> None:
    """As `assert_error`, before anything was printed, stored or written."""
    assert_error(said, where, *remedies)
    assert said.out == ""
    assert sorted(path.name for path in Path.cwd().iterdir() if path.name in (".rag", "reports")) == []


# Typed words, experiments, choices of one's own: refusals.txt has each command, the files that it reads, and all that it prints

REFUSALS = Path(__file__).parent / "refusals.txt"
"""A block for each command: lines `> file "text"`, `$ rag …` (RUN: over the golden set), and standard error."""


def refused(rag: Verb, block: str) -> str:
    """A block with what its command prints now; the command must end with 2, print no result, store and write nothing."""
    lines = [line for line in block.splitlines() if line.startswith(("> ", "$ rag "))]
    *files, command = lines
    for path, text in (line.removeprefix("> ").split(" ", 1) for line in files):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(json.loads(text).encode("utf-8", "surrogateescape"))
    words = shlex.split(command.removeprefix("$ rag "))
    said = rag(*(RUN if words[0] == "RUN" else words[:1]), *words[1:])
    for path in (line.split(" ", 2)[1] for line in files):
        Path(path).unlink()
    left = [name for name in (".rag", "reports") if Path(name).exists()]
    assert (said.code, said.out, left) == (2, "", []), command
    return "\n".join([*lines, said.err.replace(str(Path.cwd()), ".")])


def test_refusals_are_printed_as_they_stand_in_the_file(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    kept = REFUSALS.read_text("utf-8")
    now = "\n".join(refused(rag, block) for block in re.split(r"\n\n(?=[>$] )", kept))
    if os.environ.get("RAG_WRITE_OUTPUTS"):
        REFUSALS.write_text(now, "utf-8")
    assert now == kept, "a change on purpose: RAG_WRITE_OUTPUTS=1, and read the difference"


# Experiments

HEAD = 'dataset: native\nfixed: ["dataset.path=../golden", embedder=hashing, latency=0, generator=none]\nquestion: Why?\n'


# Golden sets


def questions(golden: Path, change: Callable[[list[str]], list[str]]) -> None:
    path = golden / "questions.jsonl"
    path.write_text("".join(f"{line}\n" for line in change(path.read_text("utf-8").splitlines())), "utf-8")


def replaced(old: str, new: str) -> Callable[[Path], None]:
    return lambda golden: questions(golden, lambda lines: [line.replace(old, new) for line in lines])


def emptied(golden: Path) -> None:
    for name in TEXTS:
        (golden / "documents" / name).write_text(" \n", "utf-8")


@pytest.mark.parametrize(
    ("spoil", "where", "remedies"),
    [
        (emptied, "", ["documents: none of 4 documents has text"]),
        (lambda golden: (golden / "questions.jsonl").unlink(), "questions.jsonl", ["has: documents"]),
        (lambda golden: questions(golden, lambda _: []), "questions.jsonl", ["holds no question", "one a line"]),
        (replaced("bus.md", "buss.md"), "questions.jsonl:2 evidence[0] any[0]", ["'buss.md'", "did you mean 'bus.md'"]),
        (
            replaced("four crowns.", "five crowns."),
            "questions.jsonl:2 evidence[0] any[0]",
            ["is not in 'bus.md'", "nearest is line 3", "'A ticket costs four crowns"],
        ),
        (
            replaced("A ticket costs four crowns.", "ticket"),
            "questions.jsonl:2 evidence[0] any[0]",
            ["more than once in 'bus.md'", "on lines 3", "make the quote longer"],
        ),
        (replaced('"kind": "multi_hop"', '"kinds": "m"'), "questions.jsonl:3", ["did you mean 'kind'"]),
    ],
)
def test_wrong_golden_sets(rag: Verb, golden: Path, spoil: Callable[[Path], Any], where: str, remedies: list[str]) -> None:
    spoil(golden)
    said = rag("dataset", "check", "native", "dataset.path=../golden")
    assert_error(said, f"../golden/{where}" if where else "documents", *remedies)
    assert not said.out or "`rag data fix` shows new quotes" in said.out


def test_all_problems_of_a_golden_set_are_reported_at_once(rag: Verb, golden: Path) -> None:
    (golden / "documents" / "a.md").write_bytes(b"caf\xe9")
    for name in ("b.mp3", "c.mp3"):
        (golden / "documents" / name).write_bytes(b"%PDF")
    lines = [
        '{"id": "q1", "text": "t", "kinds": "k", "colour": "c", "split": "best"}',
        '{"id": "q1", "text": "", "evidence": [{"any": [{"doc": "bus.md", "quote": "five crowns"}]}, {"grade": 0, "any": []}]}',
        "{",
        '{"id": "q4", "text": "t", "evidence": [{"any": [{"doc": "buss.md"}, {"doc": "a.md"}]}]}',
        '{"id": "q5", "text": "t", "split": "tune"}',
        '{"id": "q6", "text": "t"}',
        '{"id": "q7", "text": "t", "history": [{"role": "system", "text": "x"}], "dialogue": "d"}',
    ]
    (golden / "questions.jsonl").write_bytes("\n".join([*lines, ""]).encode() + b'{"id": "\xe9"}\n')
    said = rag("dataset", "check", "native", "dataset.path=../golden")
    assert said.code == 2
    assert said.out.splitlines()[1] == "not read: .mp3 (no reader yet): b.mp3, c.mp3"
    where = "../golden/questions.jsonl"
    told = said.err.splitlines()
    assert [line.split(": ")[0] for line in told[::2]] == [
        *[f"{where}:1"] * 3,
        f"{where}:2",
        f"{where}:2 evidence[0] any[0]",
        *[f"{where}:2 evidence[1]"] * 2,
        f"{where}:2",
        f"{where}:3",
        f"{where}:4 evidence[0] any[0]",
        f"{where}:4 evidence[0] any[1]",
        f"{where}:7 history[0]",
        f"{where}:7",
        f"{where}:8",
        "questions",
        "../golden/documents/a.md",
    ]
    assert all(line.startswith("  → ") for line in told[1::2])
    problems = rag("dataset", "check", "native", "dataset.path=../golden", "--json").json["problems"]
    assert [f"{one['where']}: {one['what']}" for one in problems] == told[::2]


def test_the_nearest_passage_is_shown_whole(rag: Verb, golden: Path) -> None:
    long = (
        "A ticket of the late ferry, which leaves " + "on every single day of a long summer " * 4 + "at ten, costs nine crowns"
    )
    (golden / "documents" / "bus.md").write_text(f"# Bus\n\nIt goes. {long}. It returns.\n", "utf-8")
    replaced("A ticket costs four crowns.", "leaves on every single day of a long summer at ten, costs six crowns")(golden)
    assert_refused(rag(*RUN), "../golden/questions.jsonl:2 evidence[0] any[0]", f"'{long}.'")


# Models


def test_a_stage_that_takes_more_memory_than_there_is(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object) -> None:
        raise MemoryError("Unable to allocate 74.5 GiB for an array")

    monkeypatch.setattr("rag.components.embedders.hashing.HashingEmbedder.embed_documents", short)
    said = rag(*RUN, "-m", "fusion=single", "index=[bm25s],[dense]")
    assert said.code == 1
    assert "takes more memory than there is (Unable to allocate 74.5 GiB for an array)\n" in said.err
    assert "→ lower its parameters, or run fewer workers" in said.err
    assert "Traceback" not in said.err
    assert "First so far: bm25s" in said.out


# Places


def test_a_full_disk_ends_the_sweep_and_the_next_one_goes_on(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = os.fsync

    def full(number: int) -> None:
        if len(list(Path(".rag/store/stages").rglob("[!.]*/[!.]*"))) >= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        synced(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        said = rag(*RUN)
    assert said.code == 2
    assert "the disk is full" in said.err
    assert "run again: it goes on here" in said.err
    assert "Traceback" not in said.err
    assert "not run" in said.out
    assert not list(Path(".rag").rglob("*.tmp"))
    done = rag(*RUN, "--json")
    assert done.code == 0
    assert done.json["stages"]["reused"] == 3


def test_a_store_that_is_read_only_serves_what_it_holds(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    first = rag(*RUN, "--json").json

    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    for name in ("replace_file", "locked", "os.utime"):
        monkeypatch.setattr(f"rag.execution.store.store.{name}", refused)
    again = rag(*RUN, "--json")
    assert (again.code, again.err, again.json["stages"]["ran"], again.json["trials"]) == (0, "", 0, first["trials"])
    said = rag(*RUN, "chunker.size=41")
    assert said.code == 2
    assert "cannot be written (Read-only file system)\n  → check its permissions, or set store=" in said.err
    assert "Traceback" not in said.err
    assert "not run" in said.out


def test_a_report_that_cannot_be_written_loses_nothing(rag: Verb) -> None:
    Path("reports").write_text("a file", "utf-8")
    said = rag(*RUN)
    assert_error(said, "reports/run", "cannot be written", "the results are in the store")
    assert "First so far: " in said.out
    Path("reports").unlink()
    assert rag(*RUN, "--json").json["stages"]["ran"] == 0


def test_a_scheduler_that_does_not_answer(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.execution.graph.dask_cluster.PATIENCE", 0.5)
    said = rag(*RUN, "execute=cluster", "execute.address=tcp://127.0.0.1:9")
    assert_refused(said, "execute.address", "no scheduler answers at tcp://127.0.0.1:9", "dask scheduler")


@pytest.mark.parametrize("uri", ["http://127.0.0.1:9", "nonsense://x", "sqlite:////dev/null/x.db"])
def test_a_tracking_server_that_does_not_answer_loses_nothing(rag: Verb, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    Path("study.yaml").write_text(HEAD, "utf-8")
    said = rag("sweep", "study.yaml", "k=3")
    assert_error(said, uri, "MLflow cannot be used", "the results are safe", "rag study track study.yaml k=3")
    assert "First so far: " in said.out
    assert rag("plan", "study.yaml", "k=3", "--json").json["stages"]["to_run"] == 0
