"""What a proposer of questions yields, and how many questions of each kind a set gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.authoring.candidates import Candidate
from rag.core.errors import ConfigError, closest

SHARES: Mapping[str, int] = {
    "factoid": 30,
    "table": 15,
    "definition": 10,
    "list": 8,
    "follow_up": 8,
    "unanswerable": 8,
    "comparison": 7,
    "aggregation": 7,
    "multi_hop": 7,
    "adversarial": 5,
}
"""Kind → its share of a set, in parts of the sum of all; what the documents do not give is left to the other kinds."""


PARAPHRASE = "paraphrase"
"""The kind that only a model proposes."""
MODEL = "model:"
"""The beginning of the methods of a model."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A proposal that was no question: `method` proposed it, `reason` says why it is left out."""

    reason: str
    method: str


Proposal = Candidate | Refusal


def wanted(total: int, kinds: Sequence[str] = ()) -> dict[str, int]:
    """The number of questions of each kind, at least one, for a set of `total`; ConfigError for a kind that is not known."""
    for kind in kinds:
        if kind not in SHARES and kind != PARAPHRASE:
            raise ConfigError("--kinds", f"there is no kind {kind!r}", closest(kind, [*SHARES, PARAPHRASE]))
    shares = {kind: SHARES.get(kind, SHARES["factoid"]) for kind in kinds or SHARES}
    return {kind: max(1, round(total * share / sum(shares.values()))) for kind, share in shares.items()}
