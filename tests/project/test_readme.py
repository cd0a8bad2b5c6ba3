"""docs/plugins.md is right: a chunker takes one file, one YAML and one test. The README is short, its targets exist."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.small_set import write_golden

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def shown_files() -> dict[str, str]:
    section = (ROOT / "docs/plugins.md").read_text("utf-8").split("## In a checkout", 1)[1].split("\n## ", 1)[0]
    return dict(re.findall(r"`([^`\n]+)`\n\n```\w+\n(.*?)```", section, re.DOTALL))


@pytest.mark.system
def test_a_chunker_is_one_file_one_yaml_and_one_test(tmp_path: Path) -> None:
    for folder in ("rag", "conf", "tests/components/chunkers", "tests/support"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    files = shown_files()
    assert sorted(files) == [
        "conf/chunker/line.yaml",
        "rag/components/chunkers/line.py",
        "tests/components/chunkers/test_chunker_line.py",
    ]
    for name, text in files.items():
        assert not (tmp_path / name).exists()
        (tmp_path / name).write_text(text, "utf-8")
    golden = write_golden(tmp_path / "golden")
    overrides = ["dataset=native", f"dataset.path={golden}", "embedder=hashing", "latency=0", "chunker=line"]
    run = [sys.executable, "-m", "rag", "run", *overrides, "--no-track"]
    trial = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert trial.returncode == 0, trial.stderr
    assert "1 trial," in trial.stdout
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    laws = [sys.executable, "-m", "pytest", *options, "tests/components/chunkers", "-k", "line"]
    passed = subprocess.run(
        laws, cwd=tmp_path, env={"PYTHONPATH": f"{tmp_path}:{tmp_path / 'tests'}"}, capture_output=True, text=True, check=False
    )
    assert passed.returncode == 0, passed.stdout + passed.stderr
    counts = re.search(r"(\d+) passed", passed.stdout)
    assert counts is not None
    assert int(counts[1]) >= 3, "its own test and the laws"


def test_the_readme_is_short_and_its_make_targets_exist() -> None:
    assert len(README.splitlines()) <= 150
    assert len((ROOT / "AGENTS.md").read_text("utf-8").splitlines()) <= 60
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z]+)", README)) <= targets


def test_a_wheel_holds_everything_that_lies_beside_the_code() -> None:
    sources = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    included = ["conf", "experiments", *(f"datasets/{path.name}" for path in (ROOT / "datasets").iterdir())]
    assert sources["force-include"] == {name: f"rag/_shipped/{name}" for name in included}
