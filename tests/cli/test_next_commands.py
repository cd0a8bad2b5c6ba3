"""The commands below `Next:` run as they are printed; a trial answers with replaced parts."""

import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import CommandResult, Verb, verb
from support.small_set import QUESTIONS, write_experiment, write_golden
from support.swept_trial import called

AXES = '  chunker: ["chunker=fixed chunker.size=60", chunker=whole]\n  k: k=2,3'
ASKED = "When does the ferry to Holm leave?"
LENT = "generator=extractive (the default: it was measured with generator=none)."


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder with a study that measures retrieval alone, and the output of its sweep."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "experiments").mkdir()
    study = folder / "experiments" / "study.yaml"
    write_experiment(study, write_golden(folder / "golden"), AXES, ', "index=[bm25s]", fusion=single')
    return folder, called(folder, "sweep", "study", "--no-track")


@pytest.fixture
def rag(swept: tuple[Path, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    """Verbs in that folder."""
    monkeypatch.chdir(swept[0])
    return verb(capsys, monkeypatch)


@pytest.fixture
def trial(swept: tuple[Path, str]) -> str:
    """The id of the recommended trial."""
    return next(line for line in swept[1].splitlines() if line.startswith("First so far: ")).rpartition("(")[2].rstrip(")")


def commands(text: str) -> list[str]:
    """The commands on the line `Next:` and on the indented lines below it."""
    lines = text.splitlines()
    (first,) = [place for place, line in enumerate(lines) if line.startswith("Next:")]
    following = [lines[first], *(line for line in lines[first + 1 :] if line.startswith(" " * 7))]
    return [line.removeprefix("Next:").strip() for line in following]


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that replace this process: `rag study ui` becomes the server of MLflow."""
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: started.append(arguments))
    return started


def verb_of(command: str) -> str:
    """The verb of a command, with its group."""
    _, first, second, *_ = (*command.split(), "")
    return f"{first} {second}" if first in ("data", "study", "bundle") else first


def run(rag: Verb, command: str) -> CommandResult:
    program, *arguments = shlex.split(command)
    assert program == "rag"
    return rag(*arguments)


@pytest.mark.parametrize("overrides", [("chunker=whole,sentence", "coverage=0.4"), ()])
def test_every_command_below_a_sweep_runs_as_it_is_printed(
    rag: Verb,
    swept: tuple[Path, str],
    executed: list[list[str]],
    overrides: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(shutil.copytree(swept[0], tmp_path / "copy"))
    found = commands(rag("sweep", "study", "--no-track", *overrides).out if overrides else swept[1])
    assert {verb_of(command) for command in found} == {"study compare", "study baseline", "report", "ask", "study ui"}
    for command in found:
        assert run(rag, command).code == 0, command
    ((_, *server),) = executed
    assert "mlflow" in " ".join(server)
    assert Path("reports/baselines/study.json").is_file()


def test_every_command_below_a_run_runs_as_it_is_printed(rag: Verb, executed: list[list[str]], golden: Path) -> None:
    given = ("dataset=native", f"dataset.path={golden}", "embedder=hashing", "index=[bm25s]", "fusion=single", "generator=gold")
    for command in (found := commands(rag("run", "-m", "--no-track", *given, "chunker=fixed,whole").out)):
        assert run(rag, command).code == 0, command
    assert [verb_of(command) for command in found] == ["study compare", "ask", "study ui"]
    assert executed


def test_the_commands_of_a_report_and_of_a_bundle_run(rag: Verb, monkeypatch: pytest.MonkeyPatch) -> None:
    rag("report", "study", "--no-track")
    text = Path("reports/study/report.md").read_text("utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("- Next: ")]
    assert "The ferry to Holm leaves at seven" in run(rag, line.removeprefix("- Next: ").strip("`")).out
    served: list[object] = []
    monkeypatch.setattr("rag.serve.process.run", lambda bundles, *rest, **more: served.extend(bundles))
    for command in (found := commands(rag("export", "study").out)):
        assert run(rag, command).code == 0, command
    assert [verb_of(command) for command in found] == ["bundle verify", "serve"]
    assert [Path(str(each)).is_dir() for each in served] == [True]


def test_a_trial_without_a_generator_answers_with_the_default_one_and_says_so(rag: Verb, trial: str) -> None:
    said = rag("ask", ASKED, f"trial={trial[:6]}")
    assert said.out.startswith(f"Trial {trial} as it was measured, but with {LENT}\n")
    assert "The ferry to Holm leaves at seven" in said.out
    told = rag("ask", ASKED, f"trial={trial}", "--json").json
    assert "leaves at seven" in told["answer"]
    assert told["not_as_measured"] == f"Trial {trial} as it was measured, but with {LENT}"
    assert rag("ask", ASKED, f"trial={trial}", "generator=none", "--json").json["answer"] == ""


def test_overrides_next_to_a_trial_replace_its_parts(rag: Verb, trial: str) -> None:
    replaced = ("prompt=strict_book", "generator.sentences=1", "k=1")
    told = rag("ask", ASKED, f"trial={trial}", *replaced, "--json").json
    assert f"but with {' '.join(replaced)} {LENT}" in told["not_as_measured"]
    assert len(told["contexts"]) == 1
    shown = rag("prompt", "show", ASKED, f"trial={trial}", "prompt=strict_book", "prompt.role=You are a lighthouse.")
    assert shown.out.startswith(f"Trial {trial} as it was measured, but with prompt=strict_book 'prompt.role=You")
    assert "You are a lighthouse." in shown.out
    assert rag("prompt", "show", ASKED, f"trial={trial}", "--json").json["not_as_measured"] == ""


@pytest.mark.parametrize(
    ("override", "where", "remedies"),
    [
        ("chunker.size=4", "chunker.size=4", ["generator", "leave out trial="]),
        ("generatr=extractive", "generatr=extractive", ["did you mean 'generator'"]),
        ("generator=extractve", "generator", ["did you mean 'extractive'"]),
        ("generator.sentencs=1", "generator.sentencs", ["did you mean 'sentences'"]),
        ("k=1,2", "k=1,2", ["names several values"]),
        ("k=0", "k", ["a whole number from 1"]),
        ("generator=gold", "generator", ["generator=extractive"]),
    ],
)
def test_wrong_overrides_next_to_a_trial_are_errors(
    rag: Verb, trial: str, override: str, where: str, remedies: list[str]
) -> None:
    said = rag("ask", ASKED, f"trial={trial}", override)
    assert said.code == 2
    assert said.err.startswith(f"{where}: ")
    assert [remedy for remedy in remedies if remedy not in said.err] == []


def test_a_chat_with_such_a_trial_answers(rag: Verb, trial: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter([QUESTIONS[0][1]])
    monkeypatch.setattr("rag.reporting.terminal.line_input.Typed.read", lambda self: next(lines, None))
    said = rag("chat", f"trial={trial}", "queries=carry_over")
    assert said.out.startswith(f"Trial {trial} as it was measured, but with queries=carry_over {LENT}\n")
    assert "The ferry to Holm leaves at seven" in said.out
