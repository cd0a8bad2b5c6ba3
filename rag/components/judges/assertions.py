"""The claims of a text for judges that split sentences further: the quotations in them, and their clauses."""

import re
from collections.abc import Sequence
from itertools import pairwise

from rag.core.text.refusals import claims
from rag.core.text.sentences import Piece

JOINT = re.compile(
    r",\s+|;\s+|\s+(?:and|but|while|when|which|who|where|because|after|before|although|with|as)\s+", re.IGNORECASE
)
"""The end of a clause and the beginning of the next one."""
QUOTATION = re.compile(r"(?<=[\"“«])(?:[^\"“”«»\s]+\s+){3,}[^\"“”«»\s]+(?=[\"”»])")
"""Four or more words between quotation marks."""


def quoting_claims(text: str, abstentions: Sequence[re.Pattern[str]]) -> tuple[list[Piece], bool]:
    """The claims of a text, each followed by its quotations, which are claims too, and whether the text abstains."""
    sentences, abstained = claims(text, abstentions)
    quotations = ((piece, [match.span() for match in QUOTATION.finditer(text, *piece)]) for piece in sentences)
    return [claim for piece, inner in quotations for claim in (piece, *inner)], abstained


def clauses(text: str) -> list[Piece]:
    """A sentence cut at commas and conjunctions: pieces [start, end) that cover the whole sentence."""
    cuts = [0, *(joint.end() for joint in JOINT.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if end > start]
