"""Comparisons: figures, families, and results that are refused."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rag.analysis.compare import Comparison, Table, comparable, compare
from rag.analysis.compare.comparability import common_columns
from rag.core.errors import ConfigError, DataError
from rag.core.types import Document, Evidence, Example, Query
from rag.evaluation.data import slices
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import Scores
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep.trial_scores import Result, question_digest

COLUMNS = ("ndcg@10", "recall@5")
FINGERPRINTS = {"golden": "g", "corpus": "c", "coverage": "0.5", "metric ndcg": "n", "metric recall": "r"}
NAN = float("nan")


def questions(count: int, per_cluster: int = 1, kinds: Sequence[str] = ("factoid", "table")) -> Golden:
    """So many questions, of alternating kinds."""
    examples = tuple(
        Example(
            Query(f"q{row}", f"Question {row}?"),
            (Evidence(("a.md",)),),
            kind=kinds[row % len(kinds)],
            cluster=f"c{row // per_cluster}",
        )
        for row in range(count)
    )
    return Golden((Document("a.md", "text"),), examples)


def result(golden: Golden, *columns: Sequence[float], name: str = "base") -> Result:
    """The result of a trial with some scores, one list per column."""
    ids = tuple(example.query.query_id for example in golden.examples)
    values = np.array(columns, np.float64).T
    scores = Scores(ids, COLUMNS[: len(columns)], values, np.zeros(len(ids), np.bool_))
    digests = {example.query.query_id: question_digest(example) for example in golden.examples}
    return Result(f"id-{name}", name, {}, {"split": "all"}, scores, digests, FINGERPRINTS)


FOUR = questions(4)
BASE = result(FOUR, [0.5, 0.5, 0.5, 0.5], [1, 1, 0, 0])
OTHER = result(FOUR, [1.0, 0.5, 0.25, 0.75], [1, 0, 0, 0], name="other")


def rows_of(table: Table) -> dict[tuple[str, str], Comparison]:
    return {(row.column, row.slice): row for row in table.rows}


# Figures


def test_a_comparison_by_hand() -> None:
    (row,) = compare(BASE, [OTHER], FOUR, ["ndcg@10"], ()).rows
    assert (row.base_name, row.candidate_name, row.column, row.slice) == ("base", "other", "ndcg@10", "")
    assert (row.base_id, row.candidate_id) == ("id-base", "id-other")
    assert (row.n, row.clusters, row.wins, row.ties, row.losses) == (4, 4, 2, 1, 1)
    assert (row.base_mean, row.candidate_mean, row.difference) == (0.5, 0.625, 0.125)
    # |±.5 ± .25 ± .25| is at least the observed .5 for six of the eight signs.
    assert row.p == pytest.approx(6 / 8)
    assert row.effect == pytest.approx(0.125 / np.std([0.5, 0, -0.25, 0.25], ddof=1))
    assert row.shrunk == row.difference
    assert row.low < row.difference < row.high


def test_the_order_of_rows_and_the_family() -> None:
    third = replace(OTHER, trial_id="id-third", name="third")
    parts = slices.slices_along(FOUR)
    table = compare(BASE, [OTHER, third], FOUR, COLUMNS, parts)
    places = [(row.candidate_name, row.column, row.slice) for row in table.rows]
    names = ("kind=factoid", "kind=table")
    one = [("ndcg@10", ""), ("recall@5", ""), *((column, part) for column in COLUMNS for part in names)]
    assert places == [(name, *place) for name in ("other", "third") for place in one]
    assert table.family == len(table.rows) == 12
    only = compare(BASE, [OTHER], FOUR, COLUMNS, parts, sliced=["recall@5"])
    assert [row.column for row in only.rows if row.slice] == ["recall@5"] * 2
    assert only.family == 4


def test_every_figure_is_that_of_the_family() -> None:
    golden = questions(30, per_cluster=2)
    random = np.random.default_rng(7)
    base, other = random.random((2, 30)), random.random((2, 30))
    parts = slices.slices_along(golden)
    table = compare(result(golden, *base), [result(golden, *other, name="other")], golden, COLUMNS, parts)
    apart = (other - base).T
    looked = [apart[:, 0], apart[:, 1]]
    looked += [np.where(part.members, apart[:, column], np.nan) for column in (0, 1) for part in parts]
    cluster = cluster_numbers(golden.examples)
    assert np.bincount(cluster).tolist() == [2] * 15
    found = family(np.column_stack(looked), cluster)
    for name in ("low", "high", "corrected_low", "corrected_high", "p", "p_adjusted", "effect", "detectable", "needed", "n"):
        assert [getattr(row, name) for row in table.rows] == pytest.approx(getattr(found, name).tolist()), name


def test_slices_are_shrunk_with_those_of_their_own_dimension_and_trial() -> None:
    golden = questions(40, kinds=("a", "b", "c", "c"))
    golden = replace(golden, examples=tuple(replace(e, tags=(f"t{row % 3}",)) for row, e in enumerate(golden.examples)))
    random = np.random.default_rng(11)
    base = result(golden, random.random(40) / 2)
    one, other = (
        result(golden, base.scores.values[:, 0] + random.normal(0.1, spread, 40), name=f"s{spread}") for spread in (0.1, 0.3)
    )
    together = compare(base, [one, other], golden, ["ndcg@10"], slices.slices_along(golden, ("kind", "tag"))).rows
    apart = [
        compare(base, [candidate], golden, ["ndcg@10"], slices.slices_along(golden, (dimension,))).rows[1:]
        for candidate in (one, other)
        for dimension in ("kind", "tag")
    ]
    found = [row.shrunk for row in together if row.slice]
    assert found == pytest.approx([row.shrunk for rows in apart for row in rows])


def test_a_trial_against_a_copy_of_itself() -> None:
    noise = 4e-7 * np.array([1, -1, 1, 1])
    copy = replace(result(FOUR, np.array([0.5] * 4) + noise), trial_id="id-copy", name="copy")
    (row,) = compare(BASE, [copy], FOUR, ["ndcg@10"], ()).rows
    assert (row.difference, row.wins, row.ties, row.losses, row.p) == (0.0, 0, 4, 0, 1.0)
    assert not row.significant
    content = row.to_json()
    assert (content["needed"], content["detectable"]) == (None, None)


# Untested slices


def test_a_slice_of_one_question_is_listed_and_not_tested() -> None:
    golden = questions(5, kinds=("a", "a", "a", "a", "b"))
    base, other = result(golden, [0.5] * 5), result(golden, [0.6, 0.4, 0.7, 0.5, 1.0], name="other")
    table = compare(base, [other], golden, ["ndcg@10"], slices.slices_along(golden))
    row = rows_of(table)["ndcg@10", "kind=b"]
    assert (row.n, row.difference, row.wins) == (1, 0.5, 1)
    assert not row.tested
    assert not row.significant
    assert table.family == 2
    content = row.to_json()
    unknown = ("low", "high", "corrected_low", "p", "p_adjusted", "effect", "detectable", "needed")
    assert {content[name] for name in unknown} == {None}
    assert row.shrunk < row.difference
    json.dumps(table.to_json(), allow_nan=False)
    golden = questions(4, per_cluster=4)
    table = compare(result(golden, [0, 0, 0, 0]), [result(golden, [1, 1, 1, 1], name="o")], golden, ["ndcg@10"], ())
    assert table.family == 0
    assert not table.rows[0].tested
    assert math.isnan(table.rows[0].p)


def test_a_slice_that_a_column_does_not_apply_to_is_left_out() -> None:
    base, other = result(FOUR, [0.5, NAN, 0.5, NAN]), result(FOUR, [0.6, NAN, 0.4, NAN], name="other")
    table = compare(base, [other], FOUR, ["ndcg@10"], slices.slices_along(FOUR))
    assert [row.slice for row in table.rows] == ["", "kind=factoid"]
    assert table.rows[0].n == 2


# Results that are not comparable


MATRIX = [
    *(("golden", "questions"), ("corpus", "corpus"), ("coverage", "coverage"), ("metric ndcg", "metrics")),
    *(("judge", "judge"), ("judge faithfulness", "judge")),
]


@pytest.mark.parametrize(("fingerprint", "bridge"), MATRIX)
def test_every_fingerprint_is_refused_unless_bridged(fingerprint: str, bridge: str) -> None:
    base = replace(BASE, fingerprints=FINGERPRINTS | {fingerprint: "here"})
    other = replace(OTHER, fingerprints=FINGERPRINTS | {fingerprint: "there"})
    for wrong in ((), tuple({name for _, name in MATRIX} - {bridge})):
        with pytest.raises(ConfigError, match=f"{fingerprint} differs from trial id-base .*\n.*--bridge {bridge} ") as caught:
            comparable(base, other, wrong)
        assert caught.value.where == "trial id-other (other)"
        with pytest.raises(ConfigError):
            compare(base, [other], FOUR, ["ndcg@10"], (), wrong)
    comparable(base, other, [bridge])
    assert compare(base, [other], FOUR, ["ndcg@10"], (), [bridge]).rows
    comparable(base, base)


def test_a_missing_fingerprint_differs() -> None:
    silent = {name: digest for name, digest in FINGERPRINTS.items() if name != "corpus"}
    for sides in ((replace(BASE, fingerprints=silent), OTHER), (BASE, replace(OTHER, fingerprints=silent))):
        with pytest.raises(ConfigError, match="corpus differs"):
            comparable(*sides)


def test_only_metrics_of_both_sides_and_of_compared_columns_count() -> None:
    other = replace(OTHER, fingerprints=FINGERPRINTS | {"metric recall": "else", "metric iou": "i", "judge faithfulness": "j"})
    comparable(BASE, other, columns=["ndcg@10"])
    comparable(other, BASE, columns=["ndcg@10"])
    with pytest.raises(ConfigError, match="metric recall differs"):
        comparable(BASE, other)
    with pytest.raises(ConfigError, match="metric recall differs"):
        comparable(BASE, other, columns=["ndcg@10", "recall@5"])


def test_all_differences_are_in_one_error() -> None:
    other = replace(
        OTHER, config={"split": "tune"}, fingerprints=FINGERPRINTS | {"golden": "x", "corpus": "y", "something": "new"}
    )
    with pytest.raises(ConfigError, match="corpus, golden, something differ from") as caught:
        comparable(BASE, other)
    assert "they have split 'all' and 'tune'" in caught.value.what
    assert caught.value.remedy == "they cannot be compared"
    two = replace(other, fingerprints=FINGERPRINTS | {"golden": "x", "corpus": "y"})
    with pytest.raises(ConfigError, match="--bridge corpus --bridge questions"):
        comparable(BASE, two)
    with pytest.raises(ConfigError, match="golden differs"):
        comparable(BASE, two, ["corpus"])
    with pytest.raises(ConfigError, match="did you mean 'questions'"):
        comparable(BASE, OTHER, ["question"])


# Questions


def test_bridged_questions_are_matched_by_content() -> None:
    golden = questions(8)
    changed = list(golden.examples)
    changed[2] = replace(changed[2], answers=("else",))
    changed[3] = replace(changed[3], query=Query("q3", "Something else?"))
    newer = Golden(golden.documents, (*reversed(changed[1:]), Example(Query("new", "New?"), (), cluster="c")))
    base = result(golden, np.linspace(0, 0.7, 8))
    # q1 and q4 … q7 are equal; the candidate has them in another order and scores .1 more in each.
    scores = [0.1 + int(e.query.query_id[1]) / 10 if e.query.query_id != "new" else 0.0 for e in newer.examples]
    other = replace(result(newer, scores, name="other"), fingerprints=FINGERPRINTS | {"golden": "newer"})
    with pytest.raises(ConfigError, match="golden differs"):
        compare(base, [other], newer, ["ndcg@10"], ())
    for at_hand in (newer, golden):
        table = compare(base, [other], at_hand, ["ndcg@10"], slices.slices_along(at_hand), ["questions"])
        assert (table.added, table.removed, table.changed) == (("new",), ("q0",), ("q2", "q3"))
        whole = table.rows[0]
        assert (whole.n, whole.wins) == (5, 5)
        assert whole.difference == pytest.approx(0.1)
        assert whole.base_mean == pytest.approx((1 + 4 + 5 + 6 + 7) / 50)
        assert sum(row.n for row in table.rows[1:]) == 5


def test_several_candidates_over_several_golden_sets() -> None:
    golden = questions(6)
    fewer = [replace(golden, examples=golden.examples[first : first + 4]) for first in (0, 2)]
    candidates = [
        replace(result(each, [0.5, 0.6, 0.7, 0.8], name=f"c{row}"), fingerprints=FINGERPRINTS | {"golden": f"g{row}"})
        for row, each in enumerate(fewer)
    ]
    table = compare(result(golden, [0.4] * 6), candidates, golden, ["ndcg@10"], (), ["questions"])
    assert [(row.candidate_name, row.n, row.difference) for row in table.rows] == [
        ("c0", 4, pytest.approx(0.25)),
        ("c1", 4, pytest.approx(0.25)),
    ]
    assert table.removed == ("q4", "q5", "q0", "q1")


def test_no_common_question_and_a_changed_golden_set() -> None:
    elsewhere = replace(FOUR, examples=tuple(replace(e, query=Query(f"x{e.query.query_id}", "?")) for e in FOUR.examples))
    other = replace(result(elsewhere, [0.5] * 4, name="other"), fingerprints=FINGERPRINTS | {"golden": "x"})
    with pytest.raises(DataError, match="no question in common with trial id-base"):
        compare(BASE, [other], FOUR, ["ndcg@10"], (), ["questions"])
    changed = replace(FOUR, examples=(replace(FOUR.examples[0], tags=("new",)), *FOUR.examples[1:]))
    with pytest.raises(DataError, match="differs in 1 of 4 questions"):
        compare(BASE, [OTHER], changed, ["ndcg@10"], ())


# Columns


def test_a_missing_column_and_a_column_without_values() -> None:
    narrow = result(FOUR, [0.5] * 4, name="narrow")
    with pytest.raises(ConfigError, match="was not measured by trial id-narrow") as caught:
        compare(BASE, [narrow], FOUR, ["recall@5"], ())
    assert caught.value.where == "column recall@5"
    with pytest.raises(ConfigError, match="did you mean 'ndcg@10'"):
        compare(BASE, [OTHER], FOUR, ["ndgc@10"], ())
    assert common_columns([BASE, narrow]) == ("ndcg@10",)
    empty = result(FOUR, [0.5] * 4, [NAN] * 4, name="empty")
    with pytest.raises(DataError, match=r"has no value in trial id-empty \(empty\)\n.*needs a generator"):
        compare(BASE, [empty], FOUR, ["recall@5"], ())
    assert common_columns([BASE, empty]) == ("ndcg@10",)


def test_scores_of_only_one_side() -> None:
    half = result(FOUR, [0.5, NAN, 0.5, NAN], name="half")
    full = result(FOUR, [0.5, 1, 0.5, 1], name="full")
    for base, other in ((full, half), (half, full)):
        with pytest.raises(DataError, match=r"2 questions have a value in only one of .* the first is 'q1'"):
            compare(base, [other], FOUR, ["ndcg@10"], ())
        row = compare(base, [other], FOUR, ["ndcg@10"], (), ["metrics"]).rows[0]
        assert (row.n, row.base_mean, row.candidate_mean) == (2, 0.5, 0.5)


def test_columns_of_answers_are_compared_over_common_questions() -> None:
    results = [result(FOUR, values, name=name) for values, name in (([0.5, NAN, 0.5, NAN], "half"), ([1, 1, 1, 0], "full"))]
    half, full = (replace(each, scores=replace(each.scores, columns=("faithfulness",))) for each in results)
    for base, other, gained in ((full, half, -0.5), (half, full, 0.5)):
        row = compare(base, [other], FOUR, ["faithfulness"], ()).rows[0]
        assert (row.n, row.difference) == (2, gained)
