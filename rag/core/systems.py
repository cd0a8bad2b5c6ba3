"""What a system outside of Assay returns for a question."""

import inspect
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.core.errors import DataError, UserError
from rag.core.redaction import without_secrets
from rag.core.types import Query, Reply

TEXT, META = ("page_content", "text", "content"), ("metadata", "meta")
"""Attributes of passages of LangChain, LlamaIndex and Haystack."""


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


def ask_function(retrieve: Callable[..., Any], query: Query, first: bool) -> Mapping[str, Any]:
    """What a function returns for a question, as a row of a file of results; `rag.evaluate` says what it may return.

    Its exception is raised at the first question, and later is the `error` of the row. DataError for another form.
    """
    several = len(inspect.signature(retrieve).parameters) > 1
    began = time.perf_counter()
    try:
        given = retrieve(query.text, [turn.said for turn in query.history]) if several else retrieve(query.text)
    except Exception as error:
        if first or isinstance(error, UserError):
            raise
        return {"id": query.query_id, "error": without_secrets(f"{type(error).__name__}: {error}")}
    row: dict[str, Any] = {"seconds": round(time.perf_counter() - began, 6)}
    row |= given if isinstance(given, Mapping) else {"passages": given}
    if not isinstance(passages := row.get("passages", []), Sequence) or isinstance(passages, str):
        what = f"returns {type(given).__name__}"
        raise DataError(f"question {query.query_id}", what, "return a list of passages, or {'passages': […], 'answer': '…'}")
    return {**row, "id": query.query_id, "passages": [_passage(part) for part in passages]}


def _passage(part: Any) -> Any:
    """A passage as JSON: a text or a mapping as it is, an object by its text and metadata."""
    if isinstance(part, str | Mapping):
        return part
    text = next((value for name in TEXT if isinstance(value := getattr(part, name, None), str)), None)
    if text is None:
        raise DataError("a passage", f"is of the class {type(part).__name__}", "return its text, or {'text': …, 'document': …}")
    meta = next((value for name in META if isinstance(value := getattr(part, name, None), Mapping)), {})
    return {"text": text, "metadata": {key: value for key, value in meta.items() if isinstance(value, str | int | float)}}
