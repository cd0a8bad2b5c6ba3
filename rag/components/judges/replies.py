"""Replies of a model → verdicts: strict JSON, after repairs that change no meaning. Nothing is guessed."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag.core.record_json import DECODER

RELEVANT = 3
"""The best grade of relevance."""
TRAILING = re.compile(r",\s*(?=[}\]])")
OBJECT = re.compile(r"\{(?=\s*[\"}])")
"""The beginning of an object; other braces are prose."""


@dataclass(frozen=True)
class ClaimReply:
    """The verdict of a model on one claim; `context` counts from 1, 0 for none, `quote` are the words of the context."""

    supported: bool
    context: int = 0
    quote: str = ""


def verdicts(reply: str, claims: int) -> list[ClaimReply]:
    """One verdict per claim, in order; ValueError says what is wrong with the reply.

    Repaired are prose or a code fence around the object, and commas before a closing bracket. The last object with verdicts
    counts, because a model may have reasoned before it. A reply must have exactly one verdict for each claim.
    """
    rows = _object(reply, "verdicts")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("holds no list of verdicts")
    replies: dict[int, ClaimReply] = {}
    for row in rows:
        number, supported = row.get("claim"), row.get("supported")
        if type(number) is not int or not 1 <= number <= claims or number in replies:
            raise ValueError(f"speaks of claim {number!r}")
        if not isinstance(supported, bool):
            raise ValueError(f"says {supported!r} of claim {number}, which is neither true nor false")
        context = row.get("context")
        replies[number] = ClaimReply(supported, context if type(context) is int else 0, str(row.get("quote") or ""))
    if len(replies) != claims:
        raise ValueError(f"speaks of {len(replies)} of {claims} claims")
    return [replies[number] for number in range(1, claims + 1)]


def relevance(reply: str) -> float:
    """A grade from 0 to RELEVANT as a share of RELEVANT; ValueError says what is wrong with the reply."""
    grade = _object(reply, "relevance")
    if type(grade) is not int or not 0 <= grade <= RELEVANT:
        raise ValueError(f"gives {grade!r}, which is not a whole number from 0 to {RELEVANT}")
    return grade / RELEVANT


def place(quote: str, context: str) -> tuple[int, int] | None:
    """The place of a quote in a context, white space and case ignored; None without one."""
    parts = [re.escape(part) for part in quote.split()]
    match = re.search(r"\s+".join(parts), context, re.IGNORECASE) if parts else None
    return match.span() if match else None


def _object(reply: str, name: str) -> Any:
    """The value of `name` in the last JSON object that has it; None without one."""
    text, stop, objects = TRAILING.sub("", reply), 0, list[dict[str, Any]]()
    while start := OBJECT.search(text, stop):
        try:
            value, stop = DECODER.raw_decode(text, start.start())
        except RecursionError as error:
            raise ValueError("is nested too deeply") from error
        except json.JSONDecodeError as error:
            raise ValueError(f"is not valid JSON: {error}") from error
        objects.append(value)
    if not objects:
        raise ValueError("holds no JSON object")
    return next((value[name] for value in reversed(objects) if name in value), None)


def majority(votes: Sequence[ClaimReply]) -> tuple[float, ClaimReply]:
    """The share of votes for support, and the first vote of the majority (unsupported if they are even)."""
    share = sum(vote.supported for vote in votes) / len(votes)
    return share, next(vote for vote in votes if vote.supported == (share > 0.5))
