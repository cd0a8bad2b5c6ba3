"""Old editions lose to newer ones among the hits of a question."""

import pytest

from rag.components.selectors.editions import EditionsSelector
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.types import Document, Span, Value

EDITIONS: dict[str, dict[str, Value]] = {
    "leave-2023": {"series": "leave", "date": "2023-04-01", "version": "2.9"},
    "leave-2024": {"series": "leave", "date": "2024-04-01", "version": "2.10", "status": "Superseded"},
    "leave-2025": {"series": "leave", "date": "2025-04-01", "version": "2.2"},
    "leave-draft": {"series": "leave"},
    "memo": {"supersedes": "letter, nowhere"},
    "letter": {"supersedes": "note"},
    "note": {},
    "closed": {"status": "superseded"},
    "shut": {"status": "superseded"},
    "other": {"status": "current"},
}


def kept(hits: str, **parameters: object) -> str:
    """The hits that are left of `name:score` pairs, best first."""
    names = sorted(EDITIONS)
    corpus = Corpus.of([Document(name, "text", EDITIONS[name]) for name in names], [Span(name, 0, 4) for name in names])
    pairs = [(names.index(hit.partition(":")[0]), float(hit.partition(":")[2] or 1)) for hit in hits.split()]
    found = EditionsSelector(**{"share": 0, **parameters}).select(Rankings.pack([pairs, []]), corpus)  # type: ignore[arg-type]
    assert found.row(1) == []
    assert set(found.row(0)) <= set(pairs)
    return " ".join(names[position] for position, _ in found.row(0))


@pytest.mark.parametrize(
    ("hits", "left"),
    [
        ("leave-2023:3 leave-2025:2 other:1", "leave-2025 other"),
        ("leave-2024 leave-2023", "leave-2023"),
        ("note:9 memo:1", "memo"),
        ("note other", "note other"),
        ("closed shut", "closed shut"),
        ("", ""),
    ],
)
def test_a_newer_edition_among_the_hits_wins(hits: str, left: str) -> None:
    assert kept(hits) == left


def test_numbers_in_versions_are_numbers() -> None:
    assert kept("leave-2023 leave-2024 leave-2025", by="version", statuses=[]) == "leave-2024"
    assert kept("leave-2023 leave-2024 leave-2025", by="version") == "leave-2023"


@pytest.mark.parametrize(("share", "left"), [(0, "leave-2025"), (0.5, "leave-2025"), (0.51, "leave-2023 leave-2025")])
def test_a_share_protects_an_old_edition_that_fits_better(share: float, left: str) -> None:
    assert kept("leave-2023:4 leave-2025:2", share=share) == left


def test_scores_that_are_not_positive_protect_nothing() -> None:
    assert kept("leave-2023:-1 leave-2025:-9", share=1) == "leave-2025"


def test_a_corpus_without_editions_is_left_alone() -> None:
    corpus = Corpus.of([Document("a", "text", {"date": "2024"})], [Span("a", 0, 4)])
    rankings = Rankings.pack([[(0, 1.0)]])
    assert EditionsSelector().select(rankings, corpus) is rankings
