"""Rules after the contexts: the last words of a prompt have the most weight."""

from collections.abc import Sequence

from rag.core.errors import ConfigError
from rag.core.types import Framed, Query


class RulesGuard:
    """Writes `after` after the contexts: whose instructions the model follows (Wallace et al. 2024, arXiv:2404.13208)."""

    def __init__(self, after: str, before: str = "") -> None:
        if not after.strip():
            raise ConfigError("guard.rules.after", "is empty", "write the rules that go after the contexts")
        self.after, self.before = after, before

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """The contexts as they are, and the rules; an empty framing without contexts."""
        return Framed(tuple(contexts), self.before, self.after) if contexts else Framed(())
