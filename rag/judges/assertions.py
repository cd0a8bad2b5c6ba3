"""A text → the claims in it: its sentences without citation markers, and the clauses of a sentence.

Questions, headings and sentences that say that nothing can be said are no claims (`rag.refusals`).
"""

import re
from itertools import pairwise

from rag.citations import without_markers
from rag.refusals import claims, refusals
from rag.sentences import Piece

__all__ = ["claims", "clauses", "refusals", "without_markers"]

JOINT = re.compile(
    r",\s+|;\s+|\s+(?:and|but|while|when|which|who|where|because|after|before|although|with|as)\s+", re.IGNORECASE
)
"""Where one clause ends and another one may begin."""


def clauses(text: str) -> list[Piece]:
    """A sentence, cut at commas and conjunctions: pieces [start, end) that together are all of it."""
    cuts = [0, *(joint.end() for joint in JOINT.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if end > start]
