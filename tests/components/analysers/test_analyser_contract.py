"""The laws of analysers, for every choice in conf/analyser."""

import pytest
from support.choices import build, choices, node

from rag.components.indexes.bm25s import Bm25sIndex
from rag.config.build import Components
from rag.core.text.languages import STOP_WORDS
from rag.testing import check_analyser

HANDBOOK = ["Annual leave: 25 days.", "The unit HB-702 leaks.", "日本語", "", "e-mail anna.holm@post.example", "हिन्दी भाषा"]
LANGUAGES = ("german", "russian", "arabic", "finnish", "hindi", "chinese", "thai", "other")


@pytest.mark.parametrize("choice", choices("analyser"))
def test_laws(choice: str) -> None:
    check_analyser(build("analyser", choice))


@pytest.mark.parametrize("choice", choices("analyser"))
def test_every_choice_works_in_every_language(choice: str) -> None:
    written = node("analyser", choice)
    for language in LANGUAGES:
        named = {key: language if value == "english" else value for key, value in written.items()}
        index = Bm25sIndex(Components().build(named, "analyser"))
        found = index.open(index.build(HANDBOOK, None)).search(["HB-702 leaks"], None, 1)
        assert [place for place, _ in found.row(0)] == [1]


def test_the_language_of_the_wiring_reaches_stemmer_and_stop_words() -> None:
    german = build("analyser", "stems", stemmer="german", stopwords="german")
    assert german.terms("Die Anträge und der Antrag") == ["antrag", "antrag"]
    assert build("analyser", "content_words").terms("The cats and a café") == ["cats", "café"]
    assert build("analyser", "all_stems").terms("The cats") == ["the", "cat"]
    assert build("analyser", "words").terms("A cat's B-12") == ["cat", "12"]
    assert build("analyser", "every_word").terms("A cat's B-12") == ["a", "cat", "s", "b", "12"]


def test_every_listed_language_has_stop_words() -> None:
    for language in STOP_WORDS:
        analyser = build("analyser", "content_words", stopwords=language)
        assert len(analyser._stop) > 10
        assert analyser.terms(" ".join(sorted(analyser._stop)[:1])) == []
