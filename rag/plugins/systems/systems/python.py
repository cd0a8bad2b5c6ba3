"""A Python function of an installed package as a system."""

import importlib
from collections.abc import Sequence
from typing import ClassVar

from rag.config.catalog import PLUGINS, plugins
from rag.config.identity import code_identity
from rag.core.errors import ConfigError
from rag.core.systems import SystemReply, ask_function
from rag.core.types import Query
from rag.plugins.systems.result_rows import reply_of


class PythonSystem:
    """Calls `function`, written `package.module:name`, as `rag.evaluate` does, for each question.

    A config must not run any code, so the package must declare the entry point group `rag.plugins`. The code of its module, and
    of the modules of plug-ins that it imports, is part of the identity, and so is `version`: raise it when an index or a model
    changes.
    """

    costly: ClassVar[bool] = True

    def __init__(self, function: str, version: str = "") -> None:
        module, _, name = function.partition(":")
        if not module or not name.isidentifier():
            raise ConfigError("system.function", f"is {function!r}", "write package.module:name")
        if module.partition(".")[0] not in plugins():
            what = f"names {module!r}, and its package does not declare the entry point group {PLUGINS}"
            raise ConfigError("system.function", what, "declare it in pyproject.toml, or call rag.evaluate in Python")
        self.module, self.name = module, name

    def fingerprint(self) -> str:
        """The identity of the code."""
        return code_identity(self.module, plugins())

    def answer(self, queries: Sequence[Query]) -> list[SystemReply]:
        """One per question; what the function raises at the first one is raised."""
        function = getattr(importlib.import_module(self.module), self.name, None)
        if not callable(function):
            raise ConfigError("system.function", f"{self.module} has no function {self.name!r}", "check the spelling")
        rows = (ask_function(function, query, first=number == 0) for number, query in enumerate(queries))
        return [reply_of(row, f"question {query.query_id}") for row, query in zip(rows, queries, strict=True)]
