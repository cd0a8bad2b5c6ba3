"""The commands below `Next:` run as they are printed; a trial answers with replaced parts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import Verb, verb
from support.small_set import write_experiment, write_golden
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
