"""Flags of texts, what chunks part, and the view of a corpus with its chunks and gold."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paged_documents import POLICY, document
from support.small_set import TEXTS, write_golden

from rag.analysis import corpus_view
from rag.analysis.chunk_structure import BARE, HEADING, RAGGED, SeenChunk, Structure, extra
from rag.analysis.text_flags import FLAGS, Flagger
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.types import Anchor, Document, Evidence, Example, Query, Span

PLAIN = "A line of plain words that nothing is wrong with at all."
LONG = "word " * 500


class Window:
    """A model that reads ten tokens, one for each word."""

    def window(self) -> int:
        return 10

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        places, at = [], 0
        for word in text.split():
            at = text.index(word, at)
            places.append((at, at + len(word)))
            at += len(word)
        return places


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (PLAIN, []),
        ("Nine words.", ["tiny"]),
        ("", ["no words"]),
        ("12 | 7 | 4 | 55 – a § 99 and 1 1 1".replace("and", "&"), ["no words"]),
        ("二十五日の有給休暇があります。繰り越しは五日までです。三月末まで。", []),
        (LONG + LONG, ["huge"]),
        ("the same   words twice, in two places of it", ["repeated"]),
        ("The same words twice, in two places\nof it", ["repeated"]),
        ("The cafÃ© is closed on Sundays and on holidays.", ["mojibake"]),
    ],
)
def test_flags(text: str, flags: list[str]) -> None:
    twice = ["the same   words twice, in two places of it", "The same words twice, in two places\nof it"]
    assert Flagger.over([PLAIN, *twice, *({text} - {*twice, PLAIN}), LONG]).flags(text) == flags


def test_texts_beyond_the_window_of_the_embedder_are_cut() -> None:
    words = [" ".join(f"word{number}" for number in range(count)) for count in (10, 11)]
    flagger = Flagger.over(words, Window())
    assert [flagger.flags(text) for text in words] == [[], ["cut"]]
    assert Flagger.over(words).flags(words[1]) == []


def test_a_text_is_huge_above_five_medians() -> None:
    texts = ["a" * 1000, "b" * 1000, "c" * 5000, "d" * 5001]
    assert Flagger.over([*texts, "e" * 1000]).flags(texts[2]) == []
    assert Flagger.over([*texts, "e" * 1000]).flags(texts[3]) == ["huge"]


def test_the_view_of_two_chunkers() -> None:
    seen, plain = document("policy.pdf", POLICY), Document("plain.txt", PLAIN)
    quote = "Up to five days may be carried over."
    start = seen.text.index(quote)
    inside, across = Span("policy.pdf", start, start + len(quote)), Span("policy.pdf", 0, 300)
    pieced = Anchor("policy.pdf", (Span("policy.pdf", 0, 5), Span("policy.pdf", 190, 195)), "pieced", "digest")
    lost = Anchor("policy.pdf", (), "redaction", "digest", "email", 9)
    examples = [
        Example(Query("q1", "?"), (Evidence((inside,)), Evidence((across,)))),
        Example(Query("q2", "?"), (Evidence(("plain.txt",)),)),
        Example(Query("q3", "nothing answers this"), (), unanswerable=True),
        Example(Query("q4", "?"), (Evidence((pieced,)),)),
        Example(Query("q5", "?"), (Evidence((lost,)),)),
    ]
    spans = [[Span("policy.pdf", 0, 200), Span("policy.pdf", 180, len(seen.text))], [Span("policy.pdf", 0, len(seen.text))]]
    corpora = {name: Corpus.of([seen, plain], each) for name, each in zip("ab", spans, strict=True)}
    found = corpus_view.view("two", corpora, examples)
    assert [each.document.doc_id for each in found.documents] == ["plain.txt", "policy.pdf"]
    assert [[len(chunks) for chunks in each.chunks] for each in found.documents] == [[0, 0], [2, 1]]
    states = [(gold.question, gold.state, list(gold.pieces)) for each in found.documents for gold in each.gold]
    assert states == [
        (1, "whole document", []),
        (0, "exact", [(inside.start, inside.end)]),
        (0, "exact", [(0, 300)]),
        (2, "pieced", [(0, 5), (190, 195)]),
        (3, "lost by redaction", []),
    ]
    none = dict.fromkeys(FLAGS, 0)
    assert found.to_json() == {
        "name": "two",
        "documents": 2,
        "pages": 3,
        "blocks": 18,
        "rows": 2,
        "redactions": {"email": 1},
        "gold": {"whole document": 1, "exact": 2, "pieced": 1, "lost by redaction": 1},
        "flags": none | {"mojibake": 1},
        "chunkers": {
            "a": {"chunks": 2, "gold_cut": 1, "rows_parted": 0, "flags": none | {"mojibake": 1}},
            "b": {"chunks": 1, "gold_cut": 0, "rows_parted": 0, "flags": none | {"mojibake": 1}},
        },
    }


def test_a_config_is_seen_with_its_gold_and_the_parameters_of_its_chunkers(here: Path) -> None:
    golden = write_golden(here / "golden")
    fixed = ["dataset=native", f"dataset.path={golden}", "store=store", "embedder=hashing", "embedder.dimensions=64"]
    found = corpus_view.of_config(fixed, ["fixed size=60", "whole"]).to_json()
    assert found["gold"] == {"exact": 6}
    assert found["chunkers"]["whole"]["chunks"] == len(TEXTS)
    assert found["chunkers"]["whole"]["gold_cut"] == 0 < found["chunkers"]["fixed size=60"]["gold_cut"]
    titled = corpus_view.of_config(fixed, ["whole passage=titled", "whole"])
    assert [set(map(len, (chunk.extra for each in titled.documents for chunk in each.chunks[side]))) for side in (0, 1)] == [
        {0, 2},
        {0},
    ], "a document without headings has no title"
    without = corpus_view.of_config(["loader.path=golden/documents", *fixed[2:]], ["whole"])
    assert (without.questions, len(without.documents)) == ([], len(TEXTS))


@pytest.mark.parametrize(
    ("overrides", "chunkers", "words"),
    [
        ([], ["whole", "fixed", "token"], "--chunkers"),
        (["chunker=whole"], ["fixed"], "--chunkers whole"),
        ([], ["nothing"], "no"),
    ],
)
def test_chunkers_that_cannot_be_compared(overrides: list[str], chunkers: list[str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        corpus_view.of_config(overrides, chunkers)


TEXT = "# Leave\n\nDays off.\n\n## Table\n\n| Years | Days |\n|---|---|\n| 0–4 | 25 |\n| 5–9 | |\n\nAfter it.\n\n## End\n"


def seen(start: str, end: str, read: str = "{}") -> SeenChunk:
    """The chunk from the words `start` to behind the words `end`, of which an index reads `read` around its characters."""
    span = Span("a.md", TEXT.index(start), TEXT.index(end) + len(end))
    corpus = Corpus.of([Document("a.md", TEXT)], [span])
    return Structure.of(TEXT).seen(replace(corpus, indexed=(read.format(corpus.text(0)),)), 0, ["given"])


@pytest.mark.parametrize(
    ("start", "end", "read", "flags", "rows"),
    [
        ("# Leave", "off.", "{}", [], []),
        ("# Leave", "## Table\n\n", "{}", [HEADING], []),
        ("# Leave", "## Ta", "{}", [HEADING], []),
        ("After", "## End\n", "{}", [], []),
        ("| Years", "| |\n", "{}", [], ["| 0–4", "| 5–9"]),
        ("| 0–4", "| |\n", "{}", [BARE], []),
        ("| 0–4", "| |\n", "Years | Days\n{}", [], ["| 0–4", "| 5–9"]),
        ("| 0–4", "| |\n", "Leave > Years\n{}", [BARE], ["| 5–9"]),
        ("| 0–4", "| |\n", "Years: 0–4, Days: 25", [], ["| 0–4", "| 5–9"]),
        ("| Years", "| 0–4", "{}", [], []),
        ("|---", "## End", "{}", [BARE], []),
    ],
)
def test_what_a_chunk_parts(start: str, end: str, read: str, flags: list[str], rows: list[str]) -> None:
    found = seen(start, end, read)
    assert (list(found.flags), list(found.rows)) == (["given", *flags], [TEXT.index(row) for row in rows])


@pytest.mark.parametrize(("row", "flags"), [("| a | b |", []), ("| a |", [RAGGED]), ("| a | b | c |", [RAGGED])])
def test_rows_with_other_numbers_of_cells(row: str, flags: list[str]) -> None:
    text = f"| x | y |\n|---|---|\n{row}\n"
    corpus = Corpus.of([Document("a.md", text)], [Span("a.md", 0, len(text))])
    assert list(Structure.of(text).seen(corpus, 0).flags) == flags


def test_rows_below_an_empty_header_miss_no_name() -> None:
    assert [len(Structure.of(f"{head}\n|---|---|\n| a | b |\n").rows) for head in ("| | |", "| x | |")] == [0, 1]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(1, 8))
def test_cuts_anywhere_against_the_lines_of_the_text(sizes: list[int], rows: int) -> None:
    lines = [
        "## One",
        "",
        "| Key | Value |",
        "|---|---|",
        *(f"| k{row} | v{row} |" for row in range(rows)),
        "",
        "## Two",
        "",
        "Text.",
    ]
    text = "\n".join(lines)
    edges = sorted({0, len(text), *(sum(sizes[:at]) % len(text) for at in range(len(sizes)))})
    spans = [Span("a.md", start, end) for start, end in pairwise(edges)]
    corpus = Corpus.of([Document("a.md", text)], spans)
    chunks = [Structure.of(text).seen(corpus, position) for position in range(len(corpus))]
    for chunk in chunks:
        piece = text[chunk.start : chunk.end]
        last = text[: chunk.start + len(piece.rstrip())].rpartition("\n")[2]
        assert (HEADING in chunk.flags) == (last[:1] == "#" and bool(piece.strip()))
        inside = [line for line in lines[4 : 4 + rows] if line in piece] if "| Key | Value |" in piece else []
        assert [text[at:].partition("\n")[0] for at in chunk.rows] == inside


@pytest.mark.parametrize(
    ("quote", "read", "besides"),
    [
        ("a b", "a b", ()),
        ("a b", "Title\na b", ("Title", "")),
        ("a b", "Title\na b\nnote", ("Title", "note")),
        ("a b", "a: b", ("a: b",)),
    ],
)
def test_what_an_index_reads_besides(quote: str, read: str, besides: tuple[str, ...]) -> None:
    assert extra(quote, read) == besides
