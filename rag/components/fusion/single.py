"""No fusion: the ranking of one index."""

from collections.abc import Mapping, Sequence

from rag.core.errors import ConfigError, closest
from rag.core.rankings import Rankings


class SingleFusion:
    """The ranking of one index without change; if `index` is None there must be one index only."""

    def __init__(self, index: str | None = None) -> None:
        self.index = index

    def check(self, names: Sequence[str]) -> None:
        """Raise ConfigError unless `index` or the only name decides which ranking is taken."""
        if self.index is None and len(names) != 1:
            listed = ", ".join(names) or "none"
            raise ConfigError("fusion.index", f"there are {len(names)} indexes: {listed}", "name one of them, or fuse with rrf")
        if self.index is not None and self.index not in names:
            raise ConfigError("fusion.index", f"there is no index {self.index!r}", closest(self.index, names))

    def fuse(self, rankings: Mapping[str, Rankings], depth: int) -> Rankings:
        """The first `depth` hits of that index; ConfigError as `check`."""
        self.check(list(rankings))
        return rankings[self.index or next(iter(rankings))].first(depth)
