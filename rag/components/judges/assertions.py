"""A text → the claims in it: its sentences and list items without citation markers, the quotations in them, and their clauses.

Questions, headings and sentences that say that nothing can be said are no claims (`rag.core.text.refusals`).
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from rag.core.text.citations import without_markers
from rag.core.text.refusals import claims, refusals
from rag.core.text.sentences import Piece

__all__ = ["claims", "clauses", "quoting_claims", "refusals", "without_markers"]

JOINT = re.compile(
    r",\s+|;\s+|\s+(?:and|but|while|when|which|who|where|because|after|before|although|with|as)\s+", re.IGNORECASE
)
"""Where one clause ends and another one may begin."""
QUOTATION = re.compile(r"(?<=[\"“«])(?:[^\"“”«»\s]+\s+){3,}[^\"“”«»\s]+(?=[\"”»])")
"""Four words or more between quotation marks."""


def quoting_claims(text: str, abstentions: Sequence[re.Pattern[str]]) -> tuple[list[Piece], bool]:
    """The claims of a text, each followed by the quotations in it, which are claims of their own, and whether it abstains."""
    found, abstained = claims(text, abstentions)
    quotations = ((piece, [inner.span() for inner in QUOTATION.finditer(text, *piece)]) for piece in found)
    return [one for piece, inner in quotations for one in (piece, *inner)], abstained


def clauses(text: str) -> list[Piece]:
    """A sentence, cut at commas and conjunctions: pieces [start, end) that together are all of it."""
    cuts = [0, *(joint.end() for joint in JOINT.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if end > start]
