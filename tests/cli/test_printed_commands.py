"""What the command line prints can be typed: on documents and questions of one's own, in folders with blanks and umlauts."""

import csv
import json
import os
import re
import shlex
from pathlib import Path

import pytest
from support.command_line import CommandResult, Verb, verb
from support.drawn_pdfs import drawn
from support.small_set import QUESTIONS, write_experiment, write_golden

OWN = ("dataset=native", "dataset.path=../Mein Satz ü", "loader.path=../Meine Akten ü")
AXES = '  chunker: ["chunker=fixed chunker.size=60", "chunker=fixed chunker.size=90"]\n  k: k=2,3'
GATE = "gate:\n  split: all\n  metrics:\n    ndcg@10: {margin: .5, slices: {kind=table: .5}}\n"
PRESET = ("preset=study_assistant", "embedder=hashing", "metrics=[recall@5]", "latency=0")
REMEDY = re.compile(r"(?:→ |: |; or |, or |\brun )(rag [a-z][^\n]*?)(?=; or |, or | first\b| says\b|$)", re.MULTILINE)


@pytest.fixture
def rag(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Verbs in a folder with a study of other documents, next to documents and questions of a user."""
    write_golden(here.parent / "other")
    golden = write_golden(here.parent / "Mein Satz ü")
    (golden / "documents").rename(here.parent / "Meine Akten ü")
    (here.parent / "other" / "documents" / "bus.md").write_text("The tram to Holm leaves at ten.", "utf-8")
    (here / "experiments").mkdir()
    study = here / "experiments" / "study.yaml"
    write_experiment(study, Path("../other"), AXES, ', "index=[bm25s]", fusion=single')
    (here.parent / "other" / "questions.jsonl").write_text(
        json.dumps({"id": "t", "text": "When?", "kind": "table", "evidence": [{"any": [{"doc": "bus.md", "quote": "at ten"}]}]})
    )
    study.write_text(study.read_text("utf-8") + GATE, "utf-8")
    monkeypatch.setattr("rag.serve.process.run", lambda *served, **more: None)
    monkeypatch.setattr(os, "execv", lambda program, arguments: None)
    return verb(capsys, monkeypatch)


def printed(said: CommandResult) -> list[str]:
    """The commands of an output: those below `Next:`, those in backticks, and those of remedies."""
    text = f"{said.out}\n{said.err}"
    below = re.findall(r"^Next:((?:\s+rag [^\n]+\n)+)", text, re.MULTILINE)
    found = [line.strip() for block in below for line in block.splitlines() if line.strip()]
    return list(dict.fromkeys([*found, *re.findall(r"`(rag [^`<]+)`", text), *REMEDY.findall(text)]))


def run(rag: Verb, command: str) -> CommandResult:
    program, *arguments = shlex.split(command)
    assert program == "rag"
    return rag(*arguments, *(["--no-track"] if {"sweep", "run"} & {*arguments[:2]} else []))


def walk(rag: Verb, *steps: tuple[str, ...], fine: int = 0) -> list[str]:
    """Run some verbs, and then each command that they and their followers print; the commands."""
    waiting = [command for step in steps for command in printed(began(rag, fine, *step))]
    seen: list[str] = []
    while waiting:
        command = waiting.pop(0)
        if command in seen or command.split()[1:] in (["data", "check"], ["data", "review"]):
            continue
        seen.append(command)
        said = run(rag, command)
        assert said.code == 0, f"{command}\n{said.out}\n{said.err}"
        waiting += printed(said)
    return seen


def began(rag: Verb, code: int, *step: str) -> CommandResult:
    said = rag(*step)
    assert said.code == code, f"{step}\n{said.out}\n{said.err}"
    return said


def test_the_first_hour_with_a_folder_of_ones_own(rag: Verb, here: Path) -> None:
    folder = here.parent / "Meine Akten ü"
    (folder / "leer.txt").write_text(" ", "utf-8")
    rows = "\n".join(f"| {place} | {price} |" for place, price in (("Holm", 9), ("Sund", 12), ("Lund", 14), ("Bro", 15)))
    (folder / "Preise.md").write_text(f"# Fares\n\n| harbour | price |\n| --- | --- |\n{rows}\n", "utf-8")
    commands = walk(
        rag,
        ("ingest", "../Meine Akten ü", "--dry-run"),
        ("dataset", "generate", "../Meine Akten ü", "coverage=0.4", "--to", "Neue Fragen ü", "--questions", "3"),
        ("inspect", "loader=folder", "loader.path=../Meine Akten ü", "--chunkers", "fixed size=60"),
    )
    assert [command.split("'")[0].strip() for command in commands] == [
        *("rag data ingest", "rag data ingest advise", "rag data check native", "rag data ingest"),
        "rag data ingest",
    ]
    source = here / "fragen.csv"
    with source.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("question", "answer"), *((text, "seven") for _, text, *_ in QUESTIONS[:2])])
    folder.rename(here / "Akten")
    for verb_name, *given in (("import", "fragen.csv", "--documents", "Akten"), ("generate", "Akten", "--questions", "2")):
        assert walk(rag, ("dataset", verb_name, *given, "--to", f"Satz {verb_name}"))[0].endswith(" loader.path=Akten")
    said = began(rag, 2, "dataset", "check", "Satz import").err
    assert "for a folder of your own: native 'dataset.path=\"Satz import\"'" in said


def test_a_sweep_of_ones_own_set_leads_to_a_report_a_gate_and_a_bundle(rag: Verb, here: Path) -> None:
    own = (*OWN, "store=mein Speicher", "coverage=0.4", "language=german", "chunker=whole,fixed")
    assert walk(rag, ("report", "study", *own), fine=2)[0].startswith("rag sweep study dataset=native")
    done = rag("sweep", "study", "--no-track", *own)
    first = done.out.partition("First so far: ")[2].partition("(")[2].partition(")")[0]
    commands = walk(rag, ("sweep", "study", "--no-track", *own), ("why", f"trial={first}"), ("export", "study"))
    verbs = {word for command in commands for word in command.split()[1:3]}
    assert verbs >= {"compare", "baseline", "report", "ask", "gate", "verify", "serve"}
    (gate,) = [command for command in commands if command.startswith("rag gate")]
    assert began(rag, 0, "gate", *shlex.split(gate)[2:], "k=5").out.splitlines()[-1]
    refused = began(rag, 2, "gate", "study", "store=mein Speicher")
    assert gate.replace(" 'store=mein Speicher'", "") in printed(refused)[0]
    kept = json.loads(Path("reports/baselines/study.json").read_text("utf-8"))
    judged = rag("gate", *shlex.split(gate)[2:], "--json").json
    (bundle,) = Path("bundles").iterdir()
    sealed = json.loads((bundle / "manifest.json").read_text("utf-8"))["trial"]
    scores = json.loads((bundle / "scores.json").read_text("utf-8"))
    report = Path("reports/study/report.md").read_text("utf-8")
    gated = [judged[side]["trial"] for side in ("baseline", "candidate")]
    assert {kept["trial_id"], *gated, sealed, scores["trial_id"]} == {first}
    assert first in report
    assert "overrides" not in scores
    assert kept["overrides"] == [
        *("dataset=native", 'dataset.path="../Mein Satz ü"', 'loader.path="../Meine Akten ü"'),
        *("coverage=0.4", "language=german", "chunker=whole,fixed"),
    ]
    assert str(here) not in json.dumps(kept)


def test_a_study_elsewhere_and_a_preset_print_commands_that_run(rag: Verb, here: Path) -> None:
    (here / "experiments").rename(here / "meine Studien")
    path = "meine Studien/study.yaml"
    began(rag, 0, "sweep", path, "--no-track", *OWN)
    told = began(rag, 0, "dataset", "health", path, *OWN, "store=anderswo").out
    assert f"run {shlex.join(['rag', 'sweep', path, *OWN, 'store=anderswo'])}" in " ".join(told.split())
    assert walk(rag, ("baseline", path, "--baseline", "mein Stand.json"))
    assert walk(rag, ("run", "-m", "--no-track", *PRESET, *OWN, "k=2,3"))


def test_init_writes_eight_lines_that_run(rag: Verb, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ("--documents", "../Meine Akten ü", "--questions", "../Mein Satz ü/questions.jsonl", "--model", "none")
    told = began(rag, 0, "init", *own)
    assert printed(told) == ["rag plan mine", "rag sweep mine"]
    text = Path("experiments/mine.yaml").read_text("utf-8")
    assert len(text.splitlines()) == 8
    assert run(rag, "rag plan mine").code == run(rag, "rag sweep mine embedder=hashing latency=1").code == 0
    refusals = {
        ("init", *own): "experiments/mine.yaml: exists, and is not overwritten",
        ("init", "a/b", *own): "name 'a/b': is not a file name",
        ("init", "two", *own[2:]): "--documents: is not given, and there is no terminal to ask at",
        ("init", "two", *own[:-1], "opnai"): "--model: there is no 'opnai'\n  → did you mean 'openai'?",
        ("init", "two", "--documents", "nirgends", *own[2:]): "nirgends: there is no such folder",
        ("init", "two", *own[:3], "nirgends.jsonl", *own[4:]): "nirgends.jsonl: cannot be read",
    }
    for given, said in refusals.items():
        assert began(rag, 2, *given).err.startswith(said)
    assert sorted(path.name for path in Path("experiments").iterdir()) == ["mine.yaml", "study.yaml"]
    lines = iter(["../Meine Akten ü", "", ""])
    monkeypatch.setattr("rag.reporting.terminal.line_input.Typed.read", lambda self: next(lines))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert began(rag, 0, "init", "asked").out.count("[") == 3
    assert Path("datasets/asked/questions.jsonl").is_file()
    assert Path("experiments/mine.yaml").read_text("utf-8") == text


def test_a_folder_is_tried_at_once_and_the_same_command_goes_on(rag: Verb, here: Path) -> None:
    table = "| Sailing | Hour | Fare |\n|---|---|---|\n| Monday | 9 | 40 |\n| Tuesday | 11 | 55 |\n| Friday | 8 | 70 |\n"
    text = f"# Ferry to Brackwater\n\nThe crossing takes 40 minutes.\n\n## Fares\n\n{table}"
    (here.parent / "Meine Akten ü" / "brackwater.md").write_text(text, "utf-8")
    (here.parent / "Meine Akten ü" / "bild.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    own = ("try", "../Meine Akten ü", "embedder=hashing", "latency=1", "--no-track")
    told = began(rag, 0, *own).out
    assert "left out: 1 file" in told
    assert "by rules: datasets/Meine-Akten-ü/questions.jsonl; for example" in told
    assert "4 further" not in told
    assert "The questions are by rules" in told
    assert Path("reports/Meine-Akten-ü/index.html").is_file()
    last = printed(CommandResult(0, told, ""))
    assert len(last) == 3
    assert all(run(rag, command).code == 0 for command in last[::2])
    again = began(rag, 0, *own).out
    assert "that are there" in again
    assert "0 ran" in again
    (here / "Meine Akten ü").mkdir()
    assert began(rag, 2, "try", "Meine Akten ü").err.startswith("experiments/Meine-Akten-ü.yaml: is an experiment about other")
    (here / "leer").mkdir()
    (here / "leer" / "bild.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    assert began(rag, 2, "try", "leer").err.startswith("leer: holds no text that can be read")
    assert began(rag, 2, "try", "nirgends").err.startswith("nirgends: there is no such folder")


def test_a_single_file_is_a_corpus(rag: Verb, here: Path) -> None:
    (here.parent / "Meine Akten ü" / "metadata.csv").write_text("path,owner\nbus.md,me\n", "utf-8")
    told = began(rag, 0, "ingest", "../Meine Akten ü/ferry.md", "--json").json
    assert [(line["path"], line["decision"]) for line in told["manifest"]] == [("ferry.md", "included")]
    (here / "~x").mkdir()
    (here / "~x" / "bus.md").write_text("The tram to Holm leaves at ten.", "utf-8")
    assert began(rag, 0, "ingest", "~x", "--dry-run", "--json").json["manifest"], "a folder, and no override that deletes x"
    place = "loader.path=../Meine Akten ü/ferry.md"
    found = began(rag, 0, "search", "ferry", "loader=folder", place, "index=[bm25s]", "fusion=single", "--json").json
    assert {hit["doc_id"] for hit in found["passages"]} == {"ferry.md"}


def test_an_encrypted_pdf_is_read_with_the_password_in_a_variable(
    rag: Verb, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "ferry-secret-77"
    (here / "Akte ü.pdf").write_bytes(drawn([[(40, 100, "The ferry is blue.")]], password=secret))
    needs = "is encrypted, and needs a password; loader.runtime.password_env names its variable: Akte ü.pdf"
    assert needs in began(rag, 0, "ingest", "Akte ü.pdf").out
    given = ("ingest", "Akte ü.pdf", "loader.runtime.password_env=AKTEN")
    assert needs in began(rag, 0, *given).out
    monkeypatch.setenv("AKTEN", "another one")
    assert "does not open with the password that was given" in began(rag, 0, *given).out
    monkeypatch.setenv("AKTEN", secret)
    told = began(rag, 0, *given, "--json")
    (line,) = told.json["manifest"]
    assert (line["decision"], line["characters"] > 10) == ("included", True)
    assert secret not in told.out
    assert [path for path in here.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []
    monkeypatch.delenv("AKTEN")
    said = began(rag, 2, "ingest", "Akte ü.pdf", f"loader.runtime.password_env='{secret}'")
    assert said.err.startswith("loader.runtime.password_env: is not a valid variable name")
    assert secret not in said.err
