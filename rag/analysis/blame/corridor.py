"""The stage at which each group of evidence was lost; `rag.analysis.blame` defines the stages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.core.arrays import Flags, Floats, Ints
from rag.core.corpus import Corpus
from rag.core.types import Anchor, Example, document_of, spans_of
from rag.evaluation.overlaps import shared_chars
from rag.evaluation.scoring import Gold
from rag.execution.graph.plan import PlannedTrial
from rag.execution.graph.search_graph import LOOKS, PLACE
from rag.execution.graph.stage_graph import Stage

STAGES = (
    "not in the corpus",
    "lost by the parser",
    "not placed in its text",
    "lost by redaction",
    "dropped as noise",
    "cut apart by the chunker",
    "not among the candidates of any index",
    "ranked too low by every index",
    "lost in fusion",
    "lost in reranking",
    "dropped by a selector",
    "left out of the prompt",
    "in the contexts, not in the answer",
)
ANSWER = len(STAGES) - 1
NOWHERE = -1
"""The stage number of groups that were not lost."""


@dataclass(frozen=True)
class Ground:
    """Properties of groups before any search, each of shape (questions, groups).

    `kept`: the corpus has the group, and so after the parser, the redaction and the noise rules, shape (5, questions, groups).
    `whole`: one chunk satisfies it. `share`: the largest share of an alternative in one chunk.
    """

    kept: Flags
    whole: Flags
    share: Floats

    @classmethod
    def of(cls, corpus: Corpus, examples: Sequence[Example], gold: Gold) -> "Ground":
        """Look up every alternative in the chunks."""
        alternatives = [gold for example in examples for group in example.ranked for gold in group.alternatives]
        place = {document.doc_id: row for row, document in enumerate(corpus.documents)}
        document = np.array([place.get(document_of(each), -1) for each in alternatives], np.int64)
        fates = np.array([_FATES.get(each.fate, 0) if isinstance(each, Anchor) else 0 for each in alternatives], np.int64)
        texts = np.array([bool(text.text.strip()) for text in corpus.documents] + [False])
        # An alternative with a fate was in its file: a parser may lose all text of it.
        present = texts[document] | ((fates > 0) & (document >= 0))
        kept = [present, *(present & ((fates == 0) | (fates > stage)) for stage in _FATES.values())]
        chunks = np.append(np.bincount(corpus.doc, minlength=len(corpus.documents)), 0)
        share = (chunks[document] > 0).astype(np.float64)
        whole = share > 0
        spans = gold.span_alternative
        pieces = [
            (number, document[at], span.start, span.end)
            for number, at in enumerate(spans.tolist())
            for span in spans_of(alternatives[at])
        ]
        chars = _most_chars(corpus, len(spans), *np.array(pieces, np.int64).reshape(-1, 4).T)
        whole[spans] = chars >= gold.span_needed
        share[spans] = chars / gold.span_chars
        return cls(np.stack([_by_group(flags, gold) for flags in kept]), _by_group(whole, gold), _by_group(share, gold))


_FATES: Mapping[str, int] = {"parser": 1, "unplaced": 2, "redaction": 3, "noise": 4}
"""The numbers of the stages that lose quotes before the chunker."""


def _most_chars(corpus: Corpus, spans: int, number: Ints, document: Ints, start: Ints, end: Ints) -> Ints:
    """For each span, by its number, the greatest number of the characters of its places in one chunk."""
    sizes = np.array([len(document.text) for document in corpus.documents], np.int64)
    base = np.append(np.cumsum(sizes) - sizes, sizes.sum() + 1)
    first, last = base[corpus.doc] + corpus.start, base[corpus.doc] + corpus.end
    held, _, chars = shared_chars(first, last, number, base[document] + start, base[document] + end)
    most = np.zeros(spans, np.int64)
    np.maximum.at(most, held, chars)
    return most


def _by_group(values: NDArray[Any], gold: Gold) -> NDArray[Any]:
    """The maximum over the alternatives of each group, as a table by question and group."""
    table = np.zeros((len(gold.by_document), int(gold.group_column.max(initial=0)) + 1), values.dtype)
    group = gold.alternative_group
    np.maximum.at(table, (gold.group_question[group], gold.group_column[group]), values)
    return table


@dataclass(frozen=True)
class Steps:
    """The keys of the ranking stages of a trial; a step that changes nothing has the key of the one before.

    With links such as a router or a policy they are one ranking, which has no `indexes` of its own.
    """

    indexes: Mapping[str, str]
    fused: str
    reranked: str
    selected: str

    @classmethod
    def of(cls, trial: PlannedTrial, stages: Mapping[str, Stage]) -> "Steps | None":
        """The steps before the final ranking; None if it was not searched for, as with controls of reading."""
        passed: dict[str, str] = {}
        key = trial.ends.ranking
        if stages[key].name in (*LOOKS, PLACE):
            return cls({}, key, key, key)
        while stages[key].name in ("select", "rerank"):
            passed[stages[key].name] = key
            key = stages[key].inputs["ranking"]
        if stages[key].name != "fuse":
            return None
        reranked = passed.get("rerank", key)
        return cls(dict(stages[key].inputs), key, reranked, passed.get("select", reranked))


Ranks = Callable[[str, int], NDArray[np.int32]]
"""From the key of a ranking and a number of chunks (0 for all) to group ranks (`rag.evaluation.gold_matching.Judged`)."""


def fallen(steps: Steps, ranks_of: Ranks, ground: Ground, k: int, rerank_depth: int, contexts: Flags | None = None) -> Ints:
    """The number of the stage that lost each group, shape (questions, groups); NOWHERE for a group that was not lost.

    `contexts` flags the groups that the contexts satisfy; None if nothing is generated.
    """

    def within(key: str) -> Flags:
        ranks = ranks_of(key, 0)
        return (ranks > 0) & (ranks <= k)

    def above(key: str) -> Flags:
        return within(key) | (ranks_of(key, rerank_depth) > 0) if steps.reranked != steps.fused else within(key)

    searched = (*steps.indexes.values(), steps.fused)
    final = within(steps.selected)
    later = [
        _any(ranks_of(key, 0) > 0 for key in searched),
        _any(above(key) for key in searched),
        above(steps.fused),
        within(steps.reranked),
        final,
        final if contexts is None else final & contexts,
    ]
    soon = _any(within(key) for key in (*searched, steps.reranked, steps.selected))
    innocent = np.stack([*ground.kept, ground.whole | soon, *np.logical_or.accumulate(later[::-1])[::-1]])
    kept = innocent.all(axis=0) | (ranks_of(steps.selected, 0) < 0)
    return np.where(kept, NOWHERE, np.argmin(innocent, axis=0))


def _any(flags: Iterable[Flags]) -> Flags:
    return np.asarray(np.logical_or.reduce(list(flags)), np.bool_)
