"""The rewrite by a person: the reference for every other rewriting."""

from collections.abc import Sequence

from rag.core.types import Query, Sought


class HumanRewrite:
    """Searches for the rewrite that a golden set holds, and for the question as typed where it holds none."""

    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        """The rewrite of every query, with a note on follow-ups that have none."""
        return [_sought(query) for query in queries]


def _sought(query: Query) -> Sought:
    text = query.rewrite.strip() or query.text
    missing = query.history and not query.rewrite.strip()
    return Sought(text, (text,), "the golden set has no rewrite" if missing else "")
