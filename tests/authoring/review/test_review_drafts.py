"""Drafts of golden questions from rated answers, and their open problems."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.corpora import text_folder
from support.ratings import BAD, FERRY, context, opinion, told

from rag.authoring.review import drafts as review
from rag.authoring.review.drafts import draft
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.types import SPLITS, Document, Turn
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden


@pytest.fixture
def known(golden: Path) -> Golden:
    return golden_sets.load(text_folder(str(golden / "documents")), NativeQuestions(str(golden)))


def quotes(row: dict[str, Any]) -> list[list[tuple[str, str]]]:
    return [[(place["doc"], place["quote"]) for place in group["any"]] for group in row["evidence"]]


def test_a_good_answer_becomes_the_reference_and_its_citation_the_evidence(known: Golden) -> None:
    drafted = draft(opinion(FERRY), known)
    assert drafted.open == ()
    assert (drafted.row["text"], drafted.row["answers"]) == ("When does the ferry go?", ["It leaves at seven."])
    assert quotes(drafted.row) == [[("ferry.md", "The ferry to Holm leaves at seven.")]]
    assert (drafted.row["kind"], drafted.row["tags"], drafted.row["history"]) == ("asked", ["feedback", "unconfirmed"], [])


def test_sentences_become_groups_and_their_citations_alternatives(known: Golden) -> None:
    contexts = [context(1, "ferry.md"), context(2, "rules.txt"), context(3, "bus.md")]
    answer = told(
        "What about dogs, children and bicycles?", "Children travel free [2, 1]. Bicycles need a ticket [3].", contexts
    )
    assert quotes(draft(opinion(answer), known).row) == [
        [("rules.txt", "Children under six travel free on ferry and bus."), ("ferry.md", "Dogs travel free of charge.")],
        [("bus.md", "Bicycles need a ticket of their own.")],
    ]

    answer = told("When?", "The ferry leaves at seven [1]. The ferry leaves at seven [1].", [context(1, "ferry.md")])
    assert len(draft(opinion(answer), known).row["evidence"]) == 1


def test_bad_answers_abstentions_and_answers_without_citations(known: Golden) -> None:
    bad = draft(opinion(BAD, -1), known)
    assert (bad.open, bad.row["answers"], bad.row["evidence"]) == ((review.BAD,), [], [])
    declined = opinion(told("Who was the first captain?", "I don't know.", [context(1, "ferry.md")], abstained=True))
    row = draft(declined, known).row
    assert (row["kind"], row["answers"], row["evidence"], draft(declined, known).open) == ("unanswerable", [], [], ())
    assert draft(opinion(told("When?", "At seven.", [context(1, "ferry.md")])), known).open == (review.BARE,)


def test_a_follow_up_has_its_history(known: Golden) -> None:
    history = (Turn("user", "When does the bus leave?"), Turn("assistant", "At eight."))
    row = draft(opinion(FERRY, history=history), known).row
    assert row["kind"] == "follow_up"
    assert row["history"] == [{"role": "user", "text": "When does the bus leave?"}, {"role": "assistant", "text": "At eight."}]


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"doc_id": "gone.md"}, "the corpus has no document 'gone.md'"),
        ({"text": "The ferry leaves at five now."}, "is not in 'ferry.md'"),
    ],
)
def test_a_document_that_has_changed_is_noted(known: Golden, changed: dict[str, str], note: str) -> None:
    drafted = draft(opinion(told("When?", "It leaves at seven [1].", [context(1, "ferry.md") | changed])), known)
    assert drafted.open == (review.BARE,)
    assert note in drafted.notes[0]


def test_a_quote_that_occurs_twice_keeps_its_place(known: Golden) -> None:
    twice = "The gate closes at noon. The gate closes at noon."
    golden = replace(known, documents=(*known.documents, Document("twice.md", twice)))
    read = {"number": 1, "doc_id": "twice.md", "start": 25, "end": 49, "text": twice[25:]}
    (group,) = draft(opinion(told("When?", "The gate closes at noon [1].", [read])), golden).row["evidence"]
    assert group["any"] == [{"doc": "twice.md", "quote": "The gate closes at noon.", "start": 25, "end": 49}]


def test_a_question_with_evidence_of_another_joins_its_cluster_and_split(known: Golden) -> None:
    row = draft(opinion(FERRY), known).row
    assert (row["cluster"], row["split"]) == ("q1", "tune")
    other = told("How much is the bus?", "A ticket costs four crowns [1].", [context(1, "bus.md")])
    row = draft(opinion(other), known).row
    assert (row["cluster"], row["split"]) == ("q2", "holdout")


def test_questions_of_one_session_are_one_cluster(known: Golden) -> None:
    rows = [draft(opinion(told(f"Question {n}?", "", session="ses_1"), -1), known).row for n in range(3)]
    assert len({row["cluster"] for row in rows}) == len({row["split"] for row in rows}) == 1
    assert rows[0]["split"] in SPLITS
    assert len({row["id"] for row in rows}) == 3
    alone = [draft(opinion(told(f"Question {n}?", ""), -1), known).row["cluster"] for n in range(3)]
    assert len(set(alone)) == 3


def test_secret_ids_are_not_revealed(known: Golden) -> None:
    answer = FERRY | {"session": "ses_" + "a" * 32}
    row = str(draft(opinion(answer), known).row)
    assert answer["id"] not in row
    assert answer["id"].removeprefix("ans_") not in row
    assert "a" * 32 not in row


def test_a_set_without_splits_gets_none(known: Golden) -> None:
    assert "split" not in draft(opinion(BAD, -1), replace(known, dealt={"tune": 3})).row
    assert "split" not in draft(opinion(BAD, -1), Golden(known.documents, ())).row


def test_gold_of_a_model_is_tagged_until_a_person_confirms_it(known: Golden) -> None:
    good, bad, declined = (
        draft(each, known)
        for each in (opinion(FERRY), opinion(BAD, -1), opinion(told("Why?", "I don't know.", abstained=True)))
    )
    assert "the model's own sentence" in good.notes[-1]
    assert good.row["tags"] == ["feedback", "unconfirmed"]
    for each in (bad, declined):
        assert review.GUESSED not in each.notes
        assert each.row["tags"] == ["feedback"]
    written = review.accepted(good, good.row, "Ann", {document.doc_id: document for document in known.documents})
    made = written.pop("provenance")
    assert written == good.row | {"tags": ["feedback"]}
    assert (made["method"], made["accepted"]["by"], list(made["documents"])) == ("rating", "Ann", ["ferry.md"])
