"""Replies of a model → verdicts. Every problem is a ValueError that says what is wrong."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.core.models.typed_reply import json_object

RELEVANT = 3
"""The best grade of relevance."""


@dataclass(frozen=True)
class ClaimReply:
    """The verdict of a model on one claim; `context` counts from 1, 0 for none, `quote` are the words of the context."""

    supported: bool
    context: int = 0
    quote: str = ""


def verdicts(reply: str, claims: int) -> list[ClaimReply]:
    """One verdict per claim, in order; a reply must have exactly one for each."""
    rows = json_object(reply).get("verdicts")
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
    """A grade from 0 to RELEVANT as a share of RELEVANT."""
    grade = json_object(reply).get("relevance")
    if type(grade) is not int or not 0 <= grade <= RELEVANT:
        raise ValueError(f"gives {grade!r}, which is not a whole number from 0 to {RELEVANT}")
    return grade / RELEVANT


def place(quote: str, context: str) -> tuple[int, int] | None:
    """The place of a quote in a context, white space and case ignored; None without one."""
    parts = [re.escape(part) for part in quote.split()]
    match = re.search(r"\s+".join(parts), context, re.IGNORECASE) if parts else None
    return match.span() if match else None


def majority(votes: Sequence[ClaimReply]) -> tuple[float, ClaimReply]:
    """The share of votes for support, and the first vote of the majority (unsupported if they are even)."""
    share = sum(vote.supported for vote in votes) / len(votes)
    return share, next(vote for vote in votes if vote.supported == (share > 0.5))
