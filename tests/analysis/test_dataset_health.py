"""Questions that deserve a look, on golden sets where somebody put them on purpose."""

import itertools
import json
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import Verb, verb
from support.small_set import AXES, TEXTS, write_experiment

from rag.analysis import dataset_health
from rag.analysis.dataset_health.questions import _Gold, give_aways, near_duplicates
from rag.analysis.dataset_health.trials import QuestionHistory, Record
from rag.components.loaders.folder import FolderLoader, NativeQuestions
from rag.config.experiment import load
from rag.core.records import Document, Evidence, Example, Query, Span, Turn
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.validation import candidates
from rag.execution.sweep import leaderboard, sweep

HANDBOOK = Path(__file__).parents[2] / "datasets" / "handbook"


def asked(query_id: str, text: str, split: str = "tune", *gold: Span | str, history: tuple[Turn, ...] = ()) -> Example:
    return Example(Query(query_id, text, history), tuple(Evidence((place,)) for place in gold), split=split, cluster=query_id)


# Wordings


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
    told = near_duplicates(Golden((), examples))
    assert bool(told) == found
    if found:
        assert (told[0].query_id, told[0].text) == ("a", examples[0].query.text)
        assert f"alike b in holdout: {other}" in told[0].why


def test_what_was_said_before_is_part_of_a_wording() -> None:
    turns = [Turn("user", "Tell me all about parental leave for members of the crew."), Turn("user", "What is a red mark?")]
    examples = (asked("a", "And how long?", history=(turns[0],)), asked("b", "And how long?", "holdout", history=(turns[1],)))
    assert near_duplicates(Golden((), examples)) == ()
    same = (examples[0], asked("c", "And how long?", "holdout", history=(turns[0],)))
    assert [finding.query_id for finding in near_duplicates(Golden((), same))] == ["a"]


def test_questions_without_a_letter_are_no_duplicates() -> None:
    assert near_duplicates(Golden((), (asked("a", "?"), asked("b", "!", "holdout")))) == ()


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh")), max_size=8), st.sampled_from([0.3, 0.5, 0.6, 0.9]))
def test_no_pair_that_is_alike_is_missed(sets: list[frozenset[str]], alike: float) -> None:
    wanted = {
        (one, other)
        for one, other in combinations(range(len(sets)), 2)
        if sets[one] | sets[other] and len(sets[one] & sets[other]) / len(sets[one] | sets[other]) >= alike
    }
    assert wanted <= set(candidates(sets, alike))


# Words that give the passage away

FILLER = [
    Document(f"f{n}.md", f"Boats and gauges number {n}. The river is measured at station {n} by a crew of two.")
    for n in range(9)
]
LOCK = Document("lock.md", "The padlock of the eel trap opens with combination 4417. Return it to the hut.")


def looked(text: str, *gold: Span | str) -> tuple[dataset_health.Finding, ...]:
    return give_aways(Golden((*FILLER, LOCK), (asked("q", text, "tune", *gold),)))


def test_a_question_in_the_words_of_its_passage() -> None:
    (told,) = looked("Which combination opens the padlock of the eel trap?", Span("lock.md", 0, 56))
    assert told.query_id == "q"
    assert told.why.startswith("its gold holds 100% of its words by weight, and BM25 ")


def test_other_words_for_the_same_are_fine() -> None:
    assert looked("What do I dial to get at the fish cage?", Span("lock.md", 0, 56)) == ()


def test_the_words_must_be_those_of_the_gold() -> None:
    assert looked("Which combination opens the padlock of the eel trap?", Span("lock.md", 57, 78)) == ()


def test_words_that_everything_holds_give_nothing_away() -> None:
    assert looked("Which river is measured at a station by a crew?", Span("f1.md", 0, 50)) == ()


def test_a_whole_document_is_given_away_too() -> None:
    assert [told.query_id for told in looked("Which combination opens the padlock of the eel trap?", "lock.md")] == ["q"]


def test_all_groups_must_be_given_away() -> None:
    assert looked("Which combination opens the padlock of the eel trap?", Span("lock.md", 0, 56), Span("f3.md", 0, 20)) == ()


def test_no_gold_and_no_words_are_no_finding() -> None:
    assert looked("Which combination opens the padlock of the eel trap?") == ()
    assert looked("?", Span("lock.md", 0, 56)) == ()


def test_on_the_handbook_a_handful() -> None:
    handbook = golden_sets.load(FolderLoader(str(HANDBOOK / "documents")), NativeQuestions(str(HANDBOOK)))
    assert 1 <= len(give_aways(handbook)) <= 10
    assert near_duplicates(handbook) == ()


# What trials made of it


def voted(*votes: tuple[str, str], solved: bool = False, gold: str = "gold.md") -> Record:
    """One question in several rankings: by which way to search, which document stands first."""
    record = Record({"q": QuestionHistory(asked("q", "?", "tune", gold))})
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
    found = voted(*votes).suspects()
    assert bool(found) == suspect
    if suspect:
        assert "begin with x.md; its gold is in gold.md" in found[0].why
    assert voted(*votes, solved=True).suspects() == ()


def test_what_is_said_of_questions_that_are_solved_by_none_or_all() -> None:
    record = Record()
    ranks = {"never": ([0, 2], [0, 9]), "far": ([7], [0]), "lost": ([0], [0]), "always": ([1, 3], [5, 2]), "once": ([1], [6])}
    for query_id, found in ranks.items():
        record.asked[query_id] = QuestionHistory(asked(query_id, "?", "tune", *["a"] * len(found[0])))
        for row in found:
            record.asked[query_id].add(np.array(row, np.int32), 5, "words", "a")
    none = "all evidence within k in none of 2 rankings; "
    assert {finding.query_id: finding.why for finding in record.unsolved()} == {
        "never": f"{none}at best 1 of 2 pieces among all candidates",
        "far": f"{none}at best by rank 7",
        "lost": f"{none}nothing among all candidates",
    }
    always = record.always_solved()
    assert [(finding.query_id, finding.why) for finding in always] == [
        ("always", "all evidence by rank 5 in each of 2 rankings")
    ]


# An experiment


@pytest.fixture
def rag(here: Path, golden: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    return verb(capsys, monkeypatch)


@pytest.fixture
def study(here: Path, golden: Path) -> Path:
    return write_experiment(here / "study.yaml", golden, AXES)


@pytest.fixture
def run() -> Callable[[Path], None]:
    def runs(path: Path) -> None:
        ready = sweep.prepare(load(str(path)))
        sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None)

    return runs


def test_before_the_sweep_what_needs_none_is_there(rag: Verb, study: Path) -> None:
    said = rag("dataset", "health", str(study), "--json")
    (found,) = said.json["sets"]
    assert (said.code, found["questions"], found["trials"], found["finished"]) == (0, 6, 18, 0)
    assert found["unsolved"] == found["always_solved"] == found["suspects"] == found["audits"] == []
    assert found["told"] == ["no trial of study has run on this store: findings from trials are left out; run rag sweep study"]
    shown = rag("dataset", "health", str(study)).out
    assert "0 of 18 trials finished" in shown
    assert "Solved by" not in shown
    assert not list(Path(".rag/store").rglob("stages/*"))


def test_after_the_sweep_the_lists_agree_with_the_scores(rag: Verb, study: Path, run: Any) -> None:
    run(study)
    (found,) = rag("dataset", "health", str(study), "--json").json["sets"]
    assert (found["finished"], found["told"]) == (18, [])
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


def test_wrong_gold_is_suspect(rag: Verb, study: Path, golden: Path, run: Any) -> None:
    questions = golden / "questions.jsonl"
    lines = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    (lost,) = (line for line in lines if line["id"] == "q4")
    assert TEXTS["bus.md"].count("Bicycles need a ticket of their own.") == 1
    lost["evidence"] = [{"any": [{"doc": "bus.md", "quote": "Bicycles need a ticket of their own."}]}]
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    path = write_experiment(study.with_name("wrong.yaml"), golden, AXES.replace("k: k=1,3", "k: k=1"))
    run(path)
    (found,) = rag("dataset", "health", str(path), "--json").json["sets"]
    suspects = {each["query_id"]: each["why"] for each in found["suspects"]}
    assert "begin with rules.txt; its gold is in bus.md" in suspects["q4"]
    assert "Gold may be wrong" in rag("dataset", "health", str(path)).out


def test_controls_have_no_voice(here: Path, golden: Path, run: Any) -> None:
    axes = "  control: control=none,gold_contexts,perfect_chunker\n  k: k=1,3"
    path = write_experiment(here / "ruled.yaml", golden, axes, ", generator=extractive, 'index=[bm25s]', fusion=single")
    path.write_text(path.read_text("utf-8").replace("generator=none, ", ""), "utf-8")
    run(path)
    ready = sweep.prepare(load(str(path)))
    (found,) = dataset_health.check_health(ready.plan, ready.store)
    assert (found.trials, found.finished) == (2, 2)


def test_controls_alone_say_nothing(here: Path, golden: Path, rag: Verb) -> None:
    path = write_experiment(here / "ruled.yaml", golden, "  control: control=perfect_chunker")
    (found,) = rag("dataset", "health", str(path), "--json").json["sets"]
    assert (found["trials"], found["questions"]) == (0, 6)
    assert found["told"] == ["every trial is a control: findings from trials are left out"]


def test_one_ranking_says_nothing_of_all(here: Path, golden: Path, run: Any) -> None:
    path = write_experiment(here / "single.yaml", golden, "  k: k=3")
    run(path)
    ready = sweep.prepare(load(str(path)))
    (found,) = dataset_health.check_health(ready.plan, ready.store)
    assert (found.finished, found.unsolved, found.always_solved) == (1, (), ())
    assert "only one ranking is stored" in found.told[0]


def test_what_was_cleared_away_is_told(study: Path, run: Any) -> None:
    run(study)
    ready = sweep.prepare(load(str(study)))
    (first, *_) = ready.plan.trials
    ready.store.remove(ready.plan.stages[first.ends.judge].entry)
    (found,) = dataset_health.check_health(ready.plan, ready.store)
    assert 0 < found.finished < 18
    assert found.told[0].startswith(f"{found.finished} of 18 trials have run")


def test_inexact_indexes_are_audited_once(here: Path, golden: Path, run: Any, rag: Verb) -> None:
    axes = "  index: ['index=[dense]', 'index=[faiss_ivf]', 'index=[bm25s,faiss_ivf]']\n  k: k=1,3"
    path = write_experiment(here / "ann.yaml", golden, axes, ", fusion=rrf")
    run(path)
    ready = sweep.prepare(load(str(path)))
    (found,) = dataset_health.check_health(ready.plan, ready.store)
    assert [(audit.index, audit.column) for _, audit in found.audits] == [
        ("faiss_ivf", leaderboard.objective_of(ready.plan).column)
    ]
    assert "Lost to approximate search" in rag("dataset", "health", str(path)).out
    (embedded,) = (stage for stage in ready.plan.stages.values() if stage.name == "embed")
    ready.store.remove(embedded.entry)
    (found,) = dataset_health.check_health(ready.plan, ready.store)
    assert found.audits == ()
    assert "is not in the store" in found.told[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "experiment: there is none called 'nosuch'"),
        (["STUDY", "split=nosuch"], "no question is in 'nosuch'"),
        (["STUDY", "++k=3"], "is what the axis 'k' varies"),
        (["STUDY", "loader.path=nowhere"], "nowhere"),
    ],
)
def test_bad_input(rag: Verb, study: Path, arguments: list[str], said: str) -> None:
    done = rag("dataset", "health", *[str(study) if each == "STUDY" else each for each in arguments])
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_what_words_weigh_does_not_depend_on_the_order_in_which_a_set_is_read() -> None:
    gold = _Gold.__new__(_Gold)
    gold.size, gold.common = 100, Counter(a=1, b=1, c=3, d=8, e=33)
    assert len({gold.weight(order) for order in itertools.permutations("abcde")}) == 1
