"""Redaction of documents and questions: placeholders, blocks, metadata, and places from before."""

import re

from hypothesis import given
from hypothesis import strategies as st
from support.choices import build

from rag.core.secrets.places import PLACEHOLDER
from rag.core.types import Block, Example, Parsed, Query, Redaction, Turn, Value
from rag.documents.clean.redact import redact, redacted_names, redacted_questions
from rag.documents.metadata import FolderMetadata


class Words:
    """Finds given words."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Each word, in reading order."""
        starts = sorted((text.find(word), word) for word in self.words if word in text)
        return [(start, start + len(word), word.lower()) for start, word in starts]


class Everywhere(Words):
    """Finds given words wherever they are."""

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """All places, in reading order."""
        return [(*found.span(), found[0].lower()) for found in re.finditer("|".join(self.words), text)]


def test_a_block_keeps_its_text_and_metadata_have_no_value() -> None:
    text = "# Head\n\nkey ALPHA here\n\ntail BETA"
    blocks = (Block("heading", 0, 6), Block("text", 8, 22), Block("text", 12, 17), Block("text", 24, 33))
    parsed = redact(Parsed(text, blocks, {"title": "ALPHA", "pages": 2}, notes=("has BETA",)), Words("ALPHA", "BETA"))
    seen = [parsed.text[block.start : block.end] for block in parsed.blocks]
    assert seen == ["# Head", "key [redacted: alpha] here", "[redacted: alpha]", "tail [redacted: beta]"]
    assert [parsed.text[each.start : each.end] for each in parsed.redactions] == ["[redacted: alpha]", "[redacted: beta]"]
    assert [each.length for each in parsed.redactions] == [5, 4]
    assert dict(parsed.metadata) == {"title": "[redacted: alpha]", "pages": 2}
    assert parsed.notes == ("has [redacted: beta]",)


def test_earlier_redactions_move_and_stay_in_order() -> None:
    parsed = redact(Parsed("ALPHA [redacted: x] BETA", redactions=(Redaction(6, 19, "x", 3),)), Words("ALPHA", "BETA"))
    assert [parsed.text[each.start : each.end] for each in parsed.redactions] == PLACEHOLDER.findall(parsed.text)
    assert [each.rule for each in parsed.redactions] == ["alpha", "x", "beta"]


def test_all_texts_and_names_of_questions_are_redacted() -> None:
    query = Query("q ALPHA", "is ALPHA", (Turn("user", "my ALPHA"),), "what is ALPHA")
    first = Example(query, (), answers=("ALPHA",), kind="ALPHA", tags=("ALPHA", "x"), cluster="c ALPHA", dialogue="d ALPHA")
    second = Example(Query("q [redacted: alpha]", "?"), cluster="c ALPHA")
    seen, other = redacted_questions([first, second], Everywhere("ALPHA"))
    assert "ALPHA" not in repr((seen, other))
    assert seen.query.history[0].text == "my [redacted: alpha]"
    assert (seen.kind, seen.tags) == ("[redacted: alpha]", ("[redacted: alpha]", "x"))
    assert {seen.query.query_id, other.query.query_id} == {"q [redacted: alpha]", "q [redacted: alpha] (2)"}
    assert seen.cluster == other.cluster == "c [redacted: alpha]"


def test_names_of_metadata_are_redacted() -> None:
    table: dict[str, dict[str, Value]] = {"a.md": {"ALPHA": "x", "n": 1}}
    found = FolderMetadata({}, table, Words("ALPHA")).of(
        "a.md", redact(Parsed("text", metadata={"ALPHA 2": "y"}), Words("ALPHA"))
    )
    assert found == {"[redacted: alpha] 2": "y", "[redacted: alpha]": "x", "n": 1}


def test_names_keep_folders_and_suffixes_and_stay_apart() -> None:
    names = ["x ALPHA.md", "ALPHA/a.md", "BETA.pdf", "b.md", "x [redacted: alpha].md", "ALPHA"]
    assert redacted_names(names, build("redactor", "none")) == {name: name for name in names}
    seen = redacted_names(names, Everywhere("ALPHA", "BETA"))
    assert [seen[name] for name in names] == [
        "x [redacted: alpha].md", "[redacted: alpha]/a.md", "[redacted: beta].pdf", "b.md", "x [redacted: alpha] (2).md",
        "[redacted: alpha]",
    ]  # fmt: skip


@given(st.text("ab ", max_size=20), st.integers(0, 69), st.integers(0, 69))
def test_a_block_holds_its_text_and_whole_placeholders(filler: str, first: int, second: int) -> None:
    text = f"{filler}ALPHA{filler}BETA{filler}"
    start, end = sorted((min(first, len(text)), min(second, len(text))))
    block = redact(Parsed(text, (Block("text", start, end),)), Words("ALPHA", "BETA")).blocks[0]
    for word in ("ALPHA", "BETA"):
        place = text.index(word)
        if start < place + len(word) and place < end:  # the block touches the value
            start, end = min(start, place), max(end, place + len(word))
    whole = redact(Parsed(text), Words("ALPHA", "BETA")).text
    expected = text[start:end].replace("ALPHA", "[redacted: alpha]").replace("BETA", "[redacted: beta]")
    assert whole[block.start : block.end] == expected or first == second
