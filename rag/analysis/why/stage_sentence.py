"""The stage that lost a group of evidence, in one sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.analysis.blame import STAGES

(MISSING, CHUNKER, CANDIDATES, LOW, FUSION, RERANKING, SELECTOR, PROMPT, ANSWER) = STAGES


@dataclass(frozen=True)
class Whereabouts:
    """Where one group stood: its rank by index and after every later step, 0 where it was not found.

    `share` is the largest share of an alternative that one chunk holds, `coverage` the share that is needed; `unit` is what
    ranks count, `passage` or `document`. `rerank_depth` is 0 without a reranker.
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


def sentence_on_loss(stage: str, where: Whereabouts) -> str:
    """One sentence about a group that a stage lost; about one that no stage lost for an empty stage."""
    said = {
        "": _found,
        MISSING: _missing,
        CHUNKER: _torn,
        CANDIDATES: _unfound,
        LOW: _low,
        FUSION: _fused,
        RERANKING: _reranked,
        SELECTOR: _selected,
        PROMPT: _left_out,
        ANSWER: _unread,
    }
    return said[stage](where)


def _found(where: Whereabouts) -> str:
    return f"Found: {_place(where.selected, where)}, within the first {where.k}."


def _missing(where: Whereabouts) -> str:
    return f"Not in the corpus: there is no text of {_either(where.documents)}."


def _torn(where: Whereabouts) -> str:
    most, needed = f"{100 * where.share:.0f} %", f"{100 * where.coverage:.0f} %"
    held = "no chunk holds any of it" if not where.share else f"no chunk holds more than {most} of it, where {needed} is needed"
    return f"Cut apart by the chunker: {held}, and the first {where.k} together do not either."


def _unfound(where: Whereabouts) -> str:
    return f"Not among the candidates of any index: {_none(where.indexes)} in the first {where.depth}."


def _low(where: Whereabouts) -> str:
    found = {name: rank for name, rank in where.indexes.items() if rank}
    best = min(found, key=lambda name: found[name], default="")
    place = f"at best {_place(found[best], where)} in {best}" if best else f"{_place(where.fused, where)} when put together"
    return f"Ranked too low by every index: {place}, {_cut(where)}."


def _fused(where: Whereabouts) -> str:
    found = {name: rank for name, rank in where.indexes.items() if rank}
    best = min(found, key=lambda name: found[name])
    return f"Lost in fusion: {_place(found[best], where)} in {best}, {_after(where.fused)} fusion, {_cut(where)}."


def _reranked(where: Whereabouts) -> str:
    before = _place(where.fused, where)
    return f"Lost in reranking: {before} before, {_after(where.reranked)} it, where the first {where.k} count."


def _selected(where: Whereabouts) -> str:
    before = _place(where.reranked, where)
    return f"Dropped by the selector: {before} before, {_after(where.selected)} it, where the first {where.k} count."


def _left_out(where: Whereabouts) -> str:
    place = _place(where.selected, where)
    return f"Left out of the prompt: {place}, and not in what the generator was given, the first {where.k} passages at most."


def _unread(where: Whereabouts) -> str:
    return "In the contexts, not in the answer: all of its evidence was given to the generator."


def _place(rank: int, where: Whereabouts) -> str:
    return f"{where.unit} {rank}" if rank else "not found"


def _after(rank: int) -> str:
    return f"{rank} after" if rank else "gone after"


def _cut(where: Whereabouts) -> str:
    if where.rerank_depth:
        return f"where the first {max(where.k, where.rerank_depth)} are looked at again"
    return f"where the first {where.k} count"


def _either(names: Sequence[str]) -> str:
    return " or ".join(dict.fromkeys(names))


def _none(indexes: Mapping[str, int]) -> str:
    names = list(indexes)
    return f"{names[0]} does not have it" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} do not have it"
