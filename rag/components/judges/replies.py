"""What a model replied → verdicts: strict JSON, after the repairs that change no meaning. Nothing is guessed."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

RELEVANT = 3
"""The best grade of relevance."""
TRAILING = re.compile(r",\s*(?=[}\]])")
OBJECT = re.compile(r"\{(?=\s*[\"}])")
"""Where an object begins; a brace before anything else stands in prose."""


@dataclass(frozen=True)
class ClaimReply:
    """What a model says of one claim; `context` counts from 1, 0 for none, `quote` is what it points at there."""

    supported: bool
    context: int = 0
    quote: str = ""


def verdicts(reply: str, claims: int) -> list[ClaimReply]:
    """One verdict per claim, in order; ValueError says what is wrong with the reply.

    Repaired: prose or a code fence around the object, commas before a closing bracket. Of several objects the last one with
    verdicts counts: before it a model may have thought aloud. A reply must speak once of each claim.
    """
    rows = _object(reply, "verdicts")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("holds no list of verdicts")
    found: dict[int, ClaimReply] = {}
    for row in rows:
        number, supported = row.get("claim"), row.get("supported")
        if type(number) is not int or not 1 <= number <= claims or number in found:
            raise ValueError(f"speaks of claim {number!r}")
        if not isinstance(supported, bool):
            raise ValueError(f"says {supported!r} of claim {number}, which is neither true nor false")
        context = row.get("context")
        found[number] = ClaimReply(supported, context if type(context) is int else 0, str(row.get("quote") or ""))
    if len(found) != claims:
        raise ValueError(f"speaks of {len(found)} of {claims} claims")
    return [found[number] for number in range(1, claims + 1)]


def relevance(reply: str) -> float:
    """A grade from 0 to RELEVANT as a share of RELEVANT; ValueError says what is wrong with the reply."""
    grade = _object(reply, "relevance")
    if type(grade) is not int or not 0 <= grade <= RELEVANT:
        raise ValueError(f"gives {grade!r}, which is no whole number from 0 to {RELEVANT}")
    return grade / RELEVANT


def place(quote: str, context: str) -> tuple[int, int] | None:
    """Where a quote stands in a context, white space and case aside; None where it does not."""
    parts = [re.escape(part) for part in quote.split()]
    found = re.search(r"\s+".join(parts), context, re.IGNORECASE) if parts else None
    return found.span() if found else None


def _object(reply: str, name: str) -> Any:
    """What the last JSON object that has `name` holds there; None where no object has it."""
    text, stop, found = TRAILING.sub("", reply), 0, list[dict[str, Any]]()
    while start := OBJECT.search(text, stop):
        try:
            one, stop = DECODER.raw_decode(text, start.start())
        except RecursionError as error:
            raise ValueError("is nested too deeply") from error
        except json.JSONDecodeError as error:
            raise ValueError(f"is no JSON: {error}") from error
        found.append(one)
    if not found:
        raise ValueError("holds no JSON object")
    return next((one[name] for one in reversed(found) if name in one), None)


def _refused(constant: str) -> Any:
    raise ValueError(f"holds {constant}")


DECODER = json.JSONDecoder(parse_constant=_refused)


def majority(votes: Sequence[ClaimReply]) -> tuple[float, ClaimReply]:
    """The share of votes for support, and the first vote of the side that has more of them (no, where they are even)."""
    share = sum(vote.supported for vote in votes) / len(votes)
    return share, next(vote for vote in votes if vote.supported == (share > 0.5))
