"""Check a golden set: its counts, its weak spots, and the smallest difference that its size can detect."""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from rag.core.errors import DataError, UserError, problems_of
from rag.core.numbers import jsonable
from rag.core.roles import Loader, Questions
from rag.core.types import Anchor, Example, Fate
from rag.documents.anchors.quote_anchors import WORD
from rag.documents.folder.file_tree import NOT_TEXT, Skipped, SkippedWarning
from rag.documents.folder.files import gathered
from rag.evaluation.data.golden import Golden, gold_documents, gold_spans, load, skipped_by

ALIKE = 0.9
"""Share of common words (Jaccard) from which two questions count as near-duplicates."""
DEVIATION = 0.15
"""Assumed standard deviation of the difference between two trials on one question; reports state it."""
Z_ALPHA, Z_POWER = 1.96, 0.8416
"""Normal quantiles for a two-sided test at 5 % and for a power of 80 %."""


@dataclass(frozen=True, slots=True)
class SplitSize:
    """The size of one split. `scored` questions have evidence; `smallest_difference` is computed for them."""

    questions: int
    scored: int
    clusters: int
    smallest_difference: float | None


@dataclass(frozen=True, slots=True)
class Twins:
    """Two questions with (nearly) the same words; in two splits (`across_splits`) they bias the holdout."""

    first: str
    second: str
    alike: float
    across_splits: bool


@dataclass(frozen=True, slots=True)
class Stray:
    """A gold quote that also occurs in documents that are not gold for its question, so they would be scored as wrong."""

    query_id: str
    doc_id: str
    quote: str
    elsewhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LostQuote:
    """A quote that is not in its document: `fate` and `rule` say what lost it (`rag.core.questions.Anchor`)."""

    query_id: str
    doc_id: str
    fate: Fate
    rule: str


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """The result of `rag data check`. `kinds` counts questions by kind and split; `splits` includes `all`.

    `dealing` explains the splits if the dataset names none, else it is empty. `skipped` are files of the corpus that were not
    read; `without_evidence` are questions with answers but no evidence. `fates` counts quotes by fate, `lost` lists those that
    have no place, and `pieced` question and document of those that are in pieces or found by their words. `routes` counts the
    questions with a golden route.
    """

    documents: int
    empty_documents: int
    characters: int
    questions: int
    unanswerable: int
    evidence_groups: int
    clusters: int
    dealing: str
    kinds: Mapping[str, Mapping[str, int]]
    splits: Mapping[str, SplitSize]
    twins: tuple[Twins, ...]
    strays: tuple[Stray, ...]
    clusters_across_splits: tuple[str, ...]
    assumed_deviation: float = DEVIATION
    skipped: tuple[Skipped, ...] = ()
    without_evidence: tuple[str, ...] = ()
    fates: Mapping[str, int] = field(default_factory=dict)
    lost: tuple[LostQuote, ...] = ()
    pieced: tuple[tuple[str, str], ...] = ()
    routes: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The result as JSON values."""
        return dict(jsonable(asdict(self)))


def check_dataset(golden: Golden) -> DatasetCheck:
    """Check a loaded golden set; raises nothing, as `load` has refused invalid sets."""
    lengths = [len(document.text) for document in golden.documents]
    splits: dict[str, set[str]] = defaultdict(set)
    for example in golden.examples:
        splits[example.cluster].add(example.split)
    anchors = [
        (example.query.query_id, place) for example in golden.examples for place in example.places if isinstance(place, Anchor)
    ]
    return DatasetCheck(
        documents=len(lengths),
        empty_documents=sum(not document.text.strip() for document in golden.documents),
        characters=sum(lengths),
        questions=len(golden.examples),
        unanswerable=sum(example.to_decline for example in golden.examples),
        without_evidence=tuple(e.query.query_id for e in golden.examples if e.answers and not (e.has_gold or e.to_decline)),
        evidence_groups=sum(len(example.evidence) for example in golden.examples),
        clusters=len({example.cluster for example in golden.examples}),
        dealing=golden.dealing,
        kinds=_kinds(golden.examples),
        splits={"all": _size(golden.examples)} | {name: _size(golden.split(name).examples) for name in sorted(golden.sizes)},
        twins=tuple(_twins(golden.examples)),
        strays=tuple(_strays(golden)),
        clusters_across_splits=tuple(sorted(cluster for cluster, names in splits.items() if len(names) > 1)),
        skipped=golden.skipped,
        fates=golden.fates,
        lost=tuple(LostQuote(query_id, place.doc_id, place.fate, place.rule) for query_id, place in anchors if place.rule),
        pieced=tuple((query_id, place.doc_id) for query_id, place in anchors if place.fate in ("pieced", "words")),
        routes=dict(sorted(Counter(example.route for example in golden.examples if example.route).items())),
    )


@dataclass(frozen=True)
class LoadedCheck:
    """The check of a golden set (None if it cannot be used), all its problems, and the files that were not read."""

    check: DatasetCheck | None
    problems: tuple[UserError, ...]
    skipped: tuple[Skipped, ...]

    def to_json(self) -> dict[str, Any]:
        """The check, if there is one, and the problems, each with where, what and remedy."""
        problems = [{"where": each.where, "what": each.what, "remedy": each.remedy} for each in self.problems]
        content = self.check.to_json() if self.check else {"skipped": [asdict(file) for file in self.skipped]}
        return content | {"problems": problems}


def load_and_check(loader: Loader, questions: Questions) -> LoadedCheck:
    """Load and check a golden set; collect all its problems, including files that the loader could not read."""
    problems: list[UserError] = []
    check = None
    with warnings.catch_warnings(), gathered(problems):
        warnings.simplefilter("ignore", SkippedWarning)
        check = check_dataset(load(loader, questions))
    for quote in check.lost if check else ():
        if quote.fate == "redaction":
            what = f"its quote of {quote.doc_id!r} holds a value that the redaction rule {quote.rule} finds"
            remedy = "quote other words: the value is stored in the golden set"
            problems.append(DataError(f"question {quote.query_id!r}", what, remedy))
    skipped = skipped_by(loader)
    folder = Path(getattr(loader, "path", ""))
    for file in skipped:
        if file.wanted:
            remedy = "save the file as UTF-8" if file.reason == NOT_TEXT else "make it readable"
            problems.append(DataError(str(folder / file.name), file.detail or file.reason, f"{remedy}, or leave it out"))
    return LoadedCheck(check, tuple(part for error in problems for part in problems_of(error)), skipped)


def smallest_difference(questions: int) -> float | None:
    """The smallest mean difference that a paired test over so many questions detects in four of five tries; None for 0.

    (z_alpha + z_power) * DEVIATION / sqrt(n), the usual sample size formula solved for the difference. Questions of one
    cluster are similar, so with fewer clusters than questions the true value is larger.
    """
    return (Z_ALPHA + Z_POWER) * DEVIATION / math.sqrt(questions) if questions else None


def _size(examples: Sequence[Example]) -> SplitSize:
    scored = sum(bool(example.ranked) for example in examples)
    return SplitSize(len(examples), scored, len({example.cluster for example in examples}), smallest_difference(scored))


def _kinds(examples: Sequence[Example]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        counts[example.kind][example.split] += 1
    return {kind: dict(sorted(counts[kind].items())) for kind in sorted(counts)}


def _twins(examples: Sequence[Example]) -> Iterator[Twins]:
    words = [frozenset(WORD.findall(example.query.text.casefold())) for example in examples]
    for number, other, alike in similar_pairs(words, ALIKE):
        first, second = examples[number], examples[other]
        # The same words after other turns are another question.
        if first.query.history == second.query.history:
            yield Twins(first.query.query_id, second.query.query_id, alike, first.split != second.split)


def similar_pairs(sets: Sequence[frozenset[str]], least: float) -> Iterator[tuple[int, int, float]]:
    """Pairs of sets, by their numbers, with a Jaccard index of at least `least`, and the index.

    Only pairs that share one of their rarest elements are compared: no other pair is as similar (Chaudhuri et al., 2006).
    """
    common = Counter(element for each in sets for element in each)
    sharing: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(sets):
        rarest = sorted(each, key=lambda element: (common[element], element))
        for element in rarest[: len(each) - math.ceil(least * len(each) - 1e-9) + 1]:
            sharing[element].append(place)
    for first, second in sorted({pair for places in sharing.values() for pair in combinations(places, 2)}):
        alike = len(sets[first] & sets[second]) / len(sets[first] | sets[second])
        if alike >= least:
            yield first, second, alike


def _strays(golden: Golden) -> Iterator[Stray]:
    texts = {document.doc_id: document.text for document in golden.documents}
    holding: dict[str, list[str]] = {}
    for example in golden.examples:
        gold = gold_documents(example)
        for span in gold_spans(example):
            quote = texts[span.doc_id][span.start : span.end]
            if quote not in holding:
                holding[quote] = [doc_id for doc_id, text in texts.items() if quote in text]
            if elsewhere := tuple(doc_id for doc_id in holding[quote] if doc_id not in gold):
                yield Stray(example.query.query_id, span.doc_id, quote, elsewhere)


WORDS: Mapping[str, str] = {
    "exact": "exact",
    "pieced": "in pieces",
    "words": "by words on one page",
    "unplaced": "not placed",
    "parser": "lost by the parser",
    "redaction": "lost by redaction",
    "noise": "dropped as noise",
}
"""The words for each of `rag.core.questions.FATES`."""


def fates_in_words(fates: Mapping[str, int]) -> str:
    """`46 exact, 3 in pieces, 1 lost by the parser`; empty if all quotes are exact."""
    if not set(fates) - {"exact"}:
        return ""
    return ", ".join(f"{number} {WORDS[fate]}" for fate, number in fates.items())
