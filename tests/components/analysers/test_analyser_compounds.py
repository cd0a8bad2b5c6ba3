"""Ids and compounds as a whole, parts of words, and scripts without blanks."""

import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.choices import build

from rag.components.analysers.compounds import CompoundAnalyser
from rag.components.indexes.bm25s import Bm25sIndex

LAW = settings(max_examples=60, deadline=None)
KEEP_IDS = ("ids", "ids_and_words")
FILLER = "The unit on the second floor was checked by the warden before the rota changed, and nothing was found. "
PARTS = st.one_of(st.text("abcdefgh", min_size=2, max_size=4), st.from_regex(r"[0-9]{1,4}", fullmatch=True))
IDS = st.builds(
    lambda first, rest, number: "".join([first, *(joint + part for joint, part in rest), number]),
    st.from_regex(r"[A-Z]{1,3}", fullmatch=True),
    st.lists(st.tuples(st.sampled_from("-./:@_+&#\\"), PARTS), max_size=4),
    st.from_regex(r"-[0-9]{2,6}", fullmatch=True),
)
"""HB-702, BMS-986158, AB/12.4-77, X@mail-30: part numbers, versions, paths and addresses with a number at the end."""


@LAW
@given(IDS, st.sampled_from(KEEP_IDS), st.sampled_from(["{}", "({}).", "“{}”,", "**{}**", "{}'s", "| {} |", "第{}号"]))
def test_a_question_with_only_an_id_finds_its_chunk_first(written: str, choice: str, setting: str) -> None:
    parts = [part for part in written.replace("-", " ").replace("/", " ").replace(".", " ").split() if part]
    others = [" ".join(parts) * 3, f"{written}0", f"X{written}", " ".join(reversed(parts)), FILLER]
    texts = [*others, FILLER * 20 + setting.format(written), *others]
    index = Bm25sIndex(build("analyser", choice))
    for asked in (written, f"the {written.lower()}?", written.replace("-", "\u2011")):
        found = index.open(index.build(texts, None)).search([asked], None, 3).row(0)
        assert [place for place, _ in found] == [len(others)]


@LAW
@given(IDS, st.sampled_from(["{}/placebo", "ID:{}", "see.{}"]))
def test_an_id_of_few_parts_is_found_in_a_longer_word(written: str, setting: str) -> None:
    analyser = CompoundAnalyser()
    assume(len(analyser.terms(written)) <= 11)  # four parts at most: with their runs and the whole
    texts = [written[:-1] + "x", setting.format(written), FILLER]
    index = Bm25sIndex(analyser)
    assert index.open(index.build(texts, None)).search([written], None, 1).row(0)[0][0] == 1


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("HB-702", ["hb-702", "hb", "702"]),
        ("BMS-986158/placebo", ["bms-986158/placebo", "bms-986158", "986158/placebo", "bms", "986158", "placebo"]),
        ("getUserNames", ["getusernames", "getuser", "usernames", "get", "user", "name"]),
        ("well-known", ["well-known", "well", "known"]),
        ("1,500.", ["1,500", "500"]),
        ("U.S.", ["u.s"]),
        ("Anna.Holm@post.example", ["anna.holm@post.example", "anna.holm", "anna.holm@post", "holm@post", "holm@post.example"]),
        ("Straßen", ["strassen"]),
        ("日本語", ["日", "本", "語", "日本", "本語"]),
        ("猫", ["猫"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ＨＢ‑７０２", ["hb-702", "hb", "702"]),
        ("hand\u00adbook", ["handbook"]),
    ],
)
def test_terms(word: str, terms: list[str]) -> None:
    assert CompoundAnalyser().terms(word)[: len(terms)] == terms


def test_words_are_terms_in_addition_to_stems() -> None:
    assert CompoundAnalyser(words=True).terms("The inhibitors bind") == ["inhibitor", "inhibitors", "bind"]
    assert CompoundAnalyser().terms("The inhibitors bind") == ["inhibitor", "bind"]


def test_questions_search_for_the_longest_known_run_of_an_id() -> None:
    analyser = CompoundAnalyser()
    known = {"sn-2024", "sn", "2024", "17", "b", "leak", "hb-702", "hb", "702"}
    assert analyser.terms("SN-2024-17", known) == ["sn-2024", "17"]
    assert analyser.terms("HB-702", known) == ["hb-702"]
    assert analyser.terms("HB-702 leaks", known) == ["hb-702", "hb", "702", "leak"]
    assert analyser.terms("HB702", known) == ["hb", "702"]
    assert analyser.terms("off-leak", known) == ["leak"]


def test_text_without_blanks_is_found() -> None:
    texts = ["休暇は年に二十五日です。", "病気の場合は連絡してください。", "วันหยุดประจำปีคือยี่สิบห้าวัน", "연차 휴가는 이십오일입니다"]
    index = Bm25sIndex(CompoundAnalyser(stemmer=None, stopwords=None))
    found = index.open(index.build(texts, None)).search(["休暇", "病気", "วันหยุด", "휴가"], None, 1)
    assert [found.row(question)[0][0] for question in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["a-" * 300_000, "a1" * 300_000, "本" * 300_000, "aB" * 300_000, "1," * 300_000])
def test_long_words_take_linear_time(text: str) -> None:
    began = time.process_time()
    CompoundAnalyser().number([text])
    whole = time.process_time() - began
    assert whole < 5
