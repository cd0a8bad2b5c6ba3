"""What each verb imports: a start is as slow as its imports. Modules are counted, because seconds depend on the machine."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.small_set import write_experiment, write_golden

HEAVY = {"torch", "transformers", "sentence_transformers", "pandas", "matplotlib", "openai", "anthropic", "fastapi", "ragas"}
MODELS = {"onnxruntime", "safetensors", "tokenizers"}
UNUSED = {"mlflow", "sqlalchemy", "alembic", "hydra", "omegaconf", "antlr4", "fsspec", "dask", "faiss", "pypdfium2", "docx"}
STORED = HEAVY | MODELS | UNUSED | {"bm25s", "asyncio"}
"""Packages that no verb may import whose results are all stored."""
PROGRAM = """
import json, sys
sys.argv[0] = "rag"
try:
    from rag.cli import main
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def imported(folder: Path, *arguments: str) -> Counter[str]:
    """The top-level packages that a verb imports in a process of its own, with their numbers of modules."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return Counter(name.partition(".")[0] for name in json.loads(ran.stderr.splitlines()[-1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an experiment that ran, an index for a question, and runs in MLflow."""
    folder = tmp_path_factory.mktemp("start")
    write_golden(folder / "golden")
    write_experiment(folder / "study.yaml", Path("golden"), '  search: ["index=[bm25s] fusion=single"]\n  k: k=1,3')
    imported(folder, "sweep", "study.yaml")
    imported(folder, *ASK)
    return folder


SET = ("dataset=native", "dataset.path=golden")
ASK = ("ask", "When does the ferry leave?", *SET)


@pytest.mark.parametrize(
    ("verb", "absent", "most"),
    [
        pytest.param(("--help",), STORED | {"numpy", "pydantic", "yaml", "filelock", "rich", "distributed"}, 35, id="help"),
        pytest.param(("list",), STORED | {"scipy"}, 60, id="list"),
        pytest.param(("plan", "study.yaml"), STORED, 375, id="plan"),
        pytest.param(("sweep", "study.yaml", "--no-track"), STORED, 375, id="sweep of stored results"),
        pytest.param(("sweep", "study.yaml"), STORED, 375, id="sweep of what MLflow has"),
        pytest.param(ASK, HEAVY | UNUSED - {"faiss"}, 332, id="ask"),
    ],
)
def test_a_verb_imports_what_it_needs(folder: Path, verb: tuple[str, ...], absent: set[str], most: int) -> None:
    modules = imported(folder, *verb)
    assert modules.keys() & absent == set()
    assert modules["rag"] <= most


def test_runs_that_others_changed_are_sent_again(folder: Path) -> None:
    assert "mlflow" not in imported(folder, "sweep", "study.yaml")
    database = folder / ".rag" / "mlflow.db"
    database.touch()
    assert "mlflow" in imported(folder, "sweep", "study.yaml")
    assert "mlflow" not in imported(folder, "sweep", "study.yaml")
    assert "mlflow" in imported(folder, "sweep", "study.yaml", "k=3")
