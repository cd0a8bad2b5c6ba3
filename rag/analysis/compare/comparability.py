"""Conditions for comparing two results, and the questions that they have in common."""

import math
import re
from collections.abc import Collection, Sequence

import numpy as np

from rag.core.arrays import Flags, Floats
from rag.core.checks import check_choice
from rag.core.errors import ConfigError, DataError, closest
from rag.evaluation.data.golden import Golden
from rag.execution.sweep.trial_scores import Result, question_digest

BRIDGES = {
    "questions": ("golden", "questions with the same content in both are compared"),
    "corpus": ("corpus", "the difference then includes that of the documents"),
    "metrics": ("metric ", "the difference then includes that of the metrics"),
    "coverage": ("coverage", "the difference then includes that of the coverage rule"),
    "judge": ("judge", "the difference then includes that of the judges"),
}
"""Differences that may be allowed: the prefix of the fingerprints that may then differ, and the consequence."""

OPTIONAL = ("metric ", "judge")
"""Prefixes of fingerprints that one of two results may lack: no column of both then depends on it."""


UNITS = re.compile(r"latency|duration|seconds|elapsed|cost|price|tokens|(^|[^a-z])(ms|time)([^a-z]|$)", re.IGNORECASE)
"""Columns of times, costs and amounts: no shares, although all values may be below 1."""


def span_of(column: str, scores: Floats) -> float:
    """The most that means of a column can differ: 1 for shares from 0 to 1 (or -1 to 0), infinity for all else."""
    low, high = np.nanmin(scores, initial=0.0), np.nanmax(scores, initial=0.0)
    return 1.0 if high - low <= 1 and 0 in (low, high) and not UNITS.search(column) else math.inf


def comparable(base: Result, candidate: Result, bridges: Collection[str] = (), columns: Collection[str] | None = None) -> None:
    """Raise ConfigError if two results are not comparable and no bridge allows the difference; the error names the bridge.

    DataError if both have the fingerprint of one golden set and different questions: then a file was edited. `bridges` are
    keys of BRIDGES. Metrics that only one side measured are ignored, and so are those without a column in `columns`.
    """
    check_bridges(bridges)
    here, there = base.fingerprints, candidate.fingerprints
    both = here.keys() & there.keys()
    used = None if columns is None else {f"metric {column.partition('@')[0]}" for column in columns}
    apart = [
        name
        for name in sorted(here.keys() | there.keys())
        if here.get(name) != there.get(name)
        and (name in both or not name.startswith(OPTIONAL))
        and (used is None or name in used or not name.startswith("metric "))
    ]
    needed = {name: next((key for key, (start, _) in BRIDGES.items() if name.startswith(start)), "") for name in apart}
    refused = [name for name, bridge in needed.items() if bridge not in bridges]
    if refused:
        what = f"{', '.join(refused)} {'differs' if len(refused) == 1 else 'differ'} from {called(base)}"
        sides = {name: (base.config.get(name), candidate.config.get(name)) for name in ("split", "sample")}
        pairs = [f"{name} {one!r} and {other!r}" for name, (one, other) in sides.items() if one != other]
        asked = f": they have {', '.join(pairs)}" if pairs else ""
        missing = dict.fromkeys(needed[name] for name in refused)
        meant = f"{' '.join(f'--bridge {key}' for key in missing)} ({'; '.join(BRIDGES[key][1] for key in missing if key)})"
        remedy = "they cannot be compared" if "" in missing else f"if that is meant: {meant}"
        raise ConfigError(called(candidate), what + asked, remedy)
    if base.fingerprints.get("golden") == candidate.fingerprints.get("golden") and (
        odd := differences_in_words(base, candidate, ("only there", "only here", "changed"))
    ):
        counts = f"{len(base.questions)} questions, and {called(candidate)} {len(candidate.questions)}"
        what = f"has {counts} of the same golden set: {odd}"
        raise DataError(called(base), what, "take the file from git as it was written, or make it again")


def check_bridges(bridges: Collection[str]) -> None:
    """Raise ConfigError for a bridge that is not in BRIDGES."""
    for bridge in bridges:
        check_choice("--bridge", bridge, BRIDGES)


def common_columns(results: Sequence[Result]) -> tuple[str, ...]:
    """The columns in which every result has a value, in the order of the first result."""
    return tuple(
        column
        for column in results[0].scores.columns
        if all(column in each.scores.columns and not np.isnan(each.scores.column(column)).all() for each in results)
    )


def called(result: Result) -> str:
    """The name of a result in messages."""
    return f"trial {result.trial_id} ({result.name})" if result.trial_id != result.name else result.name


def check_column(result: Result, column: str) -> None:
    """Raise ConfigError for a column that a result lacks, DataError for a column without values."""
    if column not in result.scores.columns:
        raise ConfigError(f"column {column}", f"was not measured by {called(result)}", closest(column, result.scores.columns))
    if np.isnan(result.scores.column(column)).all():
        remedy = "an answer metric needs a generator, a ranking metric questions that the corpus can answer"
        raise DataError(f"column {column}", f"has no value in {called(result)}", remedy)


def differing_questions(base: Result, candidate: Result) -> tuple[list[str], list[str], list[str]]:
    """Ids of questions that were added, removed and changed."""
    there = candidate.questions
    added = [name for name in there if name not in base.questions]
    removed = [name for name in base.questions if name not in there]
    return added, removed, [name for name, digest in base.questions.items() if there.get(name, digest) != digest]


def differences_in_words(base: Result, candidate: Result, words: Sequence[str] = ("added", "removed", "changed")) -> str:
    """The numbers of added, removed and changed questions, each with its word; empty if all are the same."""
    counts = zip(differing_questions(base, candidate), words, strict=True)
    return ", ".join(f"{len(names)} {word} (the first: {names[0]!r})" for names, word in counts if names)


def matched(base: Result, candidate: Result, golden: Golden) -> tuple[list[int], list[int], list[int]]:
    """Rows in the golden set, the base and the candidate of every question with the same content in all of them."""
    places = [{name: row for row, name in enumerate(result.scores.query_ids)} for result in (base, candidate)]
    same = {name: digest for name, digest in base.questions.items() if candidate.questions.get(name) == digest}
    rows = [
        row
        for row, example in enumerate(golden.examples)
        if (digest := same.get(example.query.query_id)) and question_digest(example) == digest
    ]
    if not same:
        what = f"has no question in common with {called(base)}"
        raise DataError(called(candidate), what, "compare trials of one golden set and one split")
    if len(rows) < len(same):
        what = f"differs in {len(same) - len(rows)} of {len(same)} questions"
        raise DataError("golden set", what, "its questions changed since the trials ran: run the sweep again")
    names = [golden.examples[row].query.query_id for row in rows]
    return rows, [places[0][name] for name in names], [places[1][name] for name in names]


def one_sided(base: Result, candidate: Result, column: str, golden: Golden, half: Flags) -> DataError:
    """The error for questions, marked by `half`, with a score in only one of two results."""
    first = golden.examples[int(np.argmax(half))].query.query_id
    what = f"{half.sum()} questions have a value in only one of {called(base)} and {called(candidate)}, the first is {first!r}"
    return DataError(f"column {column}", what, "the rest would be a biased selection of questions: run both sweeps again")
