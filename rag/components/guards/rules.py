"""The rules once more, behind the contexts: what is read last weighs most."""

from collections.abc import Sequence

from rag.core.errors import ConfigError
from rag.core.records import Framed, Query


class RulesGuard:
    """Says `after` behind the contexts: whose orders count, and whose do not (Wallace et al. 2024, arXiv:2404.13208)."""

    def __init__(self, after: str, before: str = "") -> None:
        if not after.strip():
            raise ConfigError("guard.rules.after", "is empty", "say the rules that are to stand behind the contexts")
        self.after, self.before = after, before

    def frame(self, query: Query, contexts: Sequence[str]) -> Framed:
        """The contexts as they are, and the rules behind them; nothing where there are no contexts."""
        return Framed(tuple(contexts), self.before, self.after) if contexts else Framed(())
