"""Cutting along sections, blocks, rows and items."""

import re
from typing import Any

import pytest
from support.growing_texts import BLOCKS, calls, growth

from rag.components.chunkers.markdown import MarkdownChunker
from rag.core.files import shipped
from rag.core.types import Document

TABLE = "Table 1. Peaks\n\n| Station | Peak |\n| --- | --- |\n| Lark | 3.6 |\n| Weir | 2.9 |\n| Pell | 3.1 |"
HEADER = "| Station | Peak |\n| --- | --- |\n"


def chunks(text: str, size: int, **values: Any) -> list[str]:
    return [text[span.start : span.end] for span in MarkdownChunker(size, **values).chunk(Document("d", text))]


def test_short_sections_are_packed_under_their_heading() -> None:
    text = "# A\n\none\n\n## B\n\ntwo\n\n## C\n\nthree three\n\n## D\n\nfour"
    assert chunks(text, 100) == [text]
    assert chunks(text, 20) == ["# A\n\none\n\n## B\n\ntwo", "## C\n\nthree three", "## D\n\nfour"]
    assert chunks(text, 30) == ["# A\n\none\n\n## B\n\ntwo", "## C\n\nthree three\n\n## D\n\nfour"]


def test_a_part_of_a_section_is_never_packed_with_another_section() -> None:
    assert chunks("## A\n\none one\n\ntwo two\n\n## B\n\nb", 16) == ["## A\n\none one", "two two", "## B\n\nb"]
    assert chunks("# T\n\n## A\n\n### X\n\nxxx\n\n### Y\n\nyyy\n\n## B\n\nb", 24) == [
        "# T\n\n## A\n\n### X\n\nxxx",
        "### Y\n\nyyy",
        "## B\n\nb",
    ]
    assert chunks("# A\n\naaaaaaaaaaaa\n\n## X\n\nx\n\n# B\n\n## C\n\nc", 24) == [
        "# A\n\naaaaaaaaaaaa",
        "## X\n\nx",
        "# B\n\n## C\n\nc",
    ]


def test_a_section_that_is_too_long_is_cut_between_blocks_then_items_then_sentences() -> None:
    assert chunks("## A\n\none one\n\ntwo two\n\nend", 14) == ["## A\n\none one", "two two\n\nend"]
    assert chunks("- a\n  - inner\n- b\n- c", 13) == ["- a\n  - inner", "- b\n- c"]
    assert chunks("Ann bit. Cal dug. Eve fed.", 17) == ["Ann bit. Cal dug.", "Eve fed."]
    assert chunks("aaa bbb ccccccc", 4) == ["aaa", "bbb", "cccc", "ccc"]


def test_headings_stay_with_some_of_their_text() -> None:
    assert chunks("one two\n\n# A\n\n## B\n\nthree four", 20) == ["one two", "# A\n\n## B\n\nthree", "four"]
    assert chunks("# Head\n\n日本語のテキスト", 10) == ["# Head\n\n日本", "語のテキスト"]
    assert chunks("# A\n\n```\n# no heading\n```", 99) == ["# A\n\n```\n# no heading\n```"]
    assert chunks("one\n\n# Last", 5) == ["one", "#", "Last"], "no text below"


def test_a_table_has_its_caption_and_is_cut_between_rows() -> None:
    assert chunks(f"Some words.\n\n{TABLE}", 105) == ["Some words.", TABLE]
    assert chunks(TABLE, 70) == [f"Table 1. Peaks\n\n{HEADER}| Lark | 3.6 |", "| Weir | 2.9 |\n| Pell | 3.1 |"]
    assert chunks(TABLE, 62) == ["Table 1. Peaks", f"{HEADER}| Lark | 3.6 |\n| Weir | 2.9 |", "| Pell | 3.1 |"]
    assert chunks(TABLE, 14) == ["Table 1. Peaks", f"{HEADER}| Lark | 3.6 |", "| Weir | 2.9 |", "| Pell | 3.1 |"]
    assert chunks(HEADER + "| Lark | 3.6 |", 40, whole=0) == [f"{HEADER}| Lark", "| 3.6 |"], "a header is never alone"


def test_groups_of_rows() -> None:
    text = f"# A\n\nWords.\n\n{TABLE}\n\nEnd."
    above, first = "# A\n\nWords.\n\nTable 1. Peaks", f"{HEADER}| Lark | 3.6 |"
    assert chunks(text, 200, rows=1) == [above, first, "| Weir | 2.9 |", "| Pell | 3.1 |", "End."]
    assert chunks(text, 200, rows=2) == [above, f"{first}\n| Weir | 2.9 |", "| Pell | 3.1 |", "End."]
    assert chunks(f"## B\n\n{HEADER}| Lark | 3.6 |", 200, rows=3) == [f"## B\n\n{first}"], "a heading is never alone"


def test_kept_blocks_are_whole_up_to_a_bound() -> None:
    text = f"# A\n\nWords.\n\n## B\n\n{TABLE}\n\nEnd."
    assert chunks(text, 20, kept=["table"], whole=200) == ["# A\n\nWords.", f"## B\n\n{TABLE}", "End."]
    assert chunks(f"{TABLE}\n\nEnd.", 20, kept=["table"], whole=80) == [
        f"Table 1. Peaks\n\n{HEADER}| Lark | 3.6 |\n| Weir | 2.9 |",
        "| Pell | 3.1 |",
        "End.",
    ]
    code = "```\nx = 1\n\ny = 2\n```"
    assert chunks(f"Run this:\n\n{code}", 12) == ["Run this:", code]
    assert chunks(code, 12, whole=0) == ["```\nx = 1", "y = 2\n```"]


def test_blocks_that_belong_together() -> None:
    for pair in ("> All is well.\n\n— Ames", "A claim.[^1]\n\n[^1]: A note.", "Take:\n\n- a\n- b"):
        assert chunks(f"One two three.\n\n{pair}", 29) == ["One two three.", pair]
    assert chunks("A claim.\n\n[^1]: A note.\n\nEnd.", 23) == ["A claim.\n\n[^1]: A note.", "End."]


def test_overlap_is_whole_pieces_but_no_rows() -> None:
    assert chunks("aa\n\nbb\n\ncc", 6, overlap=3) == ["aa\n\nbb", "bb\n\ncc"]
    for values in ({"size": 62}, {"size": 99}, {"size": 20, "kept": ["table"], "whole": 80}):
        found = chunks(f"{TABLE}\n\nEnd. Some more words.", **values, overlap=19)
        assert [sum(row in chunk for chunk in found) for row in ("Lark", "Weir", "Pell")] == [1, 1, 1]


@pytest.mark.parametrize("piece", BLOCKS)
def test_four_times_the_text_takes_four_times_the_calls(piece: str) -> None:
    chunker = MarkdownChunker(100, 20, ["table"], 400, 2)
    assert growth(lambda text: chunker.chunk(Document("d", text)), piece, 6_000, calls) < 4.5


class WordTokens:
    """Words, by a pattern."""

    def __init__(self, pattern: str = r"\S+") -> None:
        self.pattern = re.compile(pattern, re.DOTALL)

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in self.pattern.finditer(text)]


def test_lengths_in_tokens() -> None:
    text = "# A\n\none two three.\n\nfour five.\n\n| a | b |\n|---|---|\n| six | seven |\n\neight nine."
    parts = ["# A\n\none two three.\n\nfour five.", "| a | b |\n|---|---|", "| six | seven |", "eight nine."]
    assert chunks(text, 7, embedder=WordTokens(), whole=0) == parts
    assert chunks(text, 7, embedder=WordTokens(), whole=10) == parts
    assert chunks(text, 7, embedder=WordTokens(), whole=11) == [parts[0], "\n".join(parts[1:3]), parts[3]]
    assert chunks("one two. three. four five.", 3, overlap=1, embedder=WordTokens()) == ["one two. three.", "three. four five."]
    assert chunks("abcdefg", 3, embedder=WordTokens(r"\w")) == ["abc", "def", "g"]


@pytest.mark.parametrize("values", [{}, {"rows": 1}, {"kept": ["table", "code", "quote"], "whole": 600}, {"overlap": 60}])
def test_tokens_of_one_character_are_characters(values: dict[str, Any]) -> None:
    in_tokens, in_characters = MarkdownChunker(300, **values, embedder=WordTokens(".")), MarkdownChunker(300, **values)
    for path in sorted((shipped("datasets") / "handbook" / "documents").rglob("*.md"))[::5]:
        document = Document(path.name, path.read_text("utf-8"))
        assert in_tokens.chunk(document) == in_characters.chunk(document)
