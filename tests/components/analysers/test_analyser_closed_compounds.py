"""Compounds that are written as one word."""

from itertools import chain

import pytest

from rag.components.analysers.closed_compounds import ClosedCompoundAnalyser
from rag.components.indexes.bm25s import Bm25sIndex
from rag.core.errors import ConfigError

TEXTS = [
    *("Die Kontrolle im Zug.", "Der Fahrschein kostet drei Euro.", "Fahrscheinkontrollen gibt es täglich."),
    *("Die Haltestellen an der Bahn und der Straße.", "Straßenbahnhaltestelle Nord, Verkehrsamt Süd; überall Verkehr."),
    "Das Amt ist offen.",
]


def german(**changes: int) -> ClosedCompoundAnalyser:
    return ClosedCompoundAnalyser(stemmer="german", stopwords="german", **changes)


def terms_of(texts: list[str], **changes: int) -> list[list[str]]:
    rows, terms = german(**changes).number(texts)
    return [[terms[number] for number in row] for row in rows]


def test_a_compound_has_the_stems_of_its_parts() -> None:
    found = terms_of(TEXTS)
    assert found[2][:3] == ["fahrscheinkontroll", "fahrschein", "kontroll"]
    assert found[4][:4] == ["strassenbahnhaltestell", "strass", "bahn", "haltestell"]
    assert "verkehrsamt" in found[4], "`Amt` is shorter than a part"
    assert terms_of(TEXTS, least=3)[4][5:8] == ["verkehrsamt", "verkehr", "amt"]


def test_a_question_finds_compounds_by_a_part_and_parts_by_a_compound() -> None:
    index = Bm25sIndex(german())
    searcher = index.open(index.build(TEXTS, None))
    first = [
        searcher.search([text], None, 9).row(0)
        for text in ("Wo ist eine Haltestelle?", "Fahrscheinkontrolle", "Bahnfahrschein")
    ]
    assert [place for place, _ in first[0]] == [3, 4]
    assert {place for place, _ in first[1]} == {0, 1, 2}
    assert {place for place, _ in first[2]} >= {1, 3}, "a compound that no text has"


def test_long_words_and_short_parts() -> None:
    assert terms_of(["wort " + "wort" * 20])[0] == ["wort", "wort" * 20], "too long to be cut"
    assert list(chain.from_iterable(terms_of(["rat haus rathaus"]))) == ["rat", "haus", "rathaus"]
    with pytest.raises(ConfigError, match="least"):
        german(least=1)
