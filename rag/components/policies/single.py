"""One look."""

from typing import ClassVar

from rag.core.roles.looking import Looked, Tools
from rag.core.types import Query


class SingleLook:
    """Searches once for the question."""

    changes_nothing: ClassVar[bool] = True
    reads: ClassVar[tuple[str, ...]] = ()

    def look(self, query: Query, tools: Tools) -> Looked:
        """The reranked passages of one search."""
        found = tools.search(tools.sought.texts)
        return Looked(tools.rerank(tools.sought.question, [found]), tools.sought)
