import math

import pytest
from support.corpora import text_folder

from rag.components.loaders.native_questions import NativeQuestions
from rag.core.files import shipped
from rag.core.types import Document, Evidence, Example, Query, Span, Turn
from rag.evaluation.data.golden import Golden, load
from rag.evaluation.data.validation import Stray, Twins, check_dataset, smallest_difference

A = Document("a.md", "Leave is 25 days. Crew: 28 days.")
B = Document("b.md", "Notice is 25 days.")
EMPTY = Document("c.md", "")


def asked(query_id: str, text: str, split: str = "tune", cluster: str = "", history: tuple[Turn, ...] = ()) -> Example:
    return Example(Query(query_id, text, history), (Evidence(("a.md",)),), split=split, cluster=cluster or query_id)


def golden(*examples: Example) -> Golden:
    return Golden((A, B, EMPTY), examples)


def test_the_smallest_difference_in_closed_form() -> None:
    assert smallest_difference(100) == pytest.approx(0.042024)
    assert smallest_difference(0) is None


def test_counts() -> None:
    unanswerable = Example(Query("q3", "Who?"), kind="none", split="tune", cluster="x")
    checked = check_dataset(golden(asked("q1", "How long?"), asked("q2", "When?", "holdout"), unanswerable))
    assert (checked.documents, checked.empty_documents, checked.characters) == (3, 1, len(A.text) + len(B.text))
    assert (checked.questions, checked.unanswerable, checked.evidence_groups, checked.clusters) == (3, 1, 2, 3)
    assert checked.kinds == {"": {"holdout": 1, "tune": 1}, "none": {"tune": 1}}
    assert set(checked.splits) == {"all", "tune", "holdout"}
    tune = checked.splits["tune"]
    assert (tune.questions, tune.scored, tune.clusters) == (2, 1, 2)
    assert tune.smallest_difference == pytest.approx(2.8016 * 0.15)
    assert checked.splits["all"].smallest_difference == pytest.approx(2.8016 * 0.15 / math.sqrt(2))
    assert not checked.dealing


def test_the_same_words_are_twins_unless_the_history_differs() -> None:
    checked = check_dataset(golden(asked("q1", "How long is leave?"), asked("q2", "how long -- is LEAVE", "holdout")))
    assert checked.twins == (Twins("q1", "q2", 1.0, True),)
    after = (Turn("user", "And in winter?"),)
    assert check_dataset(golden(asked("q1", "How long?"), asked("q2", "How long?", history=after))).twins == ()


def test_nine_of_ten_words_make_twins() -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    near = check_dataset(golden(asked("q1", " ".join([*words, "ten"])), asked("q2", " ".join(words)))).twins
    assert near == (Twins("q1", "q2", 0.9, False),)
    assert check_dataset(golden(asked("q1", " ".join(words)), asked("q2", " ".join(words[:8])))).twins == ()


def test_a_quote_in_another_document_is_a_stray() -> None:
    quote = Example(Query("q1", "How long?"), (Evidence((Span("a.md", 9, 16),)),), split="tune", cluster="q1")
    assert check_dataset(golden(quote)).strays == (Stray("q1", "a.md", "25 days", ("b.md",)),)
    known = Example(Query("q1", "How long?"), (Evidence((Span("a.md", 9, 16), "b.md")),), split="tune", cluster="q1")
    assert check_dataset(golden(known)).strays == ()


def test_a_cluster_in_two_splits_is_named() -> None:
    checked = check_dataset(golden(asked("q1", "a", "tune", "x"), asked("q2", "b", "holdout", "x"), asked("q3", "c")))
    assert checked.clusters_across_splits == ("x",)


@pytest.mark.parametrize("name", ["handbook", "tramway"])
def test_shipped_sets_have_no_problem(name: str) -> None:
    """Each quote is in its document once, or a set would not load."""
    folder = shipped("datasets") / name
    for more in ((), ("dialogues.jsonl",)):
        golden = load(text_folder(str(folder / "documents")), NativeQuestions(str(folder), *more))
        assert name != "tramway" or {tag for each in golden.examples for tag in each.tags} == {"german", "spanish"}
        checked = check_dataset(golden)
        assert checked.questions >= 32
        assert (checked.clusters_across_splits, checked.twins, checked.strays) == ((), (), ())
