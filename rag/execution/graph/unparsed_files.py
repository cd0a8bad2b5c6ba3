"""The files that a plan would have to parse; keys of stages hold the digest of all texts, so nothing is planned before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rag.config.build import Components
from rag.config.identity import digest
from rag.core.errors import DataError, UserError
from rag.execution.store.stored_parses import StoredParser


@dataclass(frozen=True)
class Unparsed:
    """Counts of files. `seconds` is an estimate from recorded rates; it leaves out the `unmeasured` files."""

    files: int
    to_parse: int
    seconds: float
    unmeasured: int

    def __str__(self) -> str:
        known = f"about {self.seconds:.0f} seconds" if self.to_parse > self.unmeasured else ""
        unknown = f"{self.unmeasured} of kinds that were never parsed on this store" if self.unmeasured else ""
        return f"{self.to_parse} of {self.files} files are to be parsed: {' and '.join(filter(None, (known, unknown)))}"

    def to_json(self) -> dict[str, Any]:
        """`files` in the output of `rag plan --json`."""
        return {
            "total": self.files,
            "to_parse": self.to_parse,
            "seconds": round(self.seconds, 2),
            "unmeasured": self.unmeasured,
        }


class UnparsedError(DataError):
    """A corpus has files that are not parsed yet, and the caller wants none parsed."""

    def __init__(self, found: Unparsed) -> None:
        super().__init__("corpus", str(found), "run the experiment, which parses them; its stages are known then")
        self.found = found

    def __reduce__(self) -> tuple[type, tuple[Unparsed]]:
        return type(self), (self.found,)


def refuse_unparsed(configs: Iterable[Mapping[str, Any]], components: Components) -> None:
    """Raise UnparsedError if a loader of these configs would have to parse files; they are read and not parsed."""
    loaders = {digest(config["loader"]): config["loader"] for config in configs}
    files = to_parse = unmeasured = 0
    seconds = 0.0
    for node in loaders.values():
        try:
            loader = components.role("loader", node)
            count, waiting = loader.unparsed() if hasattr(loader, "unparsed") else (0, [])
        except UserError:
            continue  # planning reports it, with all other problems
        files += count
        to_parse += len(waiting)
        for parser, size in waiting:
            rate = parser.rate() if isinstance(parser, StoredParser) else None
            seconds += (rate or 0.0) * size / loader.processes
            unmeasured += rate is None
    if to_parse:
        raise UnparsedError(Unparsed(files, to_parse, seconds, unmeasured))
