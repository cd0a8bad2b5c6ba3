"""Ratings of answers over the small golden set, as a server keeps them."""

from collections.abc import Sequence
from typing import Any

from support.small_set import TEXTS

from rag.authoring.review.drafts import Opinion
from rag.core.types import Turn
from rag.serve.feedback import answer_id


def context(number: int, doc: str, quote: str | None = None) -> dict[str, Any]:
    """A passage as an answer tells of it: a whole document, or a quote of it."""
    text = quote or TEXTS[doc]
    start = TEXTS[doc].index(text)
    return {"number": number, "doc_id": doc, "start": start, "end": start + len(text), "text": text}


def told(question: str, answer: str, contexts: Sequence[dict[str, Any]] = (), **more: Any) -> dict[str, Any]:
    """An answer as the API has it, as far as it matters here."""
    known = {"id": answer_id(), "question": question, "answer": answer, "contexts": list(contexts)}
    return known | {"abstained": False, "session": None} | more


def opinion(answer: dict[str, Any], rating: int = 1, comment: str = "", history: Sequence[Turn] = ()) -> Opinion:
    """What somebody thinks of it."""
    return Opinion(answer["id"], "ann", rating, comment, tuple(history), answer, 1_800_000_000.0)


FERRY = told("When does the ferry go?", "It leaves at seven [1].", [context(1, "ferry.md"), context(2, "bus.md")])
BAD = told("Who may bring a horse?", "Dogs travel free of charge [1].", [context(1, "ferry.md")])
