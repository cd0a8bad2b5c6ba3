"""A golden set from documents: rules propose, filters drop, and what is left is balanced over kinds, documents and sections."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain, islice
from typing import Any

from rag.authoring.candidates import Candidate, Row, row_of
from rag.authoring.generation import corpus_rules, figures, rules, table_rules
from rag.authoring.generation.english import English
from rag.authoring.generation.filters import Filters, Passages
from rag.authoring.generation.pages import Page
from rag.authoring.generation.probe import TextVectors, gains, solved_by
from rag.authoring.generation.proposals import MODEL, Proposal, Refusal, wanted
from rag.authoring.generation.selection import Rated, selected
from rag.authoring.generation.wording import Wording
from rag.core.progress import blocks
from rag.core.types import Document

LOST = "not found by words or vectors"
PER_DOCUMENT = 40
"""The most candidates of a kind that one document keeps, so that memory is bounded by the number of documents."""

POOL = 8
"""Questions that pass the filters for each one that is wanted, so that there is a choice."""

Proposer = Callable[[Mapping[str, Document], Passages, Mapping[str, int]], Iterable[Proposal]]
"""Documents by doc_id, their passages, and the wanted number of each kind → proposals."""


@dataclass(frozen=True)
class Generated:
    """A generated set: the questions that are kept with their ids, and what happened to the others.

    `proposed` counts proposals by method, `dropped` those that were left out by reason; `unread` were not looked at, because
    the set was complete. `notes` are findings for a person.
    """

    questions: Mapping[str, Candidate]
    documents: Mapping[str, Document]
    proposed: Mapping[str, int]
    dropped: Mapping[str, int]
    unread: int
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def rows(self, at: str) -> Iterator[Row]:
        """The lines of questions.jsonl, made on the day `at`."""
        for query_id, candidate in self.questions.items():
            yield row_of(candidate, query_id, self.documents, at)


def generate(
    documents: Sequence[Document],
    language: str = "english",
    total: int = 100,
    kinds: Sequence[str] = (),
    proposer: Proposer | None = None,
    vectors: TextVectors | None = None,
) -> Generated:
    """Make up to `total` questions; `proposer` adds proposals of a model. The same input gives the same questions.

    With `vectors` questions are chosen so that neither a search by words nor one by vectors is favoured.
    """
    shares, wording = wanted(total, kinds), Wording(language)
    unique, twins = _without_copies(documents)
    pages = [Page(document, language) for document in unique]
    english = English(wording, rules.common_words(pages)) if language == "english" else None
    by_id = {document.doc_id: document for document in unique}
    passages = Passages(pages, language)
    grids = [grid for page in pages for grid in table_rules.grids(page)]
    batches: Iterator[Iterable[Proposal]] = chain(
        [proposer(by_id, passages, shares)] if proposer else [],
        [corpus_rules.questions(pages, grids, passages, wording)],
        [figures.questions(pages, passages, wording)],
        (rules.questions(page, wording, english) for (page,) in blocks(pages, "documents asked about")),
    )
    proposed, refused = Counter[str](), Counter[str]()
    found = _bounded(batches, shares, proposed, refused)
    filters = Filters(pages, passages, wording)
    queues = {kind: _balanced(found.get(kind, ())) for kind in shares}
    left_out: Counter[str] = Counter()
    scale = POOL if vectors else 1
    pool = _passing(queues, shares, scale * total, filters, left_out)
    if vectors:
        rated = _rated(pool, unique, language, vectors)
        left_out[LOST] = sum(map(len, pool.values())) - sum(map(len, rated.values()))
        kept = selected(rated, shares, total)
    else:
        kept = [candidate for group in pool.values() for candidate in group]
    unread = sum(map(len, queues.values())) - left_out.total() - len(kept)
    questions = {f"q-{order(candidate)[:12]}": candidate for candidate in kept}
    shares_of, notes = _figures(kept, filters), _notes(wording, twins, kept, vectors is not None)
    return Generated(questions, by_id, dict(proposed), dict(refused + left_out), unread, shares_of, notes)


def _bounded(
    batches: Iterable[Iterable[Proposal]], shares: Mapping[str, int], proposed: Counter[str], refused: Counter[str]
) -> dict[str, list[list[Candidate]]]:
    """The candidates of each kind in `shares`, at most PER_DOCUMENT of a batch for a document; all proposals are counted."""
    found: dict[str, list[list[Candidate]]] = defaultdict(list)
    for batch in batches:
        own: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
        for proposal in batch:
            proposed[proposal.method] += 1
            if isinstance(proposal, Refusal):
                refused[proposal.reason] += 1
            elif proposal.kind in shares:
                own[proposal.kind, proposal.documents[0]].append(proposal)
        for (kind, _), candidates in own.items():
            found[kind].append(nsmallest(PER_DOCUMENT, candidates, key=order))
    return found


def _without_copies(documents: Sequence[Document]) -> tuple[list[Document], int]:
    """The documents with text, each text once."""
    first = {document.text: document for document in reversed(documents) if document.text.strip()}
    kept = sorted(first.values(), key=lambda document: document.doc_id)
    return kept, len(documents) - len(kept)


def order(candidate: Candidate) -> str:
    """A key that mixes candidates, the same for every run."""
    places = "|".join(f"{span.doc_id}:{span.start}" for group in candidate.evidence for span in group)
    return hashlib.sha256(f"{candidate.text}|{places}|{candidate.near}".encode("utf-8", "replace")).hexdigest()


def _passing(
    balanced: Mapping[str, Sequence[Candidate]], shares: Mapping[str, int], total: int, filters: Filters, dropped: Counter[str]
) -> dict[str, list[Candidate]]:
    """Up to `total` questions that pass the filters: the share of each kind, a model's first, then all kinds in turn.

    Questions without an answer stay at their share; definitions are not more than all others together.
    """
    waiting = {kind: iter(sorted(queue, key=lambda one: not one.method.startswith(MODEL))) for kind, queue in balanced.items()}
    kept: dict[str, list[Candidate]] = {kind: [] for kind in shares}
    while waiting and sum(map(len, kept.values())) < total:
        kind = min(waiting, key=lambda kind: (len(kept[kind]) / shares[kind], kind))
        candidate = next(waiting[kind], None)
        is_full = kind == "unanswerable" and len(kept[kind]) >= shares[kind]
        is_last = kind == "definition" and len(waiting) == 1 < len(shares)
        is_most = is_last and 2 * len(kept[kind]) >= sum(map(len, kept.values())) > 0
        if candidate is None or is_full or is_most:
            del waiting[kind]
            continue
        fitted = filters.fitted(candidate)
        if isinstance(fitted, str):
            dropped[fitted] += 1
        else:
            kept[kind].append(_in_paragraph(fitted, filters.pages))
    return kept


def _in_paragraph(candidate: Candidate, pages: Mapping[str, Page]) -> Candidate:
    """A question of a rule about a sentence, with the sentences around it as its evidence, which often hold a condition."""
    if candidate.kind != "factoid" or candidate.method.startswith(MODEL):
        return candidate
    groups = tuple(tuple(pages[span.doc_id].around(span) for span in group) for group in candidate.evidence)
    return replace(candidate, evidence=groups)


def _rated(
    pool: Mapping[str, Sequence[Candidate]], documents: Sequence[Document], language: str, vectors: TextVectors
) -> dict[str, list[Rated]]:
    """The questions of a pool with their gains, and if all trials solve them; without those that neither search finds."""
    asked = [candidate for group in pool.values() for candidate in group]
    easy = map(all, zip(*solved_by(documents, asked, language, vectors).values(), strict=True))
    rated = iter(zip(asked, gains(asked, documents, language, vectors).tolist(), easy, strict=True))
    return {
        kind: [
            (one, *pair, is_easy and bool(one.evidence))
            for one, pair, is_easy in islice(rated, len(group))
            if any(pair) or not one.evidence or one.method.startswith(MODEL)
        ]
        for kind, group in pool.items()
    }


def _balanced(groups: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """The candidates of all documents in turns: documents first, then their sections, then their methods."""
    placed = []
    for group in groups:
        seen: Counter[str] = Counter()
        for candidate in sorted(group, key=order):
            place = seen[candidate.cluster], seen[candidate.method]
            seen.update((candidate.cluster, candidate.method))
            placed.append((place, candidate))
    ranks: Counter[str] = Counter()
    turned = []
    for place, candidate in sorted(placed, key=lambda pair: (pair[0], order(pair[1]))):
        document = candidate.documents[0]
        turned.append((ranks[document], place, order(candidate), candidate))
        ranks[document] += 1
    return [candidate for *_, candidate in sorted(turned, key=lambda each: each[:3])]


def _figures(kept: Sequence[Candidate], filters: Filters) -> dict[str, Any]:
    """Counts by kind, method and document, and the shares that are shown for every set."""
    overlaps = [filters.overlap(candidate) for candidate in kept if candidate.evidence]
    size = max(len(kept), 1)
    return {
        "kinds": dict(Counter(candidate.kind for candidate in kept)),
        "methods": dict(Counter(candidate.method for candidate in kept)),
        "documents": dict(Counter(document for candidate in kept for document in candidate.documents[:1])),
        "clusters": len({candidate.cluster for candidate in kept}),
        "word_overlap": sum(overlaps) / len(overlaps) if overlaps else None,
        "answered_elsewhere": sum(filters.perhaps_elsewhere(candidate, 1 / 3) for candidate in kept) / size,
        "answerable_without_evidence": sum(filters.gives_away(candidate) for candidate in kept) / size,
    }


def _notes(wording: Wording, left_out: int, kept: Sequence[Candidate], is_balanced: bool) -> tuple[str, ...]:
    notes = []
    if not is_balanced:
        notes.append("without vectors the questions are not balanced by difficulty, and favour searches by words")
    if not wording.known:
        notes.append("there are no templates for this language: only short forms without grammar, and tables")
    if left_out:
        notes.append(f"documents without text, or with the text of another one, are not asked about: {left_out}")
    if not kept:
        notes.append("the documents hold nothing that a rule can ask about: no tables, definitions, lists or plain statements")
    return tuple(notes)
