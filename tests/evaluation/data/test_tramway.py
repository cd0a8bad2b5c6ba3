"""The golden set in German and Spanish keeps the rules of its README. It is read as JSON and text, not by a loader."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import Stemmer
from bm25s import stopwords

TRAMWAY = Path(__file__).parents[3] / "datasets" / "tramway"
TEXTS = {path.relative_to(TRAMWAY / "documents").as_posix(): path for path in (TRAMWAY / "documents").glob("*/*")}
LANGUAGES = {"german": "de", "spanish": "es"}
STOP = {"german": stopwords.STOPWORDS_GERMAN, "spanish": stopwords.STOPWORDS_SPANISH}
Row = dict[str, Any]


def text(doc: str) -> str:
    return TEXTS[doc].read_text("utf-8")


def rows(name: str) -> list[Row]:
    with (TRAMWAY / f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def gold(row: Row) -> list[tuple[str, str]]:
    return [(place["doc"], place["quote"]) for group in row["evidence"] for place in group["any"]]


def stems(words: str, language: str) -> set[str]:
    stemmer = Stemmer.Stemmer(language)
    return {stemmer.stemWord(word) for word in re.findall(r"\w\w+", words.lower()) if word not in STOP[language]}


QUESTIONS, DIALOGUES = rows("questions"), rows("dialogues")
ALL = QUESTIONS + DIALOGUES


def test_both_languages_have_documents_and_questions_enough() -> None:
    for language, folder in LANGUAGES.items():
        lengths = [len(text(doc).split()) for doc in TEXTS if doc.startswith(f"{folder}/")]
        assert len(lengths) >= 8
        assert all(300 <= length <= 900 for length in lengths)
        assert sum(row["tags"] == [language] for row in QUESTIONS) >= 22
    assert min(Counter(row["kind"] for row in QUESTIONS).values()) >= 8
    assert {doc for row in QUESTIONS for doc, _ in gold(row)} == set(TEXTS)


@pytest.mark.parametrize("row", ALL, ids=lambda row: row["id"])
def test_evidence_is_quoted_once_and_in_the_language_of_its_question(row: Row) -> None:
    assert (row["kind"] == "unanswerable") == (not row["evidence"]) == (not row["answers"])
    (language,) = row["tags"]
    for doc, quote in gold(row):
        assert text(doc).count(quote) == 1
        assert 20 <= len(quote) <= 300
        assert "\n" not in quote
        assert doc.startswith(f"{LANGUAGES[language]}/")
    if row["kind"] == "paraphrase":
        assert not stems(row["text"], language) & stems(" ".join(quote for _, quote in gold(row)), language)
    if row["kind"] == "accents":
        assert re.fullmatch(r"[a-zA-Z0-9 ,ñ]+", row["text"])
    if row["kind"] == "multi_hop":
        assert len({doc for doc, _ in gold(row)}) > 1


def test_splits_share_no_cluster_and_no_evidence() -> None:
    assert len({row["cluster"] for row in ALL}) == len({(row["cluster"], row["split"]) for row in ALL})
    for doc in TEXTS:
        quotes = {(text(doc).index(quote), quote, row["split"]) for row in ALL for named, quote in gold(row) if named == doc}
        for (start, quote, split), (after, _, other) in pairwise(sorted(quotes)):
            assert split == other or start + len(quote) <= after, quote
