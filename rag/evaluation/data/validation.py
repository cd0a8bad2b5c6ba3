"""What a golden set can and cannot show: its counts, its weak spots, and the smallest difference its size can detect."""

import math
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from rag.components.loaders.file_tree import NOT_TEXT, Skipped, SkippedWarning
from rag.components.loaders.files import gathered
from rag.components.loaders.quote_anchors import WORD
from rag.core.errors import DataError, UserError, problems_of
from rag.core.records import Example, Span
from rag.core.roles import Loader, Questions
from rag.evaluation.data.golden import Golden, load, skipped_by

ALIKE = 0.9
"""Share of common words (Jaccard) from which two questions count as near-duplicates."""

DEVIATION = 0.15
"""Assumed standard deviation of the difference between two trials on one question; to be said with the result."""

Z_ALPHA, Z_POWER = 1.96, 0.8416
"""Normal quantiles of a two-sided test at 5 % and of a power of 80 %."""


@dataclass(frozen=True, slots=True)
class SplitSize:
    """One split. `scored` questions have evidence: retrieval is measured on them, and `smallest_difference` is theirs."""

    questions: int
    scored: int
    clusters: int
    smallest_difference: float | None


@dataclass(frozen=True, slots=True)
class Twins:
    """Two questions that say the same, or nearly so; `across_splits` makes a holdout look better than it is."""

    first: str
    second: str
    alike: float
    across_splits: bool


@dataclass(frozen=True, slots=True)
class Stray:
    """A gold quote that also stands in documents that are not gold for its question: they would be scored as wrong."""

    query_id: str
    doc_id: str
    quote: str
    elsewhere: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """Everything `rag dataset check` says. `kinds` counts questions by kind and split; `splits` has `all` besides its own.

    `dealing` says where splits come from that the dataset does not name; it is empty where it does. `skipped` are files of the
    corpus that were not read, `without_evidence` questions with answers of which it is not known where they stand.
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

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, texts and numbers."""
        plain = asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in plain.items()}


def check_dataset(golden: Golden) -> DatasetCheck:
    """Look through a golden set; nothing is printed and nothing raised, for `load` has already refused what is wrong."""
    lengths = [len(document.text) for document in golden.documents]
    return DatasetCheck(
        documents=len(lengths),
        empty_documents=sum(not document.text.strip() for document in golden.documents),
        characters=sum(lengths),
        questions=len(golden.examples),
        unanswerable=sum(example.to_decline for example in golden.examples),
        without_evidence=tuple(e.query.query_id for e in golden.examples if not (e.has_gold or e.to_decline)),
        evidence_groups=sum(len(example.evidence) for example in golden.examples),
        clusters=len({example.cluster for example in golden.examples}),
        dealing=golden.dealing,
        kinds=_kinds(golden.examples),
        splits={"all": _size(golden.examples)} | {name: _size(golden.split(name).examples) for name in sorted(golden.sizes)},
        twins=tuple(_twins(golden.examples)),
        strays=tuple(_strays(golden)),
        clusters_across_splits=_across_splits(golden.examples),
        skipped=golden.skipped,
    )


@dataclass(frozen=True)
class Look:
    """A golden set looked at: `check` where it can be used, all `problems`, and files of the corpus that were not read."""

    check: DatasetCheck | None
    problems: tuple[UserError, ...]
    skipped: tuple[Skipped, ...]

    def to_json(self) -> dict[str, Any]:
        """The check, if there is one, and the problems, each with where, what and remedy."""
        told = [{"where": one.where, "what": one.what, "remedy": one.remedy} for one in self.problems]
        plain = self.check.to_json() if self.check else {"skipped": [asdict(one) for one in self.skipped]}
        return plain | {"problems": told}


def look(loader: Loader, questions: Questions) -> Look:
    """Load a golden set and gather all that is wrong with it, files that its loader should have read and could not included."""
    problems: list[UserError] = []
    check = None
    with warnings.catch_warnings(), gathered(problems):
        warnings.simplefilter("ignore", SkippedWarning)
        check = check_dataset(load(loader, questions))
    skipped = skipped_by(loader)
    folder = Path(getattr(loader, "path", ""))
    for one in skipped:
        if one.wanted:
            remedy = (
                "save the file as UTF-8, or leave it out" if one.reason == NOT_TEXT else "make it readable, or leave it out"
            )
            problems.append(DataError(str(folder / one.name), one.detail or one.reason, remedy))
    return Look(check, tuple(part for one in problems for part in problems_of(one)), skipped)


def smallest_difference(questions: int, deviation: float = DEVIATION) -> float | None:
    """The smallest mean difference that a paired test over so many questions finds in four of five tries; None for none.

    (z_alpha + z_power) * deviation / sqrt(n), the usual sample size formula turned around. Questions of one cluster are
    alike, so that with fewer clusters than questions the true value is larger.
    """
    return (Z_ALPHA + Z_POWER) * deviation / math.sqrt(questions) if questions else None


def _size(examples: Sequence[Example]) -> SplitSize:
    scored = sum(bool(example.evidence) for example in examples)
    return SplitSize(len(examples), scored, len({example.cluster for example in examples}), smallest_difference(scored))


def _kinds(examples: Sequence[Example]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        counts[example.kind][example.split] += 1
    return {kind: dict(sorted(counts[kind].items())) for kind in sorted(counts)}


def _across_splits(examples: Sequence[Example]) -> tuple[str, ...]:
    splits: dict[str, set[str]] = defaultdict(set)
    for example in examples:
        splits[example.cluster].add(example.split)
    return tuple(sorted(cluster for cluster, names in splits.items() if len(names) > 1))


def _twins(examples: Sequence[Example]) -> Iterator[Twins]:
    words = [frozenset(WORD.findall(example.query.text.casefold())) for example in examples]
    for one, other in candidates(words, ALIKE):
        first, second = examples[one], examples[other]
        # The same words after other turns ask for something else.
        if first.query.history == second.query.history:
            alike = len(words[one] & words[other]) / len(words[one] | words[other])
            if alike >= ALIKE:
                yield Twins(first.query.query_id, second.query.query_id, alike, first.split != second.split)


def candidates(words: Sequence[frozenset[str]], alike: float) -> list[tuple[int, int]]:
    """Pairs whose Jaccard index can reach `alike`: such sets share one of their rarest words (Chaudhuri et al., 2006)."""
    common = Counter(word for each in words for word in each)
    sharing: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(words):
        rarest = sorted(each, key=lambda word: (common[word], word))
        for word in rarest[: len(each) - math.ceil(alike * len(each) - 1e-9) + 1]:
            sharing[word].append(place)
    return sorted({pair for places in sharing.values() for pair in combinations(places, 2)})


def _strays(golden: Golden) -> Iterator[Stray]:
    texts = {document.doc_id: document.text for document in golden.documents}
    found: dict[str, list[str]] = {}
    for example in golden.examples:
        gold = {_doc_id(place) for group in example.evidence for place in group.alternatives}
        for span in _spans(example):
            quote = texts[span.doc_id][span.start : span.end]
            if quote not in found:
                found[quote] = [doc_id for doc_id, text in texts.items() if quote in text]
            elsewhere = tuple(doc_id for doc_id in found[quote] if doc_id not in gold)
            if elsewhere:
                yield Stray(example.query.query_id, span.doc_id, quote, elsewhere)


def _spans(example: Example) -> Iterable[Span]:
    places = (place for group in example.evidence for place in group.alternatives)
    return dict.fromkeys(place for place in places if isinstance(place, Span))


def _doc_id(place: Span | str) -> str:
    return place.doc_id if isinstance(place, Span) else place
