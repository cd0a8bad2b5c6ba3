"""What must agree before two results are compared, and which questions they have in common."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from rag.core.errors import ConfigError, DataError, closest
from rag.evaluation.data.golden import Golden
from rag.execution.sweep.trial_scores import Result, question_digest

BRIDGES = {
    "questions": ("golden", "the questions that say the same in both are compared"),
    "corpus": ("corpus", "the difference is then that of the documents as well"),
    "metrics": ("metric ", "the difference is then that of the metrics as well"),
    "coverage": ("coverage", "the difference is then that of the rule for what counts as found as well"),
    "judge": ("judge", "the difference is then that of the judges as well"),
}
"""What may differ if that is said: how the fingerprints begin that it lets differ, and what that means."""

OPTIONAL = ("metric ", "judge")
"""Fingerprints of what only one of two results may have, for then no column that both measured depends on it."""


def comparable(base: Result, candidate: Result, bridges: Collection[str] = (), columns: Collection[str] | None = None) -> None:
    """Raise ConfigError where two results do not measure the same thing and no bridge allows it; the error names the bridge.

    DataError where both have the fingerprint of one golden set, and their questions differ: then a file was edited.

    `bridges` are of BRIDGES. Metrics that only one of them measured do not matter, nor do those of no column, where these
    are given.
    """
    for bridge in bridges:
        if bridge not in BRIDGES:
            raise ConfigError("--bridge", f"{bridge!r} is nothing that may differ", closest(bridge, BRIDGES))
    apart = [name for name in _apart(base, candidate) if columns is None or _concerns(name, columns)]
    needed = {name: next((key for key, (start, _) in BRIDGES.items() if name.startswith(start)), "") for name in apart}
    refused = [name for name, bridge in needed.items() if bridge not in bridges]
    if refused:
        what = f"{', '.join(refused)} {'differs' if len(refused) == 1 else 'differ'} from {called(base)}"
        raise ConfigError(called(candidate), what + _splits(base, candidate), _remedy([needed[name] for name in refused]))
    if base.fingerprints.get("golden") == candidate.fingerprints.get("golden") and (
        odd := told_apart(base, candidate, ("only there", "only here", "changed"))
    ):
        counts = f"{len(base.questions)} questions, and {called(candidate)} {len(candidate.questions)}"
        what = f"has {counts} of the same golden set: {odd}"
        raise DataError(called(base), what, "take the file from git as it was written, or make it again")


def _apart(base: Result, candidate: Result) -> list[str]:
    here, there = base.fingerprints, candidate.fingerprints
    return [
        name
        for name in sorted({*here, *there})
        if here.get(name) != there.get(name) and not (name.startswith(OPTIONAL) and (name not in here or name not in there))
    ]


def _concerns(fingerprint: str, columns: Collection[str]) -> bool:
    return not fingerprint.startswith("metric ") or fingerprint.removeprefix("metric ") in {
        c.partition("@")[0] for c in columns
    }


def _splits(base: Result, candidate: Result) -> str:
    here, there = base.config.get("split"), candidate.config.get("split")
    return "" if here == there else f": they were asked the splits {here!r} and {there!r}"


def _remedy(bridges: Sequence[str]) -> str:
    if "" in bridges:
        return "they cannot be compared"
    chosen = dict.fromkeys(bridges)
    return f"if that is meant: {' '.join(f'--bridge {name}' for name in chosen)} ({'; '.join(BRIDGES[n][1] for n in chosen)})"


def common_columns(results: Sequence[Result]) -> tuple[str, ...]:
    """The columns that all results measured, and in which each of them has a value, in the order of the first."""
    return tuple(
        column
        for column in results[0].scores.columns
        if all(column in each.scores.columns and not np.isnan(each.scores.column(column)).all() for each in results)
    )


def called(result: Result) -> str:
    """A result as messages name it."""
    return f"trial {result.trial_id} ({result.name})"


def check_column(result: Result, column: str) -> None:
    """Raise ConfigError for a column that a result lacks, DataError for one in which it has no value."""
    if column not in result.scores.columns:
        raise ConfigError(f"column {column}", f"was not measured by {called(result)}", closest(column, result.scores.columns))
    if np.isnan(result.scores.column(column)).all():
        remedy = "an answer metric needs a generator, a ranking metric questions that the corpus can answer"
        raise DataError(f"column {column}", f"has no value in {called(result)}", remedy)


def questions(base: Result, candidate: Result) -> tuple[list[str], list[str], list[str]]:
    """Ids of questions that were added, removed and changed."""
    there = candidate.questions
    added = [name for name in there if name not in base.questions]
    removed = [name for name in base.questions if name not in there]
    return added, removed, [name for name, said in base.questions.items() if there.get(name, said) != said]


def told_apart(base: Result, candidate: Result, words: Sequence[str] = ("added", "removed", "changed")) -> str:
    """How many questions of a candidate are new, gone and changed, each with its word; empty where all are the same."""
    counts = zip(questions(base, candidate), words, strict=True)
    return ", ".join(f"{len(names)} {word} (the first: {names[0]!r})" for names, word in counts if names)


def matched(base: Result, candidate: Result, golden: Golden) -> tuple[list[int], list[int], list[int]]:
    """Rows in the golden set, in the base and in the candidate of every question that says the same in both."""
    places = [{name: row for row, name in enumerate(result.scores.query_ids)} for result in (base, candidate)]
    same = {name: said for name, said in base.questions.items() if candidate.questions.get(name) == said}
    rows = [
        row
        for row, example in enumerate(golden.examples)
        if (said := same.get(example.query.query_id)) and question_digest(example) == said
    ]
    if not same:
        what = f"has no question in common with {called(base)}"
        raise DataError(called(candidate), what, "compare trials of one golden set and one split")
    if len(rows) < len(same):
        what = f"says something else of {len(same) - len(rows)} of {len(same)} questions"
        raise DataError("golden set", what, "its questions changed since: run the sweep again")
    names = [golden.examples[row].query.query_id for row in rows]
    return rows, [places[0][name] for name in names], [places[1][name] for name in names]


def half_told(base: Result, candidate: Result, column: str, golden: Golden, half: NDArray[np.bool_]) -> DataError:
    """The error for questions, marked by `half`, that have a score in only one of two results."""
    first = golden.examples[int(np.argmax(half))].query.query_id
    what = f"{half.sum()} questions have a value in only one of {called(base)} and {called(candidate)}, the first is {first!r}"
    return DataError(f"column {column}", what, "what is left would be a choice of questions: run the sweep of both again")
