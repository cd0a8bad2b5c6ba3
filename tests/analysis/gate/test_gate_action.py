"""The shell steps of the action and its workflow, run locally; actions of others are not run, their inputs are checked.

A program that writes down how it is called stands in for `rag`, but for one test, which calls the real one.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag.api.sweeps import load_experiment

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
JOBS = yaml.safe_load((ROOT / ".github/workflows/eval-gate.yml").read_text("utf-8"))["jobs"]
COPIED = yaml.safe_load((ROOT / "examples/gate.yml").read_text("utf-8"))["jobs"]["gate"]["steps"]
LAYOUT = ROOT / "examples" / "repository"
OWN = yaml.safe_load((LAYOUT / ".github/workflows/gate.yml").read_text("utf-8"))
ACCEPTED = {
    "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683": {"persist-credentials"},
    "actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065": {"python-version"},
    "actions/cache@0057852bfaa89a56745cba8c7296529d2fc39830": {"path", "key", "restore-keys"},
    "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02": {
        *("name", "path", "if-no-files-found", "include-hidden-files", "overwrite")
    },
    "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093": {"name", "path"},
    **{uses: set(ACTION["inputs"]) for uses in ("./", "OWNER/assay@COMMIT")},
}
"""Inputs that each pinned action declares, of those that we give; another pin needs another line here."""
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"] if "run" in step}
PYTHON = f'#!/bin/bash\nexec {sys.executable} {{}} "$@"\n'
FAKE = f"""#!{sys.executable}
import json, os, pathlib, sys

here, arguments = pathlib.Path(os.environ["GH_STATE"]).parent, sys.argv[1:]
(here / "called.json").write_text(json.dumps(arguments))
code, verdict = json.loads((here / "verdict.json").read_text())
name = arguments[arguments.index("--") + 1 if "--" in arguments else 1]
for option, text in (("--junit", "<testsuite/>"), ("--markdown", f"<!-- assay-gate {{name}} -->\\n\\n## {{verdict}}: gate\\n")):
    if option in arguments:
        pathlib.Path(arguments[arguments.index(option) + 1]).write_text(text)
print(json.dumps({{"verdict": verdict}}) if verdict else "")
sys.exit(code)
"""
GH = f"""#!{sys.executable}
import json, os, pathlib, sys

place = pathlib.Path(os.environ["GH_STATE"])
comments = json.loads(place.read_text()) if place.exists() else []
arguments = sys.argv[1:]
with (place.parent / "gh.log").open("a") as log:
    log.write(json.dumps(arguments) + "\\n")
assert arguments[0] == "api", arguments
assert os.environ["GH_TOKEN"] == "t0ken"
if os.environ.get("GH_REFUSES"):
    sys.exit("HTTP 403: Resource not accessible by integration")
if "--header" in arguments:
    url = arguments[-1]
    assert url.startswith("repos/ann/study/contents/reports/baselines/") and url.endswith(".json?ref=ba5e"), url
    before = place.parent / url.rpartition("/")[2].partition("?")[0]
    if not before.exists():
        print('{{"message": "Not Found"}}')
        sys.exit("gh: Not Found (HTTP 404)")
    print(before.read_text(), end="")
    sys.exit()
if "--method" not in arguments:
    assert arguments[1:3] == ["--paginate", "--slurp"], arguments
    print(json.dumps([comments[:2], comments[2:]]))
    sys.exit()
method, url = arguments[arguments.index("--method") + 1], arguments[arguments.index("--method") + 2]
field = arguments[arguments.index("--field") + 1]
assert field.startswith("body=@"), field
body = pathlib.Path(field.removeprefix("body=@")).read_text()
if method == "POST":
    assert url == "repos/ann/study/issues/7/comments", url
    comments.append({{"id": 100 + len(comments), "user": {{"type": "Bot"}}, "body": body}})
else:
    (mine,) = [comment for comment in comments if url == f"repos/ann/study/issues/comments/{{comment['id']}}"]
    mine["body"] = body.replace("\\n", "\\r\\n")
place.write_text(json.dumps(comments))
"""


class Job:
    """A checkout of a pull request, in which shell steps run as on a runner: their expressions are names in `contexts`."""

    def __init__(self, folder: Path, program: str = PYTHON.format("-m rag")) -> None:
        self.folder, self.here, self.state = folder, folder / "here", folder / "comments.json"
        self.assay, self.programs, self.refuses = folder / "assay", folder / "bin", ""
        for path, text in (
            (self.assay / ".venv/bin/rag", program),
            (self.assay / ".venv/bin/python", PYTHON.format("")),
            (self.programs / "gh", GH),
            (self.programs / "make", f'#!/bin/bash\necho "$@" >> {folder}/make.log\n'),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            path.chmod(0o755)
        self.here.mkdir(exist_ok=True)
        event = {"pull_request": {"number": 7, "base": {"sha": "ba5e"}}}
        github = {"action_path": str(self.assay), "repository": "ann/study", "token": "t0ken", "event": event}
        self.contexts: dict[str, Any] = {"github": github, "steps": {}}

    def filled(self, text: str) -> str:
        """A text with the values of its expressions; one that no context has is empty."""

        def value(match: re.Match[str]) -> str:
            found: Any = self.contexts
            for part in match[1].removesuffix("|| ''").strip().split("."):
                found = found.get(part, {})
            return str(found or "")

        return re.sub(r"\$\{\{(.+?)\}\}", value, text)

    def script(self, step: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run the script of a step; its outputs go into the context `steps`."""
        output, script = self.folder / "output", self.folder / "step.sh"
        output.write_text("", "utf-8")
        script.write_text(step["run"], "utf-8")
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.folder / "summary"), "HOME": str(self.folder)}
        state = {"GH_STATE": str(self.state), "GH_REFUSES": self.refuses, "PYTHONPATH": str(ROOT)}
        path = {"PATH": f"{self.programs}:{os.environ['PATH']}"}
        environment = {**path, **state, **files, **{name: self.filled(value) for name, value in step.get("env", {}).items()}}
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(command, cwd=self.here, env=environment, capture_output=True, text=True, timeout=120, check=False)
        told = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
        self.contexts["steps"][step.get("id", "")] = {"outputs": told}
        return done

    def run(self, code: int, verdict: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the steps of the action, with this outcome of the stand-in, and the comment; the result of the last step."""
        (self.folder / "verdict.json").write_text(json.dumps([code, verdict]), "utf-8")
        given = {name: given["default"] for name, given in ACTION["inputs"].items()} | inputs | {"token": "t0ken"}
        self.contexts |= {"inputs": given, "matrix": {"experiment": inputs["experiment"]}}
        done = {}
        for name in ("Install", "Previous", "Gate", "Verdict"):
            done[name] = self.script(STEPS[name])
            assert done[name].returncode == 0 or name == "Verdict", done[name].stderr
        self.fetched, self.outputs = done["Previous"].stdout, self.contexts["steps"]["gate"]["outputs"]
        commented = self.script(JOBS["comment"]["steps"][-1])
        assert commented.returncode == 0, commented.stderr
        self.commented = commented.stdout
        return done["Verdict"]

    @property
    def called(self) -> list[str]:
        """How the stand-in was called."""
        return json.loads((self.folder / "called.json").read_text("utf-8"))

    @property
    def comments(self) -> list[dict[str, Any]]:
        return json.loads(self.state.read_text("utf-8")) if self.state.exists() else []

    @property
    def methods(self) -> list[str]:
        calls = [json.loads(line) for line in (self.folder / "gh.log").read_text("utf-8").splitlines()]
        asked = [call for call in calls if "--header" not in call]
        return [call[call.index("--method") + 1] if "--method" in call else "GET" for call in asked]


@pytest.mark.parametrize(("asked", "made"), [("core", "core"), ("install", "install"), ("clean; false", "core")])
def test_an_environment_is_the_core_or_all(tmp_path: Path, asked: str, made: str) -> None:
    job = Job(tmp_path)
    job.contexts["inputs"] = {"environment": asked}
    assert job.script(STEPS["Install"]).returncode == 0
    assert (tmp_path / "make.log").read_text("utf-8") == f"--directory {tmp_path / 'assay'} {made}\n"


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """An empty checkout, in which the stand-in is called."""
    return Job(tmp_path, program=FAKE)


OPTIONS = ["gate", "--json", "--junit", ".rag/gate/junit.xml", "--markdown", ".rag/gate/comment.md"]


def test_one_comment_is_created_and_then_updated(job: Job) -> None:
    job.state.write_text(
        json.dumps([{"id": n, "user": {"type": "User"}, "body": "<!-- assay-gate study -->\nMe!"} for n in (1, 2)])
    )
    (job.folder / "study.json").write_text("{}", "utf-8")
    first = job.run(1, "FAIL", experiment="study", overrides="chunker.size=40   index.bm25s.k1=1.1\n")
    assert (first.returncode, job.outputs) == (1, {"code": "1", "verdict": "FAIL"})
    assert job.called == [
        *OPTIONS,
        "--previous=.rag/previous/study.json",
        "--",
        "study",
        "chunker.size=40",
        "index.bm25s.k1=1.1",
    ]
    assert (job.here / ".rag/previous/study.json").read_text("utf-8") == "{}"
    second = job.run(0, "PASS", experiment="study")
    assert (second.returncode, job.outputs, job.called[-1]) == (0, {"code": "0", "verdict": "PASS"}, "study")
    assert [comment["id"] for comment in job.comments] == [1, 2, 102]
    assert "## PASS: gate" in job.comments[2]["body"]
    assert job.methods == ["GET", "POST", "GET", "PATCH"]
    assert "## FAIL" in (job.folder / "summary").read_text("utf-8")


def test_what_is_refused_or_open_fails_nothing(job: Job) -> None:
    job.refuses = "1"
    assert job.run(0, "PASS", experiment="study").returncode == 0
    assert job.commented.startswith("::warning::")
    assert job.fetched.startswith("::warning::The baseline of the base branch cannot be read")
    assert job.called == [*OPTIONS, "--", "study"]
    job.refuses = ""
    warned = job.run(3, "INCONCLUSIVE", experiment="few", inconclusive="pass")
    assert (warned.returncode, "::warning::" in warned.stdout, job.called[6]) == (0, True, "--inconclusive=pass")


def test_inputs_are_text_to_the_shell(job: Job) -> None:
    hostile = "k=$(touch${IFS}pwned) `touch${IFS}pwned` ;touch pwned *"
    done = job.run(2, "", experiment="study", overrides=hostile)
    assert (done.returncode, job.called[-5:]) == (2, hostile.split())
    assert job.run(2, "", experiment="--help").returncode == 2
    assert job.called[-2:] == ["--", "--help"]
    assert not list(job.folder.rglob("pwned"))


def test_the_workflow_to_copy_gates(job: Job) -> None:
    (gate,) = [step | {"env": {"EXPERIMENT": "study"}} for step in COPIED if step.get("name") == "Gate"]
    shutil.copy(job.assay / ".venv/bin/rag", job.programs / "rag")
    codes = {}
    for code, verdict in ((0, "PASS"), (1, "FAIL"), (3, "INCONCLUSIVE")):
        (job.folder / "verdict.json").write_text(json.dumps([code, verdict]), "utf-8")
        codes[verdict] = job.script(gate).returncode
        assert f"## {verdict}" in (job.folder / "summary").read_text("utf-8")
    assert codes == {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 0}


def test_the_steps_gate_with_the_real_command_and_the_baselines_that_are_found(swept: Path, tmp_path: Path) -> None:
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    job = Job(tmp_path)
    (job.here / "experiments").mkdir()
    shutil.move(job.here / "study.yaml", job.here / "experiments")
    (job.here / "reports/baselines/no plain name.json").touch()
    assert job.script(JOBS["baselines"]["steps"][-1]).returncode == 0
    assert job.filled(JOBS["baselines"]["outputs"]["names"]) == '["study"]'
    assert job.run(0, "", experiment="study").returncode == 0
    assert job.outputs == {"code": "0", "verdict": "PASS"}
    assert ["## PASS: gate of" in comment["body"] for comment in job.comments] == [True]


def test_the_cache_is_keyed_by_the_locks(job: Job) -> None:
    for file in ROOT.glob("requirements*.lock"):
        shutil.copy(file, job.assay)
    assert job.script(STEPS["Locks"]).returncode == 0
    locks = b"".join(file.read_bytes() for file in sorted(ROOT.glob("requirements*.lock")))
    outputs = job.contexts["steps"]["locks"]["outputs"]
    assert (outputs["hash"], Path(outputs["folder"]).is_absolute()) == (hashlib.sha256(locks).hexdigest(), True)


def test_actions_of_others_are_pinned_and_get_inputs_that_they_have() -> None:
    jobs = [*JOBS.values(), *OWN["jobs"].values()]
    steps = [*ACTION["runs"]["steps"], *COPIED, *(step for job in jobs for step in job["steps"])]
    for step in (step for step in steps if "uses" in step):
        assert set(step.get("with", {})) <= ACCEPTED[step["uses"]], step
    (upload,) = (step["with"] for step in steps if "upload-artifact" in step.get("uses", ""))
    assert upload["include-hidden-files"], "what the gate leaves is in a hidden folder"


def test_the_files_of_a_repository_with_a_gate_fit_together() -> None:
    assert (OWN[True], OWN["permissions"], list(OWN["jobs"]["gate"])[2:]) == ("pull_request", {"contents": "read"}, ["steps"])
    experiment = load_experiment(str(LAYOUT / f"experiments/{OWN['jobs']['gate']['steps'][-1]['with']['experiment']}.yaml"))
    named = re.findall(r"^    (\S+)", (LAYOUT / "README.md").read_text("utf-8"), re.MULTILINE)
    made = {"set/documents/", "set/questions.jsonl", f"reports/baselines/{experiment.name}.json"}
    assert set(named) == made | {path.relative_to(LAYOUT).as_posix() for path in LAYOUT.rglob("*.y*ml")}
    assert ("dataset.path=set" in experiment.fixed, set(experiment.gate["metrics"])) == (True, {"recall@5"})
