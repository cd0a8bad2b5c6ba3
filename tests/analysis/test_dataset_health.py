"""Findings about questions, on golden sets with known problems."""

import contextlib
import itertools
import shutil
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import Verb
from support.small_set import write_experiment, write_golden

from rag.analysis import dataset_health
from rag.analysis.dataset_health import QuestionHistory, Results
from rag.analysis.dataset_health.questions import _Gold, give_aways, near_duplicates
from rag.config.experiment import load
from rag.core.types import Document, Evidence, Example, Query, Span, Turn
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.validation import similar_pairs
from rag.execution.sweep import sweep

pytestmark = pytest.mark.usefixtures("here", "golden")


def asked(query_id: str, text: str, split: str = "tune", *gold: Span | str, history: tuple[Turn, ...] = ()) -> Example:
    return Example(Query(query_id, text, history), tuple(Evidence((place,)) for place in gold), split=split, cluster=query_id)


# Near-duplicates


@pytest.mark.parametrize(
    ("other", "split", "found"),
    [
        ("How many days of leave do I get in one year?", "holdout", True),
        ("how many days of LEAVE do i get, in a year", "holdout", True),
        ("How many days of leave do I get in one year?", "tune", False),
        ("Who repairs the roof of the boat house?", "holdout", False),
    ],
)
def test_a_wording_that_returns_in_another_split(other: str, split: str, found: bool) -> None:
    examples = (asked("a", "How many days of leave do I get in a year?"), asked("b", other, split))
    findings = near_duplicates(Golden((), examples))
    assert bool(findings) == found
    if found:
        assert (findings[0].query_id, findings[0].text) == ("a", examples[0].query.text)
        assert f"alike b in holdout: {other}" in findings[0].why


def test_the_history_is_part_of_a_wording() -> None:
    turns = [Turn("user", "Tell me all about parental leave for members of the crew."), Turn("user", "What is a red mark?")]
    examples = (asked("a", "And how long?", history=(turns[0],)), asked("b", "And how long?", "holdout", history=(turns[1],)))
    assert near_duplicates(Golden((), examples)) == ()
    same = (examples[0], asked("c", "And how long?", "holdout", history=(turns[0],)))
    assert [finding.query_id for finding in near_duplicates(Golden((), same))] == ["a"]
    assert near_duplicates(Golden((), (asked("a", "?"), asked("b", "!", "holdout")))) == ()


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh")), max_size=8), st.sampled_from([0.3, 0.5, 0.6, 0.9]))
def test_similar_pairs_are_those_of_comparing_every_pair(sets: list[frozenset[str]], alike: float) -> None:
    pairs = [(first, second) for first, second in combinations(range(len(sets)), 2) if sets[first] | sets[second]]
    indexes = {(first, second): len(sets[first] & sets[second]) / len(sets[first] | sets[second]) for first, second in pairs}
    assert list(similar_pairs(sets, alike)) == [(*pair, index) for pair, index in indexes.items() if index >= alike]


# Questions in the words of their passage

FILLER = [
    Document(f"f{n}.md", f"Boats and gauges number {n}. The river is measured at station {n} by a crew of two.")
    for n in range(9)
]
LOCK = Document("lock.md", "The padlock of the eel trap opens with combination 4417. Return it to the hut.")


SAME_WORDS = "Which combination opens the padlock of the eel trap?"


@pytest.mark.parametrize(
    ("text", "gold", "found"),
    [
        (SAME_WORDS, [Span("lock.md", 0, 56)], True),
        (SAME_WORDS, ["lock.md"], True),
        ("What do I dial to get at the fish cage?", [Span("lock.md", 0, 56)], False),
        (SAME_WORDS, [Span("lock.md", 57, 78)], False),  # the words are not in the gold
        ("Which river is measured at a station by a crew?", [Span("f1.md", 0, 50)], False),  # words of every document
        (SAME_WORDS, [Span("lock.md", 0, 56), Span("f3.md", 0, 20)], False),  # one group has other words
        (SAME_WORDS, [], False),
        ("?", [Span("lock.md", 0, 56)], False),
    ],
)
def test_a_question_in_the_words_of_its_passage(text: str, gold: list[Span | str], found: bool) -> None:
    findings = give_aways(Golden((*FILLER, LOCK), (asked("q", text, "tune", *gold),)))
    assert [finding.query_id for finding in findings] == ["q"] * found
    assert all(each.why.startswith("its gold holds 100% of its words by weight, and BM25 ") for each in findings)


# Findings from trials


def voted(*votes: tuple[str, str], solved: bool = False, gold: str = "gold.md") -> Results:
    """One question in several rankings: (way to search, first document) of each."""
    record = Results({"q": QuestionHistory(asked("q", "?", "tune", gold))})
    for way, first in votes:
        record.asked["q"].add(np.array([1 if solved else 9], np.int32), 5, way, first)
    return record


@pytest.mark.parametrize(
    ("votes", "suspect"),
    [
        ((("words", "x.md"), ("vectors", "x.md")), True),
        ((("words", "x.md"), ("vectors", "gold.md")), False),
        ((("words", "gold.md"), ("vectors", "gold.md")), False),
        ((("words", "x.md"), ("words", "x.md")), False),
        ((("words", "x.md"), *[("vectors", "x.md")] * 3, ("vectors", "y.md")), True),
        ((("words", "y.md"), *[("vectors", "x.md")] * 9), False),
        ((("words", ""), ("vectors", "")), False),
    ],
)
def test_gold_is_suspect_where_different_ways_to_search_agree_on_another_document(votes: Any, suspect: bool) -> None:
    findings = voted(*votes).suspects()
    assert bool(findings) == suspect
    assert all("begin with x.md; its gold is in gold.md" in finding.why for finding in findings)
    assert voted(*votes, solved=True).suspects() == ()


def test_questions_that_no_trial_or_every_trial_solves() -> None:
    record = Results()
    ranks = {"never": ([0, 2], [0, 9]), "far": ([7], [0]), "lost": ([0], [0]), "always": ([1, 3], [5, 2]), "once": ([1], [6])}
    for query_id, rows in ranks.items():
        record.asked[query_id] = QuestionHistory(asked(query_id, "?", "tune", *["a"] * len(rows[0])))
        for row in rows:
            record.asked[query_id].add(np.array(row, np.int32), 5, "words", "a")
    none = "all evidence within k in none of 2 rankings; "
    assert {finding.query_id: finding.why for finding in record.unsolved()} == {
        "never": f"{none}at best 1 of 2 pieces among all candidates",
        "far": f"{none}at best by rank 7",
        "lost": f"{none}nothing among all candidates",
    }
    (always,) = record.always_solved()
    assert (always.query_id, always.why) == ("always", "all evidence by rank 5 in each of 2 rankings")


# An experiment


AXES = """\
  chunker: ["chunker=fixed chunker.size=60", chunker=whole]
  search: ["index=[bm25s] fusion=single", "index=[bm25s,dense]"]
  k: k=1,3"""


def run(path: Path) -> sweep.Prepared:
    ready = sweep.prepare(load(str(path)))
    sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)
    return ready


def health(ready: sweep.Prepared) -> dataset_health.Health:
    (found,) = dataset_health.check_health(ready.plan, ready.store)
    return found


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a golden set, an experiment of eight trials, and the store of its sweep."""
    folder = tmp_path_factory.mktemp("swept")
    with contextlib.chdir(folder):
        run(write_experiment(Path("study.yaml"), write_golden(Path("golden")), AXES))
    return folder


@pytest.fixture
def study(here: Path, swept: Path) -> Path:
    """The experiment with its store, in the working folder."""
    shutil.copytree(swept, here, dirs_exist_ok=True)
    return here / "study.yaml"


def test_before_the_sweep_there_are_findings_from_questions_only(rag: Verb, study: Path) -> None:
    shutil.rmtree(".rag")
    said = rag("dataset", "health", str(study), "--json")
    (found,) = said.json["sets"]
    assert (said.code, found["questions"], found["trials"], found["finished"]) == (0, 6, 8, 0)
    assert found["unsolved"] == found["always_solved"] == found["suspects"] == []
    left_out = "no trial of study has run on this store: findings from trials are left out"
    assert found["told"] == [f"{left_out}; run rag sweep {study}"]
    shown = rag("dataset", "health", str(study)).out
    assert "0 of 8 trials finished" in shown
    assert "Solved by" not in shown
    assert not list(Path(".rag/store").rglob("stages/*"))


def test_after_the_sweep_the_lists_agree_with_the_scores(rag: Verb, study: Path) -> None:
    (found,) = rag("dataset", "health", str(study), "--json").json["sets"]
    assert (found["finished"], found["told"]) == (8, [])
    ready = sweep.prepare(load(str(study)))
    solved: dict[str, list[bool]] = {}
    for trial in ready.plan.trials:
        entry = ready.store.read(ready.plan.stages[trial.ends.judge].entry)
        assert entry
        for example, ranks in zip(trial.golden.examples, entry.arrays["group_ranks"], strict=True):
            if example.evidence:
                groups = ranks[: len(example.evidence)]
                within = all(0 < rank <= trial.trial.config["k"] for rank in groups)
                solved.setdefault(example.query.query_id, []).append(within)
    assert [each["query_id"] for each in found["unsolved"]] == [name for name, each in solved.items() if not any(each)]
    assert [each["query_id"] for each in found["always_solved"]] == [name for name, each in solved.items() if all(each)]
    assert "Solved by every trial" in rag("dataset", "health", str(study)).out


def test_one_ranking_is_not_enough(here: Path, golden: Path) -> None:
    found = health(run(write_experiment(here / "single.yaml", golden, "  k: k=3")))
    assert (found.finished, found.unsolved, found.always_solved) == (1, (), ())
    assert "only one ranking is stored" in found.told[0]


def test_trials_with_removed_stages_are_left_out(study: Path) -> None:
    ready = sweep.prepare(load(str(study)))
    ready.store.remove(ready.plan.stages[ready.plan.trials[0].ends.judge].entry)
    found = health(ready)
    assert 0 < found.finished < 8
    assert found.told[0].startswith(f"{found.finished} of 8 trials have run")


def test_weights_do_not_depend_on_the_order_of_a_set() -> None:
    gold = _Gold.__new__(_Gold)
    gold.size, gold.common = 100, Counter(a=1, b=1, c=3, d=8, e=33)
    assert len({gold.weight(order) for order in itertools.permutations("abcde")}) == 1
