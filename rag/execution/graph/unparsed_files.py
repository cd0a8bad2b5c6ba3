"""The files that a plan would have to parse; keys of stages hold the digest of all texts, so nothing is planned before."""

from collections.abc import Iterable, Mapping
from typing import Any

from rag.config.build import Components
from rag.config.identity import digest
from rag.core.errors import DataError, UserError
from rag.execution.store.stored_parses import StoredParser


class UnparsedError(DataError):
    """A corpus has files that are not parsed yet, and the caller wants none parsed.

    `seconds` is an estimate from recorded rates; it leaves out the `unmeasured` files.
    """

    def __init__(self, total: int, to_parse: int, seconds: float, unmeasured: int) -> None:
        known = f"about {seconds:.0f} seconds" if to_parse > unmeasured else ""
        unknown = f"{unmeasured} of kinds that were never parsed on this store" if unmeasured else ""
        what = f"{to_parse} of {total} files are to be parsed: {' and '.join(filter(None, (known, unknown)))}"
        super().__init__("corpus", what, "run the experiment, which parses them; its stages are known then")
        self.files = {"total": total, "to_parse": to_parse, "seconds": round(seconds, 2), "unmeasured": unmeasured}

    def __reduce__(self) -> tuple[type, tuple[float, ...]]:
        return type(self), tuple(self.files.values())


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
        raise UnparsedError(files, to_parse, seconds, unmeasured)
