"""The handbook printed in nine formats: quotes found, pages named, and nDCG beside the Markdown originals."""

from pathlib import Path

import numpy as np
import pytest
from bench.measuring import Report, declared, swept
from support.print_layouts import LAYOUTS
from support.printed_handbook import FORMATS, HANDBOOK, PrintedHandbook, print_handbook

from rag.core.pages import page_at
from rag.core.types import Anchor, Evidence, Span
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep import trial_scores

pytestmark = pytest.mark.bench

FIXED = ("generator=none", "latency=0", "metrics=[ndcg@10,recall@10]")
SEARCHES = {"lexical": "index=[bm25s] fusion=single", "minilm": "index=[dense] fusion=single"}
PARSERS = ("pdfium", "liteparse", "pypdf")
NOISE = ("none", "standard")
WITHIN, ANCHORED, ON_PAGE = 0.02, 0.995, 0.99
HELD = ("pdfium · standard", "standard")
"""Trials that keep all quotes and pages in every layout, and nDCG within WITHIN for a search by words."""


def scores_of(folder: Path, name: str, fixed: list[str], axes: dict[str, dict[str, str]]) -> dict[str, tuple[Scores, Golden]]:
    """The scores and the golden set of every trial by its name."""
    done, store = swept(declared(folder / f"{name}.yaml", "Does the format matter?", "native", [*FIXED, *fixed], axes))
    trials = done.plan.trials
    return {each.trial.name: (trial_scores.read_scores(each, done.plan, store).scores, each.golden) for each in trials}


def parsers_of(layout: str) -> dict[str, str]:
    """The parsers of a format, each with its overrides."""
    return {name: f"++loader.parsers.pdf={name}" for name in PARSERS} if layout in LAYOUTS else {layout: "k=5"}


def anchored(printed: PrintedHandbook, golden: Golden) -> tuple[int, int, int, list[str]]:
    """The quotes that are anchored, those with pages, those on their page, and what is wrong with the others."""
    documents, wrong = {document.doc_id: document for document in golden.documents}, list[str]()
    places = {example.query.query_id: gold_of(example.evidence) for example in golden.examples}
    found = paged = right = 0
    for query, quotes in places.items():
        own = [quote for quote in printed.quotes if quote.query_id == query]
        for quote, place in zip(own, quotes, strict=True):
            span = place.spans[0] if isinstance(place, Anchor) and place.spans else place
            if not isinstance(span, Span):
                wrong.append(f"{query} {quote.doc_id}: {quote.quote!r} is lost")
                continue
            page = page_at(documents[quote.doc_id].blocks, span.start)
            found, paged, right = found + 1, paged + (quote.first > 0), right + (quote.first > 0 and page == quote.first)
            if quote.first and page != quote.first:
                wrong.append(f"{query} {quote.doc_id}: {quote.quote!r} is on page {quote.first}, not {page}")
    return found, paged, right, wrong


def gold_of(evidence: tuple[Evidence, ...]) -> list[object]:
    """The alternatives of all groups in their order."""
    return [place for group in evidence for place in group.alternatives]


@pytest.mark.parametrize("search", SEARCHES)
def test_formats_are_found_like_their_originals(bench: Path, search: str) -> None:
    fixed = SEARCHES[search].split()
    ((original, golden),) = scores_of(bench, "markdown", [*fixed, f"dataset.path={HANDBOOK}"], {"k": {"5": "k=5"}}).values()
    report = Report(
        f"The printed handbook, {search}",
        ("layout", "trial", "quotes", "anchored", "page", "nDCG@10", "difference", "low", "high"),
    )
    missed, broken = list[str](), list[str]()
    for layout in FORMATS:
        printed = print_handbook(bench / layout, layout)
        source = f"dataset.path={bench / layout}"
        axes = {"parser": parsers_of(layout), "noise": {name: f"loader.noise={name}" for name in NOISE}}
        trials = scores_of(bench, layout, [*fixed, source], axes)
        for name, (scores, parsed) in trials.items():
            found, paged, right, wrong = anchored(printed, parsed)
            assert scores.query_ids == original.query_ids
            difference = scores.column("ndcg@10") - original.column("ndcg@10")
            interval = family(difference[:, None], cluster_numbers(golden.examples))
            n, mean, share = len(printed.quotes), float(interval.mean[0]), right / paged if paged else 1.0
            ends = float(interval.low[0]), float(interval.high[0])
            report.row(layout, name, n, found / n, share, np.nanmean(scores.column("ndcg@10")), mean, *ends)
            if found < ANCHORED * n or share < ON_PAGE or abs(mean) > WITHIN:
                missed += [f"{layout} {name}: {found}/{n}, page {share:.3f}, nDCG {mean:+.3f}", *wrong[:5]]
            if name in HELD:
                broken += wrong
                broken += [f"{layout} {name}: nDCG {mean:+.3f}"] * (search == "lexical" and abs(mean) > WITHIN)
    for line in missed:
        report.note(line)
    report.show()
    assert broken == []
