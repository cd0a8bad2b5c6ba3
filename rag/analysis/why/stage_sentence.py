"""One sentence about the stage that lost a group of evidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag.analysis.blame.corridor import STAGES


@dataclass(frozen=True)
class Whereabouts:
    """The ranks of one group: by index and after every later step, 0 if it was not found.

    `rules` say what lost its quotes before the chunker. `share` is the largest share of an alternative in one chunk, `coverage`
    the share that is needed; ranks count `unit`, `passage` or `document`. `rerank_depth` is 0 without a reranker.
    """

    documents: Sequence[str]
    indexes: Mapping[str, int]
    fused: int
    reranked: int
    selected: int
    share: float
    coverage: float
    k: int
    rerank_depth: int
    depth: int
    unit: str = "passage"
    rules: Sequence[str] = ()

    def place(self, rank: int) -> str:
        """A rank in words."""
        return f"{self.unit} {rank}" if rank else "not found"

    def moved(self, before: int, after: int) -> str:
        """The ranks before and after a step, with the cut."""
        return f"{self.place(before)} before, {after or 'gone'} after it, where the first {self.k} count"

    @property
    def best(self) -> str:
        """The best rank in any index, with the name of the index; empty if none has found the group."""
        ranks = {name: rank for name, rank in self.indexes.items() if rank}
        name = min(ranks, key=ranks.__getitem__, default="")
        return f"{self.place(ranks[name])} in {name}" if name else ""

    @property
    def nearest(self) -> str:
        """The best rank in any index, or that of their fusion if none has found the group alone."""
        return f"at best {self.best}" if self.best else f"{self.place(self.fused)} when put together"

    @property
    def cut(self) -> str:
        """The rank up to which hits are used."""
        if self.rerank_depth:
            return f"where the first {max(self.k, self.rerank_depth)} are looked at again"
        return f"where the first {self.k} count"

    @property
    def missing(self) -> str:
        """The indexes without the group, as the subject of a sentence."""
        *names, last = self.indexes
        return f"{', '.join(names)} and {last} do not have it" if names else f"{last} does not have it"

    @property
    def lost(self) -> str:
        """The documents of the group, and the rules that lost its quotes."""
        return f"{' or '.join(dict.fromkeys(self.documents))} ({'; '.join(dict.fromkeys(self.rules))})"

    @property
    def held(self) -> str:
        """The largest share of the group in one chunk, and the share that is needed."""
        if not self.share:
            return "no chunk holds any of it"
        return f"no chunk holds more than {100 * self.share:.0f} % of it, where {100 * self.coverage:.0f} % is needed"


SENTENCES: tuple[Callable[[Whereabouts], str], ...] = (
    lambda at: f"Not in the corpus: there is no text of {' or '.join(dict.fromkeys(at.documents))}.",
    lambda at: f"Lost by the parser: {at.lost}.",
    lambda at: f"Not placed in its text: {at.lost}.",
    lambda at: f"Lost by redaction: a placeholder is in its place in {at.lost}.",
    lambda at: f"Dropped as noise: a rule took it out of {at.lost}.",
    lambda at: f"Cut apart by the chunker: {at.held}, and the first {at.k} together do not either.",
    lambda at: f"Not among the candidates of any index: {at.missing} in the first {at.depth}.",
    lambda at: f"Ranked too low by every index: {at.nearest}, {at.cut}.",
    lambda at: f"Lost in fusion: {at.best}, {at.fused or 'gone'} after fusion, {at.cut}.",
    lambda at: f"Lost in reranking: {at.moved(at.fused, at.reranked)}.",
    lambda at: f"Dropped by the selector: {at.moved(at.reranked, at.selected)}.",
    lambda at: f"Left out of the prompt: {at.place(at.selected)}, and not in the contexts, the first {at.k} passages at most.",
    lambda at: "In the contexts, not in the answer: all of its evidence was given to the generator.",
)
"""A sentence for each of `rag.analysis.blame.corridor.STAGES`, in their order."""


def sentence_on_loss(stage: str, where: Whereabouts) -> str:
    """One sentence about a group that a stage lost, or about one that was found if `stage` is empty."""
    if not stage:
        return f"Found: {where.place(where.selected)}, within the first {where.k}."
    return SENTENCES[STAGES.index(stage)](where)
