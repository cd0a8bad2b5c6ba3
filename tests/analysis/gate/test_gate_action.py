"""The shell steps of the action and its workflow, run locally.

A program that writes down how it is called stands in for `rag`, but for one workflow, which is run with the real one.
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
from support.github_runner import ACCEPTED, Glob, Runner, Step, install_glob

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/eval-gate.yml").read_text("utf-8"))
COMMENT = WORKFLOW["jobs"]["comment"]
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
    """A checkout, and the runner that carries out the steps of the action and of its workflow there."""

    def __init__(self, folder: Path, modules: Path | None = None, program: str = PYTHON.format("-m rag")) -> None:
        self.folder, self.here, self.state = folder, folder / "here", folder / "comments.json"
        self.assay, self.programs = folder / "assay", folder / "bin"
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
        self.modules, self.refuses, self.fetched = modules, "", ""
        self.outputs: dict[str, str] = {}

    def runner(self, **contexts: Any) -> Runner:
        """A runner in the checkout, for a pull request; `contexts` are added to those of the event."""
        github = {
            "action_path": str(self.assay),
            "repository": "ann/study",
            "sha": "5ha",
            "token": "t0ken",
            "event_name": "pull_request",
            "event": {"pull_request": {"number": 7, "base": {"sha": "ba5e"}}},
        }
        state = {"GH_STATE": str(self.state), "GH_REFUSES": self.refuses, "PYTHONPATH": str(ROOT)}
        known = {"github": github, "runner": {"os": "Linux", "arch": "X64"}, **contexts}
        glob = Glob(self.modules, self.here) if self.modules else None
        return Runner(self.folder, self.here, f"{self.programs}:{os.environ['PATH']}", known, state, glob)

    def run(self, code: int, verdict: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run the steps of the action, with this outcome of `rag gate`, and the comment; the result of the last step."""
        (self.folder / "verdict.json").write_text(json.dumps([code, verdict]), "utf-8")
        given = {name: given["default"] for name, given in ACTION["inputs"].items()} | inputs | {"token": "t0ken"}
        runner = self.runner(inputs=given, matrix={"experiment": inputs["experiment"]})
        done = {}
        for name in ("Install", "Previous", "Gate", "Verdict"):
            done[name] = runner.script(STEPS[name])
            assert done[name].returncode == 0 or name == "Verdict", done[name].stderr
        self.fetched, self.outputs = done["Previous"].stdout, runner.contexts["steps"]["gate"]["outputs"]
        commented = runner.script(COMMENT["steps"][-1])
        assert commented.returncode == 0, commented.stderr
        self.commented, self.called = commented.stdout, json.loads((self.folder / "called.json").read_text("utf-8"))
        return done["Verdict"]

    @property
    def comments(self) -> list[dict[str, Any]]:
        return json.loads(self.state.read_text("utf-8")) if self.state.exists() else []

    @property
    def methods(self) -> list[str]:
        calls = [json.loads(line) for line in (self.folder / "gh.log").read_text("utf-8").splitlines()]
        asked = [call for call in calls if "--header" not in call]
        return [call[call.index("--method") + 1] if "--method" in call else "GET" for call in asked]


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
    steps = yaml.safe_load((ROOT / "examples/gate.yml").read_text("utf-8"))["jobs"]["gate"]["steps"]
    assert {step["uses"] for step in steps if "uses" in step} <= ACCEPTED.keys()
    (gate,) = [step | {"env": {"EXPERIMENT": "study"}} for step in steps if step.get("name") == "Gate"]
    shutil.copy(job.assay / ".venv/bin/rag", job.programs / "rag")
    codes = {}
    for code, verdict in ((0, "PASS"), (1, "FAIL"), (3, "INCONCLUSIVE")):
        (job.folder / "verdict.json").write_text(json.dumps([code, verdict]), "utf-8")
        codes[verdict] = job.runner().script(gate).returncode
        assert f"## {verdict}" in (job.folder / "summary").read_text("utf-8")
    assert codes == {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 0}


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_glob(tmp_path_factory.mktemp("npm"))


WAYS = {"its own repository": "{here}/./", "another repository": "{folder}/_actions/assay/assay/v1"}


def installed(copy: Job, way: str) -> str:
    """Install Assay in a checkout or beside it; the path of the action as a runner gives it."""
    (copy.programs / "make").unlink()  # that of the system finds nothing to do
    path = WAYS[way].format(here=copy.here, folder=copy.folder)
    Path(path).mkdir(parents=True, exist_ok=True)
    for pattern in ("Makefile", "pyproject.toml", "requirements*.lock", "action.yml"):
        for file in ROOT.glob(pattern):
            shutil.copy(file, path)
    shutil.move(copy.assay / ".venv", path)
    (Path(path) / ".venv/installed").touch()
    return path


def outcomes(steps: list[Step]) -> dict[str, str]:
    """The steps that did not succeed, with what they said."""
    return {step.name: f"{step.outcome}: {step.output}" for step in steps if step.outcome != "success"}


def test_every_step_of_the_action_runs_in_another_repository(tmp_path: Path, modules: Path) -> None:
    job = Job(tmp_path, modules, FAKE)
    path = installed(job, "another repository")
    (tmp_path / "verdict.json").write_text('[0, "PASS"]', "utf-8")
    done = job.runner().composite("Assay", Path(path), path, {"experiment": "study"})
    assert outcomes(done) == {}
    assert len(done) == len(ACTION["runs"]["steps"]) + 1
    assert json.loads(done[-1].output) == {"verdict": "PASS"}
    pip = next(step.inputs for step in done if "pip" in step.inputs.get("key", ""))
    locks = b"".join(file.read_bytes() for file in sorted(ROOT.glob("requirements*.lock")))
    assert pip["key"] == f"assay-pip-Linux-X64-{hashlib.sha256(locks).hexdigest()}"
    assert Path(pip["path"]).is_absolute()


def test_the_workflow_of_a_pull_request_runs_job_by_job(swept: Path, tmp_path: Path, modules: Path) -> None:
    shutil.copytree(swept, tmp_path, dirs_exist_ok=True)
    here = Job(tmp_path, modules)
    (here.here / "experiments").mkdir()
    shutil.move(here.here / "study.yaml", here.here / "experiments")
    path = installed(here, "its own repository")
    jobs, needs = WORKFLOW["jobs"], {"baselines": {"result": "success", "outputs": {"names": '["study"]'}}}
    runner = here.runner(matrix={"experiment": "study"}, needs=needs, inputs={"experiment": "study"})
    assert outcomes(runner.job(jobs["baselines"]["steps"])) == {}
    assert runner.filled(jobs["baselines"]["outputs"]["names"]) == '["study"]'
    assert runner.value(jobs["comment"]["if"].strip("${} "))
    assert outcomes(runner.job(jobs["gate"]["steps"])) == {}
    assert sorted(file.name for file in (tmp_path / "artifacts/gate-study").iterdir()) == [
        "comment.md",
        "gate.json",
        "junit.xml",
    ]
    shutil.rmtree(here.here / ".rag/gate")
    assert outcomes(runner.job(jobs["comment"]["steps"])) == {}
    assert ["## PASS: gate of" in comment["body"] for comment in here.comments] == [True]

    (Path(path) / "Makefile").unlink()
    shutil.rmtree(tmp_path / "artifacts")
    shutil.rmtree(here.here / ".rag/gate")
    broken, commented = here.runner(**runner.contexts), here.runner(**runner.contexts)
    found = {name: said.split(":")[0] for name, said in outcomes(broken.job(jobs["gate"]["steps"])).items()}
    assert found == {"Install": "failure", "Previous": "skipped", "Gate": "skipped", "Verdict": "failure", "./": "failure"}
    assert list(outcomes(commented.job(jobs["comment"]["steps"]))) == ["actions/download-artifact"]
    assert not commented.failed


@pytest.mark.parametrize(("way", "said"), [("its own repository", "Relative pathing"), ("another repository", "No file in")])
def test_the_runner_refuses_what_setup_python_refuses(tmp_path: Path, modules: Path, way: str, said: str) -> None:
    bare = Job(tmp_path, modules)
    path = WAYS[way].format(here=bare.here, folder=tmp_path)
    Path(path).mkdir(parents=True, exist_ok=True)
    (Path(path) / "requirements.lock").touch()
    action = next(step["uses"] for step in ACTION["runs"]["steps"] if "setup-python" in step.get("uses", ""))
    with pytest.raises(ValueError, match=said):
        bare.runner().used(action, {"cache": "pip", "cache-dependency-path": f"{path}/requirements*.lock"})


FIND = next(step for step in WORKFLOW["jobs"]["baselines"]["steps"] if "run" in step)


def names(job: Job, experiment: str) -> list[str]:
    runner = job.runner(inputs={"experiment": experiment})
    done = runner.script(FIND)
    assert done.returncode == 0, done.stderr
    found = runner.contexts["steps"]["find"]["outputs"]["names"]
    assert ("::notice::" in done.stdout) == (found == "[]")
    return json.loads(found)


def test_the_workflow_finds_every_baseline_or_the_requested_one(job: Job) -> None:
    assert names(job, "") == []
    (job.here / "reports/baselines").mkdir(parents=True)
    for name in ("few", "study", 'o"dd $(touch pwned)'):
        (job.here / f"reports/baselines/{name}.json").write_text("{}", "utf-8")
    assert names(job, "") == ["few", "study"]
    assert names(job, "study") == ["study"]
    assert names(job, "$(touch pwned)") == names(job, "../golden") == []
    assert not list(job.folder.rglob("pwned"))


def test_a_fork_cannot_write_and_the_job_that_writes_runs_nothing_of_a_pull_request() -> None:
    on, jobs = WORKFLOW[True], WORKFLOW["jobs"]  # YAML 1.1 reads the key `on` so
    assert on.keys() == {"pull_request", "push", "workflow_dispatch"}, "pull_request_target would give a fork secrets"
    assert on["push"] == {"branches": ["main"]}
    assert "secrets." not in json.dumps([ACTION, jobs])
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert {name: job["permissions"] for name, job in jobs.items() if "permissions" in job} == {
        "comment": {"pull-requests": "write"}
    }
    assert [step["uses"].split("@")[0] for step in COMMENT["steps"] if "uses" in step] == ["actions/download-artifact"]
    assert not re.search(r"\.venv|make|checkout", " ".join(step.get("run", "") for step in COMMENT["steps"]))


def test_the_parts_fit_together() -> None:
    steps = [*ACTION["runs"]["steps"], *(step for job in WORKFLOW["jobs"].values() for step in job["steps"])]
    scripts = [step["run"] for step in steps if "run" in step]
    assert len(scripts) == 7
    assert not any("${{" in script for script in scripts), "an expression in a script is code"
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    used = [(step["uses"].split("@")[0], step["with"]) for step in ACTION["runs"]["steps"] if "uses" in step]
    assert [given["path"] for action, given in used if action == "actions/cache"][1] == ".rag/store"
    kept = dict(used)["actions/upload-artifact"]
    assert kept["name"].removesuffix("${{ inputs.experiment }}") == "gate-"
    assert {".rag/gate/comment.md", ".rag/gate/junit.xml"} <= set(kept["path"].split())
    (call,) = [step for step in WORKFLOW["jobs"]["gate"]["steps"] if step.get("uses") == "./"]
    assert call["with"].keys() <= ACTION["inputs"].keys()
    assert WORKFLOW["jobs"]["gate"]["needs"] == "baselines"
    assert WORKFLOW["jobs"]["baselines"]["outputs"] == {"names": "${{ steps.find.outputs.names }}"}
    assert FIND["id"] == "find"


def test_a_comment_with_another_marker_is_not_posted(job: Job) -> None:
    (job.here / ".rag/gate").mkdir(parents=True)
    (job.here / ".rag/gate/comment.md").write_text("<!-- another-bot -->\nMine now\n", "utf-8")
    done = job.runner(matrix={"experiment": "study"}).script(COMMENT["steps"][-1])
    assert ("::warning::" in done.stdout, job.comments) == (True, [])


@pytest.mark.parametrize("path", ["action.yml", *(f".github/workflows/{name}.yml" for name in ("ci", "eval-gate"))])
def test_actions_are_pinned_by_commit_and_keep_no_token(path: str) -> None:
    content = yaml.safe_load((ROOT / path).read_text("utf-8"))
    jobs = content["jobs"].values() if "jobs" in content else [content["runs"]]
    used = [step for job in jobs for step in job["steps"] if step.get("uses", "./") != "./"]
    assert used
    for step in used:
        assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"])
        assert "checkout" not in step["uses"] or step["with"]["persist-credentials"] is False
