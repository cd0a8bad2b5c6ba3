"""The recommended trial as data that a page scores again under other settings: its searches, chunks, gold and overrides.

A page repeats the fusion, the floor, the selector that widens and the metrics of these rankings, and nothing that reads texts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rag.analysis.blame.corridor import Steps
from rag.analysis.blame.reader import Reader
from rag.config.build import TARGET
from rag.core.corpus import Corpus
from rag.core.errors import DataError
from rag.core.rankings import DIGITS, NOTHING, Rankings
from rag.core.redaction import redacted_text
from rag.core.roles import Selector
from rag.core.types import Example, Place, document_of, spans_of
from rag.evaluation.gold_table import Gold
from rag.evaluation.scoring import parse_column
from rag.execution.graph.open_pipeline import several
from rag.execution.graph.plan import PlannedTrial
from rag.pipeline.search.steps import fuse, select
from rag.reporting.html.embedded_data import block
from rag.reporting.html.findings import Scored

WIDTH, MOST = 200, 1_000_000
"""The most hits of a search, and the most characters, that a page takes."""
FLOOR, VARIED = "score_floor", ("k", "fusion", "selector")
METRICS = {"Recall": "recall", "ReciprocalRank": "mrr", "DiscountedGain": "ndcg"}
FUSIONS = {"ReciprocalRankFusion": "rrf", "WeightedFusion": "weighted"}


def what_if(scored: Scored) -> dict[str, Any]:
    """The block of the first trial; DataError with the reason where a page cannot compute what a run would."""
    trial, reader = scored.trials[0], Reader(scored.made, scored.store)
    config, steps = trial.trial.config, Steps.of(trial, scored.made.stages)
    if steps is None or not steps.indexes or scored.results[0].failed.any():
        raise _unable(trial, "it has links, a search of its own, or questions that failed")
    selectors = several(config["selector"], scored.made.graph.components)
    floor, wide = selectors.get(FLOOR), [each for each in selectors.values() if getattr(each, "widens", False)]
    known = [*([floor] if floor and floor.relative and floor.floor == round(floor.floor, 2) else []), *wide[:1]]
    if known != list(selectors.values()):
        raise _unable(trial, f"selector={'+'.join(selectors)} is more than a relative floor and one selector that widens")
    how, fuses = config["fusion"], len(steps.indexes) > 1 and steps.reranked == steps.fused
    kind = FUSIONS.get(how[TARGET].rpartition(".")[2], "") if how.get("normalisation", "min_max") == "min_max" else ""
    moves = fuses and kind
    keys = steps.indexes if moves else {"": steps.reranked}
    found = {name: reader.rankings(key) for name, key in keys.items()}
    # A page reads whole numbers of the last digit.
    lists = {name: replace(each, scores=np.rint(10**DIGITS * each.scores) / 10**DIGITS) for name, each in found.items()}
    fused = fuse(scored.made.graph.components.build(how, "fusion"), lists, config["depth"]) if moves else lists[""]
    read, stored = select(selectors, fused, reader.corpus(trial)), reader.rankings(steps.selected)
    if max(each.positions.shape[1] for each in lists.values()) > WIDTH or not np.array_equal(read.positions, stored.positions):
        raise _unable(trial, f"its searches are deeper than {WIDTH}, or more than their scores decides what it reads")
    corpus, varied = reader.corpus(trial), {"depth": config["depth"], "k": config["k"], "floor": floor.floor if floor else 0}
    fusion = {"kind": kind if moves else "", "constant": how.get("k", 60), "names": list(lists)}
    content = _chunks(lists, wide, corpus) | varied | fusion | {
        "questions": _gold(trial.golden.examples, reader.gold(trial), corpus),
        "weights": list(how.get("weights") or [1.0] * len(lists)),
        "selectors": [name for name in selectors if name != FLOOR],
        "columns": _columns(scored, trial),
        "experiment": _experiment(scored, trial),
    }  # fmt: skip
    if len(packed := block(content)) > MOST:
        raise _unable(trial, f"its rankings take {len(packed):,} characters of {MOST:,}")
    return content | {"block": packed}


def _unable(trial: PlannedTrial, why: str) -> DataError:
    return DataError(f"trial {trial.trial_id}", f"cannot be scored again in a page: {why}", "run other settings of it")


def _chunks(lists: Mapping[str, Rankings], wide: list[Selector], corpus: Corpus) -> dict[str, Any]:
    """Rankings of chunks, which are numbered from 0 in reading order: those that can be read.

    A chunk is its document, start and end, and the first and the last chunk that are read with it.
    """
    ranked = np.unique(np.concatenate([each.positions[each.positions != NOTHING] for each in lists.values()]))
    own = Rankings(ranked[:, None], np.zeros((len(ranked), 1)))
    read = wide[0].select(own, corpus) if wide else own
    reach = np.where(read.positions == NOTHING, len(corpus), read.positions).min(axis=1), read.positions.max(axis=1)
    used = np.unique(np.concatenate([np.arange(low, high + 1) for low, high in zip(*reach, strict=True)]))
    chunks = np.stack([corpus.doc[used], corpus.start[used], corpus.end[used], *np.zeros((2, len(used)), int)])
    chunks[3:, np.searchsorted(used, ranked)] = np.searchsorted(used, reach)

    def rows(found: Rankings) -> list[Any]:
        pairs = [list(zip(*found.row(row), strict=True)) or [(), ()] for row in range(len(found))]
        return [[np.searchsorted(used, places).tolist(), [round(10**DIGITS * each) for each in own]] for places, own in pairs]

    return {"lists": list(map(rows, lists.values())), "chunks": chunks.tolist(), "joined": read.joined is not None}


def _gold(examples: Sequence[Example], gold: Gold, corpus: Corpus) -> list[Any]:
    """By question the grades of groups, their alternatives, and whether ranks count documents.

    An alternative is a group and a document; of a quote also the characters that it needs, and its places.
    """
    number = {document.doc_id: row for row, document in enumerate(corpus.documents)}
    needed = iter(gold.span_needed.tolist())

    def told(group: int, place: Place) -> list[Any]:
        quote = [] if isinstance(place, str) else [next(needed), *((span.start, span.end) for span in spans_of(place))]
        return [group, number.get(document_of(place), -1), *quote]

    asked = [list(enumerate(example.ranked)) for example in examples]
    places = [[told(at, place) for at, group in groups for place in group.alternatives] for groups in asked]
    grades = [[group.grade for _, group in groups] for groups in asked]
    return list(zip(grades, places, gold.by_document.tolist(), strict=True))


def _columns(scored: Scored, trial: PlannedTrial) -> list[list[Any]]:
    """Name, metric, cut and measured mean of the columns that a page knows."""
    config, result = trial.trial.config, scored.results[0]
    parsed = [parse_column(name, config["k"]) for name in result.columns]
    known = [
        (each, METRICS.get(config["metric"][each.metric][TARGET].rpartition(".")[2])) for each in parsed if each.unit == "ranks"
    ]
    return [[one.name, metric, one.size, float(np.nanmean(result.column(one.name)))] for one, metric in known if metric]


def _experiment(scored: Scored, trial: PlannedTrial) -> dict[str, Any]:
    """The overrides of the trial: those that a page varies, and the others."""
    made = scored.made.experiment
    chosen = (choice for axis, label in trial.trial.choices.items() for choice in made.axes[axis] if choice.label == label)
    named = (one.partition("=") for one in (*made.fixed, *(override for choice in chosen for override in choice.overrides)))
    overrides = [f"{key}{sign}{redacted_text(key.rpartition('.')[2], value)}" for key, sign, value in named]
    own = [one for one in overrides if re.split(r"[.@/=]", one.lstrip("+~"))[0] in VARIED]
    return {"name": made.name, "objective": made.objective, "fixed": [one for one in overrides if one not in own], "own": own}
