"""GitHub's runner without a container: contexts, expressions, `run` steps, composite actions, and rules for inputs of actions.

Paths are resolved by GitHub's own `@actions/glob`, from npm. Actions of others do not run; their inputs are checked as they do.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

GLOB = "@actions/glob@0.5.0"
"""The version in actions/setup-python 5.6 and actions/upload-artifact 4.6."""
FIND = """
const [patterns, workspace, implicit] = JSON.parse(process.argv[1]);
const glob = require("@actions/glob");
(async () => {
  const options = {implicitDescendants: implicit};
  const found = await (await glob.create(patterns, options)).glob();
  const hash = await glob.hashFiles(patterns, workspace, options);
  require("fs").writeFileSync(3, JSON.stringify({found, hash}));
})().catch(error => { console.error(error.message); process.exit(1); });
"""
ACCEPTED = {
    # actions/checkout 4.2.2
    "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683": {"ref", "persist-credentials", "fetch-depth"},
    # actions/setup-python 5.6.0
    "actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065": {
        *("python-version", "python-version-file", "cache", "architecture", "check-latest", "token", "cache-dependency-path"),
        *("update-environment", "allow-prereleases", "freethreaded"),
    },
    # actions/cache 4.3.0
    "actions/cache@0057852bfaa89a56745cba8c7296529d2fc39830": {
        *("path", "key", "restore-keys", "upload-chunk-size", "enableCrossOsArchive", "fail-on-cache-miss", "lookup-only"),
        "save-always",
    },
    # actions/upload-artifact 4.6.2
    "actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02": {
        *("name", "path", "if-no-files-found", "retention-days", "compression-level", "overwrite", "include-hidden-files"),
    },
    # actions/download-artifact 4.3.0
    "actions/download-artifact@d3f86a106a0bac45b974a628896c90dbdf5c8093": {
        *("name", "artifact-ids", "path", "pattern", "merge-multiple", "github-token", "repository", "run-id"),
    },
}
"""The inputs that each pinned action declares; another pin needs another line here."""
TOKEN = re.compile(r"\s*(&&|\|\||==|!=|[!(),]|'(?:[^']|'')*'|[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*|$)")
ROOTS = {"github", "inputs", "steps", "runner", "matrix", "needs"}


def install_glob(folder: Path) -> Path:
    """Install GitHub's glob from npm into a folder; RuntimeError without npm, since these tests must not be left out."""
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix", str(folder), GLOB]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except OSError as error:
        raise RuntimeError(f"the tests of the action need npm: {error}") from error
    if done.returncode:
        raise RuntimeError(f"npm cannot install {GLOB}, which the tests of the action need: {done.stderr[-1000:]}")
    return folder / "node_modules"


@dataclass
class Glob:
    """GitHub's glob in a workspace."""

    modules: Path
    workspace: Path

    def find(self, patterns: str, implicit: bool = True) -> tuple[list[Path], str]:
        """The files that match, and their hash, empty without a file in the workspace; ValueError for a pattern it refuses."""
        environment = os.environ | {"NODE_PATH": str(self.modules), "GITHUB_WORKSPACE": str(self.workspace)}
        read, write = os.pipe()
        with os.fdopen(read, encoding="utf-8") as said:
            arguments = json.dumps([patterns, str(self.workspace), implicit])
            # To descriptor 3: standard output has the log of the glob.
            command = ["bash", "-c", f'exec 3>&{write}; exec node -e "$0" "$1"', FIND, arguments]
            done = subprocess.run(
                command, cwd=self.workspace, env=environment, pass_fds=[write], capture_output=True, text=True, check=False
            )
            os.close(write)
            if done.returncode:
                raise ValueError(done.stderr)
            told = json.load(said)
        return [Path(path) for path in told["found"]], told["hash"]


@dataclass(frozen=True)
class Step:
    """How a step ended: `success`, `failure` or `skipped`; what it printed, and the inputs of an action."""

    name: str
    outcome: str
    output: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Runner:
    """Runs steps in a workspace; `path` is the search path of programs, `contexts` are values by context.

    `folder` holds what a runner keeps: scripts, the summary, artifacts. `failed` tells whether a step failed.
    """

    folder: Path
    workspace: Path
    path: str
    contexts: dict[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    glob: Glob | None = None
    failed: bool = False

    def job(self, steps: list[dict[str, Any]], **contexts: Any) -> list[Step]:
        """Run steps in their order, each if its condition holds; steps of composite actions come before them."""
        self.contexts = {**self.contexts, **contexts, "steps": {}}
        done: list[Step] = []
        for step in steps:
            done += self.step(step)
            self.failed |= done[-1].outcome == "failure" and not step.get("continue-on-error")
        return done

    def step(self, step: dict[str, Any]) -> list[Step]:
        """Run one step if its condition holds; the steps of a composite action come before it."""
        name = step.get("name") or step["uses"].split("@")[0]
        condition = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", str(step.get("if", "success()")).strip())
        asks = re.search(r"\b(success|failure|cancelled|always)\(", condition)
        if (self.failed and not asks) or not self.value(condition):
            return [Step(name, "skipped")]
        if "run" in step:
            done = self.script(step)
            return [Step(name, "failure" if done.returncode else "success", done.stdout + done.stderr)]
        given = {key: self.filled(value) for key, value in step.get("with", {}).items()}
        if step["uses"] == "./":
            return self.composite(name, self.workspace, f"{self.workspace}/./", given)
        try:
            return [Step(name, "success", self.used(step["uses"], given), given)]
        except ValueError as error:
            return [Step(name, "failure", str(error), given)]

    def script(self, step: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run the script of a step with its `env`; its outputs go into the context `steps`."""
        output, script = self.folder / "output", self.folder / "step.sh"
        output.write_text("", "utf-8")
        script.write_text(step["run"], "utf-8")
        assert step["shell"] == "bash"
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(self.folder / "summary")}
        own = {"PATH": self.path, "HOME": str(self.folder), "GITHUB_WORKSPACE": str(self.workspace)}
        given = {key: self.filled(value) for key, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={**own, **self.environment, **files, **given},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        told = dict(line.split("=", 1) for line in output.read_text("utf-8").splitlines())
        self.contexts.setdefault("steps", {})[step.get("id", "")] = {"outputs": told}
        return done

    def composite(self, name: str, place: Path, action_path: str, given: Mapping[str, str]) -> list[Step]:
        """Run a composite action with its files at `place`, under the path `action_path`; its last step tells its outputs."""
        action = yaml.safe_load((place / "action.yml").read_text("utf-8"))
        assert action["runs"]["using"] == "composite"
        assert given.keys() <= action["inputs"].keys()
        inputs = {each: given.get(each) or self.filled(what["default"]) for each, what in action["inputs"].items()}
        inner = replace(self, contexts={**self.contexts, "github": {**self.contexts["github"], "action_path": action_path}})
        done = inner.job(action["runs"]["steps"], inputs=inputs)
        outputs = {each: inner.filled(what["value"]) for each, what in action["outputs"].items()}
        return [*done, Step(name, "failure" if inner.failed else "success", json.dumps(outputs), given)]

    def used(self, action: str, given: Mapping[str, str]) -> str:
        """Check the inputs of an action as it does, and move artifacts; ValueError where it would fail."""
        if unknown := given.keys() - ACCEPTED[action]:
            raise ValueError(f"Unexpected input(s) {sorted(unknown)}")
        short = action.split("@")[0].removeprefix("actions/")
        if short == "setup-python" and "cache" in given:
            files = given.get("cache-dependency-path", "**/requirements.txt\n**/pyproject.toml")
            if not self._found(files)[1]:
                raise ValueError(f"No file in {self.workspace} matched to [{files}]")
        if short == "cache":
            if not given["path"].strip() or not given["key"]:
                raise ValueError("Input required and not supplied: path, key")
            for key in (given["key"], *given.get("restore-keys", "").split()):
                if len(key) > 512 or "," in key:
                    raise ValueError(f"Key Validation Error: {key}")
            self._found(given["path"], implicit=False)
        if "artifact" in short and re.search(r'["\\:<>|*?\r\n/]', given["name"]):
            raise ValueError(f"The artifact name is not valid: {given['name']}")
        return getattr(self, f"_{short.replace('-', '_')}", lambda given: "")(given)

    def _upload_artifact(self, given: Mapping[str, str]) -> str:
        found = [path for path in self._found(given["path"])[0] if path.is_file()]
        if given.get("include-hidden-files") != "true":
            found = [path for path in found if "/." not in str(path.relative_to(self.workspace.parent))]
        if not found and given.get("if-no-files-found") == "error":
            raise ValueError("No files were found")
        place = self.folder / "artifacts" / given["name"]
        if found and place.exists() and given.get("overwrite") != "true":
            raise ValueError("an artifact with this name already exists on the workflow run")
        # As the action: without the folders that all files share.
        for path in found:
            target = place / path.relative_to(os.path.commonpath([each.parent for each in found]))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        return "\n".join(path.name for path in found)

    def _download_artifact(self, given: Mapping[str, str]) -> str:
        place = self.folder / "artifacts" / given["name"]
        if not place.exists():
            raise ValueError(f"Unable to download artifact(s): Artifact not found for name: {given['name']}")
        shutil.copytree(place, self.workspace / given.get("path", "."), dirs_exist_ok=True)
        return given["name"]

    def _found(self, patterns: str, implicit: bool = True) -> tuple[list[Path], str]:
        assert self.glob, "actions that take paths need the glob"
        return self.glob.find(patterns, implicit)

    def filled(self, text: object) -> str:
        """A text of a workflow with its expressions evaluated."""
        plain = str(text).lower() if isinstance(text, bool) else str(text)
        return re.sub(r"\$\{\{(.+?)\}\}", lambda match: _shown(self.value(match[1])), plain)

    def value(self, expression: str) -> Any:
        """The value of an expression; AssertionError for what no context or function of ours has."""
        tokens = [match[1] for match in TOKEN.finditer(expression.strip())]
        assert "".join(tokens) == re.sub(r"\s+(?=(?:[^']*'[^']*')*[^']*$)", "", expression), expression
        value, rest = self._either([token for token in tokens if token])
        assert not rest, expression
        return value

    def _either(self, tokens: list[str]) -> tuple[Any, list[str]]:
        return self._chained(tokens, ("||",), self._both)

    def _both(self, tokens: list[str]) -> tuple[Any, list[str]]:
        return self._chained(tokens, ("&&",), self._compared)

    def _compared(self, tokens: list[str]) -> tuple[Any, list[str]]:
        return self._chained(tokens, ("==", "!="), self._single)

    def _chained(self, tokens: list[str], operators: tuple[str, ...], part: Any) -> tuple[Any, list[str]]:
        left, tokens = part(tokens)
        while tokens and tokens[0] in operators:
            operator = tokens[0]
            right, tokens = part(tokens[1:])
            same = _shown(left) == _shown(right)
            left = {"||": left or right, "&&": left and right, "==": same, "!=": not same}[operator]
        return left, tokens

    def _single(self, tokens: list[str]) -> tuple[Any, list[str]]:
        first, rest = tokens[0], tokens[1:]
        if first == "!":
            value, rest = self._single(rest)
            return not value, rest
        if first == "(":
            value, rest = self._either(rest)
            assert rest[0] == ")"
            return value, rest[1:]
        if first.startswith("'"):
            return first[1:-1].replace("''", "'"), rest
        if rest[:1] == ["("]:
            arguments: list[Any] = []
            rest = rest[1:]
            while rest[0] != ")":
                value, rest = self._either(rest[1:] if rest[0] == "," else rest)
                arguments.append(value)
            return self._called(first, arguments), rest[1:]
        return self._looked_up(first), rest

    def _called(self, name: str, arguments: list[Any]) -> Any:
        if name == "hashFiles":
            return self._found("\n".join(arguments))[1]
        if name == "fromJson":
            return json.loads(*arguments)
        return {"success": not self.failed, "failure": self.failed, "cancelled": False, "always": True}[name]

    def _looked_up(self, name: str) -> Any:
        if name in ("true", "false", "null"):
            return json.loads(name)
        root, *rest = name.split(".")
        assert root in ROOTS, f"{name} is in no context"
        value = self.contexts.get(root, {})
        for part in rest:
            # A property that is not there is null, as on GitHub.
            value = value.get(part) if isinstance(value, dict) else None
        return value


def _shown(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
