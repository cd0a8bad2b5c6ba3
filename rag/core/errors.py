"""Errors that a user can fix: where, what is wrong, and a remedy."""

import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches

DISTRIBUTION = "assay-rag"
"""The name that pip installs Assay by."""
CRASHED = 70
"""Exit code of an error that no user can fix (EX_SOFTWARE); no verdict has it."""

DISTRIBUTIONS = {
    "docx": "python-docx",
    "faiss": "faiss-cpu",
    "httpcore2": "openai",
    "httpx2": "openai",
    "pptx": "python-pptx",
    "python_calamine": "python-calamine",
    "qdrant_client": "qdrant-client",
    "sentence_transformers": "sentence-transformers",
    "stdnum": "python-stdnum",
}
"""Import name → package, where these differ; for a part of another package, that one."""


class UserError(Exception):
    """An error that a user can fix. The command line prints it without a traceback and exits with 2.

    `where` names a config key, a file with its line, or an address; `what` is the problem; `remedy` is the fix.
    """

    def __init__(self, where: str, what: str, remedy: str) -> None:
        super().__init__(where, what, remedy)
        self.where, self.what, self.remedy = where, what, remedy

    def __str__(self) -> str:
        return f"{self.where}: {self.what}\n  → {self.remedy}"


class ConfigError(UserError):
    """A config that cannot be built."""


class DataError(UserError):
    """Documents or questions that do not fit their format."""


class StoreError(UserError):
    """The store cannot be read or written."""


class ServiceError(UserError):
    """A model endpoint or a tracking server cannot be used as configured; `wait` are the seconds that it asks for, if any."""

    wait: float | None = None


class RefusalError(ServiceError):
    """A server refuses one request for good, and may answer others."""

    @classmethod
    def of(cls, failure: str) -> "RefusalError":
        """The error of which a reply's `failure` is the text."""
        problem, _, remedy = failure.partition("\n  → ")
        where, _, what = problem.partition(": ")
        return cls(where if what else "generator", what or problem, remedy or "ask something else")


class ReplayError(ConfigError):
    """Only stored replies are allowed, and one is missing."""


class BudgetError(ConfigError):
    """The budget for models is spent. No component may continue without the model: its output would be stored as a result."""


def install(package: str, extra: str = "") -> str:
    """The command that installs a missing package and the others of its extra, by default the smallest one with it.

    `package` may be an import name. The command names the extra of Assay as it is installed, which pip takes from no index;
    without one, the package.
    """
    import importlib.metadata

    package = DISTRIBUTIONS.get(package, package)
    extras: dict[str, list[str]] = {}
    with suppress(importlib.metadata.PackageNotFoundError):
        for requirement in importlib.metadata.requires(DISTRIBUTION) or ():
            spec, _, marker = requirement.partition(";")
            if match := re.search(r"extra == [\"'](.+?)[\"']", marker):
                extras.setdefault(match[1], []).append(spec.strip())
    name = package.lower().replace("_", "-")
    fitting = [key for key, specs in extras.items() if any(re.split(r"[^\w.-]", spec)[0] == name for spec in specs)]
    found = extra if extra in extras else min(fitting, key=lambda key: len(extras[key]), default="")
    return f"pip install {shlex.quote(f'{DISTRIBUTION}[{found}]' if found else package)}"


class MissingExtraError(UserError):
    """A choice needs packages that are not installed."""

    def __init__(self, where: str, package: str, extra: str = "") -> None:
        package = DISTRIBUTIONS.get(package, package)
        super().__init__(where, f"needs the package {package!r}, which is not installed", install(package, extra))
        named = re.search(rf"{DISTRIBUTION}\[(.+)\]", self.remedy)
        self.package, self.extra = package, named[1] if named else extra

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.where, self.package, self.extra)


def is_installed(name: str) -> bool:
    """Whether a module can be imported; it is not imported."""
    import importlib.util

    return importlib.util.find_spec(name) is not None


def required(where: str, *names: str) -> None:
    """MissingExtraError unless these modules can be imported; none is imported."""
    # A package that was found is not looked for again: a plan asks 6,000 times.
    for name in names:
        if name not in _FOUND and not is_installed(name):
            raise MissingExtraError(where, name)
        _FOUND.add(name)


_FOUND: set[str] = set()


class ProblemsError(UserError):
    """Several problems, reported together."""

    def __init__(self, problems: Iterable[UserError]) -> None:
        self.problems = tuple(problems)
        super().__init__("config", f"{len(self.problems)} problems", "fix each")

    def __reduce__(self) -> tuple[type, tuple[tuple[UserError, ...]]]:
        return type(self), (self.problems,)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def problems_of(error: UserError) -> tuple[UserError, ...]:
    """The problems of an error: itself, or those of a ProblemsError."""
    return error.problems if isinstance(error, ProblemsError) else (error,)


def together(problems: Iterable[UserError]) -> UserError:
    """One or more problems as one error."""
    single = [part for problem in problems for part in problems_of(problem)]
    return single[0] if len(single) == 1 else ProblemsError(single)


def closest(word: str, known: Iterable[str]) -> str:
    """A remedy: the known word closest to `word`, and the list of all."""
    known = sorted(known)
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    listed = ", ".join(known) or "nothing"
    return f"did you mean {near[0]!r}? There is: {listed}" if near else f"there is: {listed}"
