"""What a corpus holds of its folder: shares, blind spots, outliers and duplicates."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from statistics import median

import numpy as np

from rag.analysis.ingestion.near_duplicates import ALIKE, Signatures, groups
from rag.documents.manifest import ManifestLine

TINY, HUGE, DENSE, FEWEST = 50, 20, 5, 10
"""An outlier has fewer characters than TINY, more than HUGE times the median of all documents, or on a page more than DENSE
times the median of all documents with pages. The medians need FEWEST documents."""


@dataclass(frozen=True, slots=True)
class Outlier:
    """An included file that is unlike the others: `kind` says how, `figure` is the value."""

    path: str
    kind: str
    figure: float


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Included files with the same bytes, the same text, or (nearly) the same words; `alike` is the least estimated share."""

    kind: str
    paths: tuple[str, ...]
    alike: float = 1.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of a folder. `blind` are types and topmost folders with files of which none is included."""

    decisions: Mapping[str, int]
    characters: int
    included_share: float
    types: Mapping[str, Mapping[str, int]]
    reasons: Mapping[str, int]
    blind: tuple[str, ...]
    outliers: tuple[Outlier, ...]
    duplicates: tuple[Duplicates, ...]
    unused_rules: tuple[str, ...]
    near_duplicate_from: float = ALIKE


@dataclass(frozen=True, slots=True)
class TextFigures:
    """Figures of the text of a document: its digest, whether it has a word, and its signature."""

    digest: str
    has_words: bool
    signature: Signatures


def coverage(lines: Sequence[ManifestLine], texts: Mapping[str, TextFigures], rules: Sequence[str]) -> Coverage:
    """The coverage of a manifest; `texts` has the figures of the included documents, by path, `rules` the keys of all rules."""
    decisions = Counter(line.decision for line in lines)
    types: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        types[line.type or "without suffix"][line.decision] += 1
    used = {line.rule for line in lines}
    included = [line for line in lines if line.path in texts]
    return Coverage(
        decisions=dict(sorted(decisions.items())),
        characters=sum(line.characters for line in included),
        included_share=decisions["included"] / max(len(lines), 1),
        types={name: dict(sorted(counts.items())) for name, counts in sorted(types.items())},
        reasons=dict(Counter(line.reason for line in lines if line.decision in ("excluded", "failed")).most_common()),
        blind=(*(f"*.{name}" for name, counts in sorted(types.items()) if _is_blind(counts)), *_blind_folders(lines)),
        outliers=tuple(_outliers(included, texts)),
        duplicates=tuple(_duplicates(included, texts)),
        unused_rules=tuple(rule for rule in rules if rule not in used),
    )


def _is_blind(counts: Mapping[str, int]) -> bool:
    return not counts.get("included") and not counts.get("unparsed")


def _blind_folders(lines: Sequence[ManifestLine]) -> list[str]:
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        for folder in PurePosixPath(line.path).parents:
            folders[folder.as_posix()][line.decision] += 1
    blind = {folder for folder, counts in folders.items() if _is_blind(counts)}
    return [f"{folder}/" for folder in sorted(blind) if PurePosixPath(folder).parent.as_posix() not in blind or folder == "."]


def _outliers(lines: Sequence[ManifestLine], texts: Mapping[str, TextFigures]) -> list[Outlier]:
    lengths = [line.characters for line in lines]
    dense = [line.characters / line.pages for line in lines if line.pages]
    most = HUGE * median(lengths) if len(lengths) >= FEWEST else float("inf")
    per_page = DENSE * median(dense) if len(dense) >= FEWEST else float("inf")
    found = []
    for line in lines:
        if not texts[line.path].has_words:
            found.append(Outlier(line.path, "no words", line.characters))
        elif line.characters < TINY:
            found.append(Outlier(line.path, "tiny", line.characters))
        elif line.characters > most:
            found.append(Outlier(line.path, "huge", line.characters))
        if line.pages and line.characters / line.pages > per_page:
            found.append(Outlier(line.path, "dense pages", round(line.characters / line.pages)))
    return sorted(found, key=lambda each: (each.kind, each.path))


def _duplicates(lines: Sequence[ManifestLine], texts: Mapping[str, TextFigures]) -> list[Duplicates]:
    """Groups of the same bytes; of the same text, one file for the same bytes; of similar texts, one file for the same text."""
    worded = [line.path for line in lines if texts[line.path].has_words]
    hashes = {line.path: line.sha256 for line in lines}
    same_bytes = _grouped(worded, hashes.__getitem__)
    same_text = _grouped([paths[0] for paths in same_bytes], lambda path: texts[path].digest)
    distinct = [paths[0] for paths in same_text]
    signatures = np.stack([texts[path].signature for path in distinct]) if distinct else np.zeros((0, 1), np.uint32)
    exact = [("same bytes", same_bytes), ("same text", same_text)]
    found = [Duplicates(kind, tuple(paths)) for kind, each in exact for paths in each if len(paths) > 1]
    similar = groups(signatures)
    return found + [Duplicates("near-duplicates", tuple(distinct[row] for row in rows), alike) for rows, alike in similar]


def _grouped(paths: Sequence[str], key: Callable[[str], str]) -> list[list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        found[key(path)].append(path)
    return [*found.values()]
