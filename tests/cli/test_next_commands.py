"""From a retrieval sweep to an answer, and what every `Next:` names: commands that run as they are printed."""

import os
import shlex
from pathlib import Path

import pytest
from support.command_line import Said, Verb, verb
from support.small_set import QUESTIONS, write_experiment, write_golden

AXES = '  chunker: ["chunker=fixed chunker.size=60", chunker=whole]\n  k: k=2,3'
ASKED = "When does the ferry to Holm leave?"
LENT = "generator=extractive (the default: it was measured with generator=none)."


@pytest.fixture
def rag(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Verbs in a folder with a study of its own that measures retrieval alone."""
    Path("experiments").mkdir()
    write_experiment(Path("experiments/study.yaml"), write_golden(here / "golden"), AXES, ', "index=[bm25s]", fusion=single')
    return verb(capsys, monkeypatch)


def commands(said: Said) -> list[str]:
    """The commands behind `Next:`, and behind nothing but blanks below it."""
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    (first,) = [place for place, line in enumerate(lines) if line.startswith("Next:")]
    found = [lines[first]]
    found += [line for line in lines[first + 1 :] if line.startswith(" " * 7)]
    return [line.removeprefix("Next:").strip() for line in found]


def recommended(said: Said) -> str:
    return next(line for line in said.out.splitlines() if line.startswith("Recommended: ")).rpartition("(")[2].rstrip(")")


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What takes the place of this process: `rag ui` becomes the server of MLflow."""
    found: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: found.append(arguments))
    return found


def run(rag: Verb, command: str) -> Said:
    program, *arguments = shlex.split(command)
    assert program == "rag"
    return rag(*arguments)


@pytest.mark.parametrize("overrides", [(), ("chunker=whole,sentence", "coverage=0.4")])
def test_every_command_below_a_sweep_runs_as_it_is_printed(
    rag: Verb, executed: list[list[str]], overrides: tuple[str, ...]
) -> None:
    found = commands(rag("sweep", "study", "--no-track", *overrides))
    assert {command.split()[1] for command in found} == {"compare", "baseline", "report", "ask", "ui"}
    for command in found:
        assert run(rag, command).code == 0, command
    ((_, *server),) = executed
    assert "mlflow" in " ".join(server)
    assert Path("reports/baselines/study.json").is_file()


def test_every_command_below_a_run_runs_as_it_is_printed(rag: Verb, executed: list[list[str]], golden: Path) -> None:
    given = ("dataset=native", f"dataset.path={golden}", "embedder=hashing", "index=[bm25s]", "fusion=single", "generator=gold")
    for command in (found := commands(rag("run", "-m", "--no-track", *given, "chunker=fixed,whole"))):
        assert run(rag, command).code == 0, command
    assert [command.split()[1] for command in found] == ["compare", "ask", "ui"]
    assert executed


def test_the_commands_of_a_report_and_of_a_bundle_run(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    rag("sweep", "study", "--no-track")
    rag("report", "study", "--no-track")
    text = Path("reports/study/report.md").read_text("utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("- Next: ")]
    assert "The ferry to Holm leaves at seven" in run(rag, line.removeprefix("- Next: ").strip("`")).out
    served: list[object] = []
    monkeypatch.setattr("rag.serve.process.run", lambda bundles, *rest, **more: served.extend(bundles))
    for command in (found := commands(rag("export", "study"))):
        assert run(rag, command).code == 0, command
    assert [command.split()[1] for command in found] == ["verify", "serve"]
    assert [Path(str(each)).is_dir() for each in served] == [True]


def test_a_trial_without_a_generator_answers_with_the_default_one_and_says_so(rag: Verb) -> None:
    trial = recommended(rag("sweep", "study", "--no-track"))
    said = rag("ask", ASKED, f"trial={trial[:6]}")
    assert said.out.startswith(f"Trial {trial} as it was measured, but with {LENT}\n")
    assert "The ferry to Holm leaves at seven" in said.out
    told = rag("ask", ASKED, f"trial={trial}", "--json").json
    assert "leaves at seven" in told["answer"]
    assert told["not_as_measured"] == f"Trial {trial} as it was measured, but with {LENT}"
    assert rag("ask", ASKED, f"trial={trial}", "generator=none", "--json").json["answer"] == ""


def test_what_stands_beside_a_trial_takes_the_place_of_its_own(rag: Verb) -> None:
    trial = recommended(rag("sweep", "study", "--no-track"))
    beside = ("prompt=strict_book", "generator.sentences=1", "k=1")
    told = rag("ask", ASKED, f"trial={trial}", *beside, "--json").json
    assert f"but with {' '.join(beside)} {LENT}" in told["not_as_measured"]
    assert len(told["contexts"]) == 1
    shown = rag("prompt", "show", ASKED, f"trial={trial}", "prompt=strict_book", "prompt.role=You are a lighthouse.")
    assert shown.out.startswith(f"Trial {trial} as it was measured, but with prompt=strict_book 'prompt.role=You")
    assert "You are a lighthouse." in shown.out
    assert rag("prompt", "show", ASKED, f"trial={trial}", "--json").json["not_as_measured"] == ""


@pytest.mark.parametrize(
    ("beside", "where", "remedies"),
    [
        ("chunker.size=4", "chunker.size=4", ["generator", "leave out trial="]),
        ("generatr=extractive", "generatr=extractive", ["did you mean 'generator'"]),
        ("generator=extractve", "generator", ["did you mean 'extractive'"]),
        ("generator.sentencs=1", "generator.sentencs=1", ["did you mean 'sentences'"]),
        ("k=1,2", "k=1,2", ["names several values"]),
        ("k=0", "k", ["a whole number from 1"]),
        ("generator=gold", "generator", ["generator=extractive"]),
    ],
)
def test_what_cannot_stand_beside_a_trial_is_refused(rag: Verb, beside: str, where: str, remedies: list[str]) -> None:
    trial = recommended(rag("sweep", "study", "--no-track", "chunker=whole"))
    said = rag("ask", ASKED, f"trial={trial}", beside)
    assert said.code == 2
    assert said.err.startswith(f"{where}: ")
    assert [remedy for remedy in remedies if remedy not in said.err] == []


def test_a_chat_with_such_a_trial_answers(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = recommended(rag("sweep", "study", "--no-track"))
    lines = iter([QUESTIONS[0][1]])
    monkeypatch.setattr("rag.reporting.terminal.line_input.Typed.read", lambda self: next(lines, None))
    said = rag("chat", f"trial={trial}", "queries=carry_over")
    assert said.out.startswith(f"Trial {trial} as it was measured, but with queries=carry_over {LENT}\n")
    assert "The ferry to Holm leaves at seven" in said.out
