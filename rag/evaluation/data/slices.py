"""Named parts of a golden set, and shrinkage of the means of small parts towards the mean of the whole."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.core.arrays import Flags, Floats, Ints
from rag.core.errors import ConfigError, closest
from rag.core.types import SET, Example
from rag.documents.anchors.quote_anchors import WORD
from rag.evaluation.data.golden import Golden, gold_documents

Labels = Iterable[str]

LENGTHS = ((1, 8), (9, 16), (17, 32))
"""Ranges of the number of words of a question; the last slice has more. Fixed, so a slice means the same in every set."""

META = "meta."
"""The prefix of dimensions from the metadata of documents."""


@dataclass(frozen=True)
class Slice:
    """Some questions of a golden set: `members` marks them, shape (questions,). `name` is `dimension=value`."""

    name: str
    dimension: str
    members: Flags


def slices_along(golden: Golden, dimensions: Sequence[str] = ("kind",)) -> tuple[Slice, ...]:
    """The slices of a golden set along some dimensions, in their order; a question may be in several slices or none.

    Dimensions are those of DIMENSIONS, and `meta.<key>` for the metadata of gold documents. Membership of a question does not
    depend on other questions. Raises ConfigError for an unknown dimension.
    """
    return tuple(part for dimension in dict.fromkeys(dimensions) for part in _along(golden, dimension))


def find_slice(golden: Golden, name: str) -> Slice:
    """The slice `dimension=value`; ConfigError if it has no questions."""
    dimension, is_pair, _ = name.partition("=")
    if not is_pair:
        raise ConfigError(f"slice {name}", "is not a slice", "write dimension=value, for example kind=table")
    known = {part.name: part for part in slices_along(golden, (dimension,))}
    if name not in known:
        raise ConfigError(f"slice {name}", "has no question of this golden set", closest(name, known))
    return known[name]


def _along(golden: Golden, dimension: str) -> Iterable[Slice]:
    labels = _labels(golden, dimension)
    rows: dict[str, list[int]] = {}
    for row, example in enumerate(golden.examples):
        for label in set(labels(example)):
            rows.setdefault(label, []).append(row)
    for label in sorted(rows, key=_place):
        members = np.zeros(len(golden.examples), np.bool_)
        members[rows[label]] = True
        yield Slice(f"{dimension}={label}", dimension, members)


def _place(label: str) -> tuple[bool, int, str]:
    """The sort key of a label: labels that begin with a number come last, in the order of the numbers."""
    digits = label[: len(label) - len(label.lstrip("0123456789"))]
    return bool(digits), int(digits or 0), label


def _labels(golden: Golden, dimension: str) -> Callable[[Example], Labels]:
    if dimension in DIMENSIONS:
        return DIMENSIONS[dimension]
    documents = {document.doc_id: document for document in golden.documents}
    keys = {f"{META}{key}" for document in golden.documents for key in document.metadata}
    if dimension not in keys:
        raise ConfigError(f"slices by {dimension}", "there is no such dimension", closest(dimension, {*DIMENSIONS, *keys}))

    def metadata(example: Example) -> Labels:
        gold = (documents[doc_id].metadata for doc_id in gold_documents(example) if doc_id in documents)
        values = (fields.get(dimension.removeprefix(META)) for fields in gold)
        return [str(value).lower() if isinstance(value, bool) else str(value) for value in values if value is not None]

    return metadata


def _words(example: Example) -> Labels:
    count = max(len(WORD.findall(example.query.text)), 1)
    return [next((f"{low}-{high}" for low, high in LENGTHS if count <= high), f"{LENGTHS[-1][1] + 1}+")]


DIMENSIONS: Mapping[str, Callable[[Example], Labels]] = {
    "kind": lambda example: [example.kind] if example.kind else [],
    "tag": lambda example: example.tags,
    "set": lambda example: [tag.removeprefix(SET) for tag in example.tags if tag.startswith(SET)],
    "doc": gold_documents,
    "words": _words,
    "answerable": lambda example: ["yes" if example.evidence else "no" if example.to_decline else "unknown"],
    "turns": lambda example: ["2+" if any(turn.role == "user" for turn in example.query.history) else "1"],
    "turn": lambda example: [str(example.turn)] if example.turn else [],
    "split": lambda example: [example.split] if example.split else [],
}
"""The labels of a question by dimension. `set` is its data set, where there are several, `doc` are its gold documents, `turns`
says whether the user said something before, `turn` is its place in its dialogue."""


def shrunk(means: Floats, errors: Floats, n: Ints, overall: float) -> Floats:
    """Means of slices shrunk towards the overall mean, small slices more; NaN where `n` is 0.

    The empirical Bayes estimate of a random effects model: (t · mean + e · overall) / (t + e), with t the variance between
    slices by the moments of DerSimonian and Laird (Controlled Clinical Trials 7, 1986), around the overall mean, and e the
    variance of a slice's mean. `errors` are the standard errors of the means; those of small slices are unreliable, so
    n · error² is averaged over slices with weights n - 1. If slices differ no more than by chance, t is 0 and every slice gets
    the overall mean. Meant for the slices of one dimension.
    """
    known = n > 0
    variance = _within(errors, n)
    if not known.any() or variance == 0 or np.isnan(overall):
        return np.where(known, means, np.nan)
    if np.isnan(variance):
        return np.where(known, overall, np.nan)
    noise = variance / np.maximum(n, 1)
    between = _between(means[known] - overall, 1 / noise[known])
    return np.where(known, (between * means + noise * overall) / (between + noise), np.nan)


def _within(errors: Floats, n: Ints) -> float:
    """The variance of a question within its slice; NaN if no slice has two clusters."""
    known = ~np.isnan(errors) & (n > 1)
    freedom = (n - 1)[known]
    return float((freedom * n[known] * errors[known] ** 2).sum() / freedom.sum()) if known.any() else float("nan")


def _between(apart: Floats, weight: Floats) -> float:
    """The variance between slices; a single slice is compared with the whole."""
    several = len(apart) > 1
    spread = weight.sum() - (weight**2).sum() / weight.sum() if several else weight.sum()
    excess = (weight * apart**2).sum() - (len(apart) - 1 if several else 1)
    return float(max(0.0, excess / spread))
