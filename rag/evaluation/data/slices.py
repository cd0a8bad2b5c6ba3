"""Parts of a golden set under stable names, and what a small part can be believed to differ from the whole."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.components.loaders.quote_anchors import WORD
from rag.core.errors import ConfigError, closest
from rag.core.records import Document, Example, Span
from rag.evaluation.data.golden import Golden

Floats = NDArray[np.float64]
Labels = Iterable[str]

LENGTHS = ((1, 8), (9, 16), (17, 32))
"""Words of a question that stand together; longer ones follow. Fixed, so that a slice means the same in every set."""

META = "meta."
"""In front of the name of something that the metadata of documents say."""


@dataclass(frozen=True)
class Slice:
    """Some questions of a golden set: `members` marks them among its examples. `name` is `dimension=value`."""

    name: str
    dimension: str
    members: NDArray[np.bool_]


def slices_along(golden: Golden, dimensions: Sequence[str] = ("kind",)) -> tuple[Slice, ...]:
    """The slices of a golden set along each of some dimensions, in their order; a question may stand in several, or in none.

    Dimensions are DIMENSIONS, and `meta.<key>` for what the gold documents' metadata say. Which questions a slice holds does
    not depend on which others there are. Raises ConfigError for a dimension that there is not.
    """
    return tuple(part for dimension in dict.fromkeys(dimensions) for part in _along(golden, dimension))


def find_slice(golden: Golden, name: str) -> Slice:
    """The slice called `dimension=value`; ConfigError for one that holds no question."""
    dimension, is_pair, _ = name.partition("=")
    if not is_pair:
        raise ConfigError(f"slice {name}", "is no slice", "write dimension=value, for example kind=table")
    known = {part.name: part for part in slices_along(golden, (dimension,))}
    if name not in known:
        raise ConfigError(f"slice {name}", "holds no question of this golden set", closest(name, known))
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
    """Names that begin with a number stand in its order, behind all others."""
    digits = label[: len(label) - len(label.lstrip("0123456789"))]
    return bool(digits), int(digits or 0), label


def _labels(golden: Golden, dimension: str) -> Callable[[Example], Labels]:
    if dimension in DIMENSIONS:
        return DIMENSIONS[dimension]
    documents = {document.doc_id: document for document in golden.documents}
    keys = {f"{META}{key}" for document in golden.documents for key in document.metadata}
    if dimension not in keys:
        raise ConfigError(f"slices by {dimension}", "there is no such dimension", closest(dimension, {*DIMENSIONS, *keys}))
    return lambda example: _metadata(example, documents, dimension.removeprefix(META))


def _metadata(example: Example, documents: Mapping[str, Document], key: str) -> Labels:
    found = (documents[doc_id].metadata.get(key) for doc_id in _gold(example) if doc_id in documents)
    return [_said(value) for value in found if value is not None]


def _said(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _gold(example: Example) -> Iterable[str]:
    for group in example.evidence:
        for place in group.alternatives:
            yield place.doc_id if isinstance(place, Span) else place


def _words(example: Example) -> Labels:
    count = max(len(WORD.findall(example.query.text)), 1)
    return [next((f"{low}-{high}" for low, high in LENGTHS if count <= high), f"{LENGTHS[-1][1] + 1}+")]


def _turns(example: Example) -> Labels:
    return ["2+" if any(turn.role == "user" for turn in example.query.history) else "1"]


DIMENSIONS: Mapping[str, Callable[[Example], Labels]] = {
    "kind": lambda example: [example.kind] if example.kind else [],
    "tag": lambda example: example.tags,
    "doc": _gold,
    "words": _words,
    "answerable": lambda example: ["yes" if example.evidence else "no" if example.to_decline else "unknown"],
    "turns": _turns,
    "turn": lambda example: [str(example.turn)] if example.turn else [],
    "split": lambda example: [example.split] if example.split else [],
}
"""What every golden set can be sliced by: the values of a question. `doc` are its gold documents, `turns` counts what the
person has said, this question included, `turn` is its place in its dialogue."""


def shrunk(means: Floats, errors: Floats, n: NDArray[np.int64], overall: float) -> Floats:
    """Means of slices drawn towards the overall mean, the more so the less their size can tell; NaN where `n` is 0.

    The empirical Bayes estimate of a random effects model: (t · mean + e · overall) / (t + e), with t the variance between
    slices by the moments of DerSimonian and Laird (Controlled Clinical Trials 7, 1986), taken around the overall mean, and e
    the variance of a slice's mean. `errors` are the standard errors of the means; a handful of questions does not know its
    own, so that n · error² is averaged over slices by their n - 1. Where slices differ no more than their sizes explain, t is
    0 and every slice is believed to be like the whole. Meant for the slices of one dimension.
    """
    told = n > 0
    variance = _within(errors, n)
    if not told.any() or variance == 0 or np.isnan(overall):
        return np.where(told, means, np.nan)
    if np.isnan(variance):
        return np.where(told, overall, np.nan)
    noise = variance / np.maximum(n, 1)
    between = _between(means[told] - overall, 1 / noise[told])
    return np.where(told, (between * means + noise * overall) / (between + noise), np.nan)


def _within(errors: Floats, n: NDArray[np.int64]) -> float:
    """The variance of one question within its slice; NaN where no slice has two clusters."""
    known = ~np.isnan(errors) & (n > 1)
    freedom = (n - 1)[known]
    return float((freedom * n[known] * errors[known] ** 2).sum() / freedom.sum()) if known.any() else float("nan")


def _between(apart: Floats, weight: Floats) -> float:
    """The variance between slices; one slice alone is compared with the whole that it is part of."""
    several = len(apart) > 1
    spread = weight.sum() - (weight**2).sum() / weight.sum() if several else weight.sum()
    excess = (weight * apart**2).sum() - (len(apart) - 1 if several else 1)
    return float(max(0.0, excess / spread))
