"""`rag list`, `rag --version` and what a shell offers: all that is there, and how to have what is not installed."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml
from support.choices import FILES
from support.command_line import Verb, verb

import rag as package
from rag.cli.app import FIRST, app
from rag.core.errors import MissingExtraError
from rag.core.files import shipped
from rag.reporting.terminal import output

Conf = Callable[[str, str], Path]


@pytest.fixture
def rag(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.setattr(output.out, "_width", 200)  # COLUMNS counts only where nothing said a width before
    return verb(capsys, monkeypatch)


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an installation without extras."""
    found = importlib.util.find_spec

    def without(name: str, *rest: str | None) -> object:
        return None if name in ("ragas", "tiktoken", "rapidocr", "presidio_analyzer", "spacy") else found(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)


def test_the_version_is_printed(rag: Verb) -> None:
    output = rag("--version")
    assert (output.code, output.out) == (0, f"assay {package.__version__}\n")


def test_help_shows_nine_verbs_those_of_plug_ins_and_the_groups_of_the_others(rag: Verb) -> None:
    listed = rag("--help").out.partition("Commands:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE) == [*FIRST, "mcp", "data", "study", "bundle"]
    assert len(FIRST) == 9


def test_old_names_of_verbs_are_the_same_functions() -> None:
    root = typer.main.get_command(app)
    groups = {name: root.commands[name].commands for name in ("data", "study", "bundle")}  # type: ignore[attr-defined]
    old = {name: each for name, each in root.commands.items() if each.hidden}  # type: ignore[attr-defined]
    new = {name: each for group in groups.values() for name, each in group.items()}
    assert old["dataset"].commands.keys() == groups["data"].keys()
    assert groups["study"].keys() | groups["bundle"].keys() | {"ingest", "inspect", "schema"} <= old.keys()
    assert {"init", "chat", "search", "write", "dataset"} | (new.keys() & old.keys()) == old.keys()
    called = [name for name in new.keys() & old.keys() if not hasattr(old[name], "commands")]
    assert [name for name in called if inspect.unwrap(new[name].callback) is not inspect.unwrap(old[name].callback)] == []
    assert inspect.unwrap(old["prompt"].commands["show"].callback) is inspect.unwrap(new["prompt"].callback)


# What there is


def test_all_of_it(rag: Verb) -> None:
    result = rag("list", "--json").json
    questions = {each["name"]: each["question"] for each in result["experiments"]}
    files = {path.stem: path for path in shipped("experiments").glob("*.yaml")}
    assert questions == {name: yaml.safe_load(path.read_text("utf-8"))["question"] for name, path in files.items()}
    assert [
        f"{each['name']}/{one['name']}"
        for each in sorted(result["groups"], key=lambda each: each["name"])
        for one in each["choices"]
    ] == sorted(FILES)
    assert [each["name"] for each in result["groups"] if not each["meaning"]] == []
    assert [one["name"] for each in result["groups"] for one in each["choices"] if not one["meaning"]] == []
    output = rag("list", "--all").out
    assert questions["grid"] in output
    assert "fixed, markdown, recursive*, semantic, sentence, table_rows" in output


def test_a_preset_is_listed_with_its_choices_and_values(rag: Verb) -> None:
    shown = {each["key"]: each["value"] for each in rag("list", "preset", "book_chatbot", "--json").json["parameters"]}
    assert (shown["chunker"], shown["check.grounded.theta"], shown["memory.turns"]) == ("markdown", 0.6, 10)


def test_a_choice_with_its_parameters(rag: Verb) -> None:
    result = rag("list", "index", "bm25s", "--json").json
    assert (result["is_default"], result["install"]) == (True, [])
    assert result["parameters"][0] == {
        "key": "index.bm25s.k1",
        "value": 1.2,
        "meaning": "saturation of repeated words: a small k1 saturates early",
    }
    runtime = {each["key"]: each for each in rag("list", "embedder=minilm", "--json").json["parameters"]}
    assert runtime["embedder.runtime.threads"]["meaning"].startswith("texts read at once")
    output = rag("list", "chunker", "recursive").out
    assert re.search(r"chunker\.size +800 +characters per chunk, at most", output)
    assert output.startswith("chunker=recursive  the default\nSplits by a hierarchy of separators")
    assert re.search(r"dataset\.path +to be given", rag("list", "dataset", "native").out)


def test_an_experiment_and_the_values(rag: Verb) -> None:
    result = rag("list", "lexical", "--json").json
    assert result["axes"]["chunker"]["sentence"] == "chunker=sentence"
    assert rag("list", "experiments", "lexical", "--json").json == result
    assert "recursive-800: chunker=recursive chunker.size=800" in rag("list", "lexical").out
    assert rag("list", "experiments", "fusion", "--json").json["question"]
    assert rag("list", "fusion", "--json").json["group"] == "fusion"
    assert "folder*" in rag("list", "documents").out
    values = {each["key"]: each["value"] for each in rag("list", "values", "--json").json["values"]}
    assert (values["k"], values["budget.usd"]) == (5, None)
    assert "chunker" not in values


# What is not installed


@pytest.mark.usefixtures("absent")
def test_what_is_not_installed_is_marked_with_the_line_that_installs_it(rag: Verb) -> None:
    result = rag("list", "--json").json
    lines = {
        f"{one['group']}={one['name']}": one["install"]
        for each in result["groups"]
        for one in each["choices"]
        if one["install"]
    }
    packages = (("ragas", "ragas"), ("tiktoken", "openai"), ("rapidocr", "ocr"), ("spacy", "presidio"), ("litellm", "litellm"))
    ragas, tiktoken, ocr, presidio, litellm = (MissingExtraError("", name, extra).remedy for name, extra in packages)
    metrics = ("context_precision", "context_recall", "factual_correctness", "noise_sensitivity")
    of_ragas = ("judge=ragas", *(f"metric=ragas_{name}" for name in metrics))
    assert lines == {name: [ragas] for name in of_ragas} | {
        "embedder=openai": [tiktoken],
        "generator=litellm": [litellm],
        "parser=pdfium_ocr": [ocr],
        "redactor=presidio": [presidio],
    }
    assert (ragas, tiktoken) == ("pip install 'assay-rag[ragas]'", "pip install 'assay-rag[openai]'")
    output = rag("list", "--all").out
    assert "openai (lacks a package)" in output
    assert f"Not installed, a package of {', '.join(of_ragas)}: {ragas}\n" in output
    assert f"a package of it is not installed: {ragas}" in rag("list", "judge").out
    assert f"a package of it is not installed: {tiktoken}" in rag("list", "embedder", "openai").out


# One's own


def test_ones_own_choices_and_experiments_are_listed(rag: Verb, conf: Conf) -> None:
    conf(
        "chunker/tiny.yaml",
        "# For tweets. Nothing else.\n_target_: rag.components.chunkers.fixed.FixedChunker\nsize: 7   # characters\n",
    )
    conf("odd/one.yaml", "_target_: nowhere.Thing\n")
    conf("config.yaml", (shipped("conf") / "config.yaml").read_text("utf-8").replace("chunker: recursive", "chunker: tiny"))
    Path("experiments").mkdir()
    Path("experiments/mine.yaml").write_text("question: >-\n  Is it\n  mine?\n", "utf-8")
    Path("experiments/broken.yaml").write_text("question: [\n", "utf-8")
    result = rag("list", "--json").json
    assert {"name": "mine", "question": "Is it mine?", "study": False} in result["experiments"]
    assert {"name": "broken", "question": "", "study": False} in result["experiments"]
    (tiny,) = [one for each in result["groups"] for one in each["choices"] if one["name"] == "tiny"]
    assert (tiny["meaning"], tiny["is_default"]) == ("For tweets", True)
    assert "odd" in [each["name"] for each in result["groups"]]
    given = rag("list", "chunker", "tiny", "--json").json["parameters"]
    assert given == [
        {"key": "chunker.size", "value": 7, "meaning": "characters"},
        {"key": "chunker.overlap", "value": "0", "meaning": "a default of the class"},
    ]
    conf("chunker/broken.yaml", "_target_: [\n")
    output = rag("list", "chunker", "broken")
    assert output.code == 2
    assert "is not valid YAML" in output.err
    assert rag("list", "chunker").code == 0


# Shells


def offered(words: str, cword: int) -> list[str]:
    """What bash is offered: words are cut at `=`, as it does."""
    environment = {**os.environ, "_RAG_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(cword)}
    done = subprocess.run([sys.executable, "-m", "rag"], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "cword", "names"),
    [
        ("rag li", 1, ["list"]),
        ("rag sweep lex", 2, ["lexical"]),
        ("rag list chunker rec", 3, ["recursive"]),
        ("rag study run ret", 3, []),
        ("rag study run fusion", 3, ["fusion=rrf", "fusion=single", "fusion=weighted"]),
        ("rag ask Why? k=3 reranker = m", 6, ["maxsim", "mmr"]),
    ],
)
def test_a_shell_is_offered_names(here: Path, words: str, cword: int, names: list[str]) -> None:
    assert offered(words, cword) == names
