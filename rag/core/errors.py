"""Errors that a user can act on: where, what was found, what would do."""

import re
import shlex
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches

CRASHED = 70
"""Exit code of what no user can fix (EX_SOFTWARE): never that of a verdict."""


class UserError(Exception):
    """Something a user can fix. The command line prints it without a traceback and exits with 2.

    `where` names a config key, a file with its line, or an address; `what` says what was found there; `remedy` what would do.
    """

    def __init__(self, where: str, what: str, remedy: str) -> None:
        super().__init__(where, what, remedy)
        self.where, self.what, self.remedy = where, what, remedy

    def __str__(self) -> str:
        return f"{self.where}: {self.what}\n  → {self.remedy}"


class ConfigError(UserError):
    """A config says something that cannot be built."""


class DataError(UserError):
    """Documents or questions are not what their format promises."""


class StoreError(UserError):
    """The store cannot be read or written."""


class ServiceError(UserError):
    """A model endpoint or a tracking server cannot be used as configured."""


class RefusalError(ServiceError):
    """A server refuses one request for good; others it may answer."""

    @classmethod
    def of(cls, failure: str) -> "RefusalError":
        """The error that a reply's `failure` is the text of."""
        said, _, remedy = failure.partition("\n  → ")
        where, _, what = said.partition(": ")
        return cls(where if what else "generator", what or said, remedy or "ask something else")


class ReplayError(ConfigError):
    """Only stored replies may be used, and one is missing."""


class BudgetError(ConfigError):
    """What may be spent on models is spent. Nobody falls back from this: what would be stored then is no result."""


def install(package: str, extra: str = "") -> str:
    """The command that installs a missing package, in the version that fits, and the others of its extra.

    `extra` is the smallest that names the package unless given. Packages are named themselves: no index has the extra.
    """
    import importlib.metadata

    brought: dict[str, list[str]] = {}
    with suppress(importlib.metadata.PackageNotFoundError):
        for requirement in importlib.metadata.requires("assay") or ():
            spec, _, marker = requirement.partition(";")
            if found := re.search(r"extra == [\"'](.+?)[\"']", marker):
                brought.setdefault(found[1], []).append(spec.strip())
    named = package.lower().replace("_", "-")
    fitting = [specs for specs in brought.values() if any(re.split(r"[^\w.-]", spec)[0] == named for spec in specs)]
    specs = brought.get(extra) or min(fitting, key=len, default=[package])
    return f"pip install {shlex.join(specs)}"


class MissingExtraError(UserError):
    """A choice needs packages that are not installed."""

    def __init__(self, where: str, package: str, extra: str) -> None:
        super().__init__(where, f"needs the package {package!r}, which is not installed", install(package, extra))
        self.package, self.extra = package, extra

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        return type(self), (self.where, self.package, self.extra)


class ProblemsError(UserError):
    """Several problems found together, so that one look shows all of them."""

    def __init__(self, problems: Iterable[UserError]) -> None:
        self.problems = tuple(problems)
        super().__init__("config", f"{len(self.problems)} problems", "fix each")

    def __reduce__(self) -> tuple[type, tuple[tuple[UserError, ...]]]:
        return type(self), (self.problems,)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)


def problems_of(error: UserError) -> tuple[UserError, ...]:
    """The problems that an error stands for: itself, if it is one."""
    return error.problems if isinstance(error, ProblemsError) else (error,)


def together(problems: Iterable[UserError]) -> UserError:
    """One or more problems as one error."""
    apart = [part for one in problems for part in problems_of(one)]
    return apart[0] if len(apart) == 1 else ProblemsError(apart)


def closest(word: str, known: Iterable[str]) -> str:
    """Say which known words come closest to `word`, or list them all when none does."""
    known = sorted(known)
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    listed = ", ".join(known) or "nothing"
    return f"did you mean {near[0]!r}? There is: {listed}" if near else f"there is: {listed}"
