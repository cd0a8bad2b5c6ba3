"""The documentation is right: reference pages match the code, links have targets, code runs."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
import yaml
from nbclient import NotebookClient
from support.choices import FILES as SHIPPED
from support.command_line import Verb
from typer.main import get_command

from rag.api.sweeps import load_experiment
from rag.cli.app import app
from rag.config import listing
from rag.config.catalog import PLUGINS
from rag.config.compose import choices, compose, composing
from rag.core.errors import ConfigError

ROOT = next(parent for parent in Path(__file__).parents if (parent / "pyproject.toml").is_file())
DOCS = ROOT / "docs"
EXAMPLES = ROOT / "examples"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), EXAMPLES / "README.md"])
WRITTEN = [page for page in PAGES if "reference" not in page.parts and page.name != "CHANGELOG.md"]
FILES = (".jsonl", ".json", ".yaml", ".md", ".csv")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall((DOCS / page).read_text("utf-8")) if name == language]


def slug(heading: str) -> str:
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip())


@pytest.fixture(scope="module")
def tour_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder whose store the tour and the Python page share."""
    return tmp_path_factory.mktemp("tour")


def test_generated_pages_are_those_of_code_and_tables() -> None:
    written = runpy.run_path(str(DOCS / "generate.py"))["pages"]()
    assert len(written) == 25
    stale = [name for name, text in written.items() if not (DOCS / name).is_file() or (DOCS / name).read_text("utf-8") != text]
    assert stale == [], "run: python docs/generate.py"
    made = {name.removeprefix("reference/") for name in written if name.startswith("reference/")}
    assert {path.name for path in (DOCS / "reference").iterdir()} == made | {"environment.md"}


def broken(page: Path) -> Iterator[str]:
    """The links of a page without a target."""
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", page.read_text("utf-8"))):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not target.startswith(("http", "mailto:")) and not (
            path.exists() and (not anchor or anchor in map(slug, re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.M)))
        ):
            yield f"{page.name}: {target}"


def test_links_lead_somewhere() -> None:
    assert [target for page in PAGES for target in broken(page)] == []


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r'"([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text("utf-8")))
    assert listed == {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}


def test_every_environment_variable_is_documented() -> None:
    pages = (DOCS / "reference" / "environment.md").read_text("utf-8") + (DOCS / "serving.md").read_text("utf-8")
    read = set()
    for path in (ROOT / "rag").rglob("*.py"):
        read |= set(re.findall(r"""environ(?:\.get\(|\[)["']([A-Z_]+)["']""", path.read_text("utf-8")))
    for path in SHIPPED.values():
        read |= set(re.findall(r"oc\.env:([A-Z_]+)", path.read_text("utf-8")))
    assert len(read) > 3
    assert not {name for name in read if name not in pages}


def test_keys_and_choices_of_the_pages_exist() -> None:
    wiring = set(yaml.safe_load((ROOT / "conf" / "config.yaml").read_text("utf-8"))) - {"defaults"}
    groups = {path.name for path in (ROOT / "conf").iterdir() if path.is_dir()} & set(components())
    named = "|".join(sorted(groups | wiring))
    spans = {
        text
        for page in WRITTEN
        for text in re.findall(r"`([^`\n]+)`|^(?:    )?(rag .+)$", page.read_text("utf-8"), re.M)
        for text in text
    }
    keys = {key for text in spans for key in re.findall(rf"(?<![\w.$/@-])((?:{named})(?:\.\w+)+)(?=[=:\s`,]|$)", text)}
    picked = {
        pair
        for text in spans
        for pair in re.findall(rf"(?<![\w.$/@-])({'|'.join(sorted(groups))})=([a-z_0-9]+)(?![\w.…])", text)
    }
    assert len(keys) > 80
    pages = "".join(page.read_text("utf-8") for page in WRITTEN)
    own = {pair for pair in picked if f"conf/{pair[0]}/{pair[1]}.yaml" in pages}  # the page shows how to add it
    assert {pair for pair in picked - own if pair[1] not in choices(pair[0])} == set()
    known = {each.key for each in listing.values()}.union(*map(parameters, groups))
    assert {key for key in keys - known if not key.endswith(FILES) and not composes(key)} == set()


def components() -> list[str]:
    content = yaml.safe_load((ROOT / "conf" / "config.yaml").read_text("utf-8"))
    return [group for part in content["defaults"] if isinstance(part, dict) for group in part]


def composes(key: str) -> bool:
    """Whether a key of a choice within a choice can be set, such as one of the parsers of a loader."""
    with suppress(ConfigError), composing():
        return bool(compose([f"{key}=null"]))
    return False


@cache
def parameters(group: str) -> set[str]:
    """The keys of all choices of a group."""
    return {each.key for name in choices(group) for each in listing.parameters(listing.choice(group, name))}


def test_commands_of_the_pages_and_of_help_are_commands() -> None:
    root = get_command(app)
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    helps = "\n".join(filter(None, (getattr(each.callback, "__doc__", "") for _, each in verbs(root))))
    found = {*re.findall(r"^(?:    )?(rag [^\n]+)$", pages, re.M), *re.findall(r"`(rag [a-z][^`\n]*)`", pages + helps)}
    assert len(found) > 220
    assert {command: fault for command in sorted(found) if (fault := misread(root, command))} == {}
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert set(re.findall(r"(?:`|^    )make ([\w-]+)", pages, re.M)) <= targets
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert {name for names in re.findall(r"assay[\w.-]*\[([\w,]+)\]", pages) for name in names.split(",")} <= set(extras)


def verbs(command: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """All verbs of `rag` with the verbs of their groups, as typed: `dataset generate`."""
    for name, each in getattr(command, "commands", {}).items():
        yield f"{before}{name}", each
        yield from verbs(each, f"{before}{name} ")


def misread(command: Any, line: str) -> str:
    """Why the command line would not take a command; empty if it would. Arguments may be missing."""
    try:
        words = shlex.split(re.split(r" (?:&&|>|\||\\$)", line)[0], comments=True)[1:]
        context = None
        while words and hasattr(command, "commands"):
            context = context or command.make_context("rag", [words[0]], resilient_parsing=True)
            name = words[0]
            if name not in command.commands and not (
                default := command.commands.get("run") if command.name == "ingest" else None
            ):
                return "" if name.isupper() or "…" in name or name == "--help" else f"there is no verb {name!r}"
            command, words = (command.commands[name], words[1:]) if name in command.commands else (default, words)
        if not hasattr(command, "commands"):
            command.make_context(command.name, words)
    except Exception as error:  # typer has exceptions of its own
        missing = type(error).__name__ in ("MissingParameter", "NoArgsIsHelpError", "Exit")
        said = str(getattr(error, "message", error))
        return "" if missing or said.endswith("requires an argument.") else said
    return ""


@pytest.mark.system
def test_the_tour_runs(rag: Verb, tour_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tour_folder)
    for line in filter(None, "\n".join(blocks("tour.md", "sh")).splitlines()):
        program, *arguments = shlex.split(line, comments=True)
        assert program == "rag"
        output = rag(*arguments, *(["--no-track"] if "sweep" in arguments else []))
        assert output.code == int("chunker.size=40" in arguments), f"{line}\n{output.out}\n{output.err}"


def test_the_python_page_runs(rag: Verb, tour_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tour_folder)
    assert rag("sweep", "lexical", "--no-track").code == rag("baseline", "lexical").code == 0
    script = "\n".join(blocks("python.md", "python"))
    assert script.count("rag.") > 7
    exec(compile(script, "python.md", "exec"), {})


# Examples to copy


@pytest.mark.system
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    done = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = json.dumps([cell.get("outputs", []) for cell in done.cells])
    assert "<table>" in shown
    assert "<progress" in shown


@pytest.mark.system
def test_the_plugin_passes_the_laws(tmp_path: Path) -> None:
    folder = shutil.copytree(EXAMPLES / "plugin", tmp_path / "plugin")
    (point,) = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"][PLUGINS].values()
    assert (folder / "src" / point / "conf/chunker/paragraphs.yaml").is_file()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    path = f"{folder / 'src'}{os.pathsep}{ROOT}"
    found = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False
    )
    assert found.returncode == 0, found.stdout
    assert "1 passed" in found.stdout


@pytest.mark.parametrize("path", sorted((EXAMPLES / "experiments").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_experiments_run(rag: Verb, here: Path, golden: Path, path: Path) -> None:
    assert "dataset=handbook" in load_experiment(str(path)).fixed
    own = ("dataset=native", f"dataset.path={golden}", "embedder=hashing", "latency=1")
    said = rag("sweep", str(path), "--no-track", "--json", *own)
    assert said.code == 0, said.err
    assert {row["status"] for row in said.json["trials"]} == {"done"}


def test_experiments_of_the_docs_are_valid(tmp_path: Path) -> None:
    (first,) = [text for text in blocks("experiments.md", "yaml") if text.startswith("question")]
    (tmp_path / "shown.yaml").write_text(first, "utf-8")
    assert len(load_experiment(str(tmp_path / "shown.yaml")).trials()) == 4
