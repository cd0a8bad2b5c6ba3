"""What a system outside of Assay returns for a question."""

import math
from dataclasses import dataclass

from rag.core.types import Reply


@dataclass(frozen=True, slots=True)
class SystemPassage:
    """A passage that a system read: its text, and its place as far as the system names it.

    `document` is a doc_id or a chunk_id (`doc_id:start-end`), empty if unknown; [start, end) are characters of the document,
    both 0 if unknown. Without a text it is the named place, or the whole document.
    """

    text: str = ""
    document: str = ""
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class SystemReply:
    """The passages of a system, best first, and its reply; None if it only retrieves. `seconds` are NaN if unknown.

    `failure` says why the system did not answer; it has then neither passages nor reply.
    """

    passages: tuple[SystemPassage, ...] = ()
    reply: Reply | None = None
    seconds: float = math.nan
    failure: str = ""
