"""Noise by kind, by equality with marginalia and by repetition; and what stays of a document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.components.noise.none import NoNoiseFilter
from rag.components.noise.standard import StandardNoiseFilter
from rag.core.types import BLOCKS, Block, Document, Redaction
from rag.documents.clean.noise import Dropped, cut

TOP, MIDDLE = (0.1, 0.02, 0.9, 0.05), (0.1, 0.4, 0.9, 0.5)


def document(*parts: tuple[object, ...], name: str = "a.pdf") -> Document:
    """A document of blocks: kind, text, page, and a box."""
    blocks, text = [], ""
    for kind, words, page, *box in parts:
        blocks.append(Block(str(kind), len(text), len(text) + len(str(words)), int(str(page)), tuple(box)))  # type: ignore[arg-type]
        text += f"{words}\n\n"
    return Document(name, text, blocks=tuple(blocks))


def dropped(*documents: Document, **parameters: object) -> list[list[tuple[str, str]]]:
    """The rules and texts that the standard filter drops."""
    found = StandardNoiseFilter(**parameters).find(documents)  # type: ignore[arg-type]
    return [[(rule, one.text[start:end]) for start, end, rule in rows] for one, rows in zip(documents, found, strict=True)]


def test_kinds() -> None:
    one = document(*((kind, f"the {kind}", 1) for kind in BLOCKS))
    assert dropped(one) == [[("kind: marginalia", "the marginalia"), ("kind: logo", "the logo")]]
    assert dropped(one, kinds=["attestation"]) == [[("kind: attestation", "the attestation")]]
    assert dropped(one, kinds=[]) == [[]]


def test_text_that_equals_marginalia() -> None:
    one = document(
        ("heading", "# HB-110 Leave", 1),
        ("marginalia", "HB-110 leave", 2),
        ("marginalia", "Page 2", 2),
        ("text", "**HB-110**  Leave", 3, TOP),
        ("text", "Page 13", 3, TOP),
        ("text", "Page 13", 3, MIDDLE),
        ("heading", "## HB-110 Leave", 3),
        ("cell", "HB-110 Leave", 3),
    )
    assert dropped(one, kinds=[]) == [
        [("equals marginalia", "**HB-110**  Leave"), ("equals marginalia", "Page 13"), ("equals marginalia", "## HB-110 Leave")]
    ], "the first heading, a cell and a number in the middle of a page stay"


@pytest.mark.parametrize(
    ("pages", "times", "is_noise"), [(3, 3, True), (2, 2, False), (6, 3, False), (6, 4, True), (5, 3, True)]
)
def test_text_on_most_pages(pages: int, times: int, is_noise: bool) -> None:
    parts = [("text", f"page {page} of its own words: {'x' * page}", page, MIDDLE) for page in range(1, pages + 1)]
    repeated = [("text", f"Draft {page}", page, TOP) for page in range(1, times + 1)]
    assert dropped(document(*parts, *repeated)) == [[("pages", f"Draft {page}") for page in range(1, times + 1)] * is_noise]
    assert dropped(document(*parts, *repeated), least_pages=7) == dropped(document(*parts, *repeated), pages=1) == [[]]


def test_numbers_in_the_middle_of_pages_are_content() -> None:
    one = document(
        *(("text", str(page), page, MIDDLE) for page in range(1, 9)), *(("text", str(p), p, TOP) for p in range(1, 9))
    )
    assert dropped(one) == [[("pages", str(page)) for page in range(1, 9)]]


@pytest.mark.parametrize(("files", "times", "is_noise"), [(5, 5, True), (4, 4, False), (10, 5, False), (10, 6, True)])
def test_text_in_most_files_of_a_folder(files: int, times: int, is_noise: bool) -> None:
    parts = [
        [("text", f"file {number}", 0)] + [("text", "All rights reserved.", 0)] * (number < times) for number in range(files)
    ]
    documents = [document(*rows, name=f"x/{number}.html") for number, rows in enumerate(parts)]
    others = [document(("text", f"another {number}", 0), name=f"y/{number}.html") for number in range(20)]
    plain = Document("x/z.md", "All rights reserved.\n")
    *found, last = dropped(*documents, *others, plain)
    assert sum(map(len, found)) == times * is_noise
    assert last == [], "text without blocks stays"


def test_cut_moves_blocks_and_redactions() -> None:
    one = document(
        ("text", "first", 1),
        ("marginalia", "Page 1", 1),
        ("text", "second [redacted: key]", 2),
        ("logo", "LOGO [redacted: key]", 2),
    )
    places = [place for place in range(len(one.text)) if one.text.startswith("[redacted", place)]
    one = Document(
        one.doc_id, one.text, {"a": 1}, one.blocks, tuple(Redaction(place, place + 15, "key", 40) for place in places)
    )
    found = [(block.start, block.end, f"kind: {block.kind}") for block in one.blocks if block.kind in ("marginalia", "logo")]
    shorter, gone = cut(one, found)
    assert shorter.text == "first\n\nsecond [redacted: key]\n\n"
    assert [shorter.text[block.start : block.end] for block in shorter.blocks] == ["first", "second [redacted: key]"]
    assert [shorter.text[each.start : each.end] for each in shorter.redactions] == ["[redacted: key]"]
    at, blank = (7, len(shorter.text)), one.text[len("first\n\nPage 1") :][:2]
    logo = Dropped("kind: logo", "LOGO [redacted: key]", 2, at[1], one.text[one.text.rfind("]") + 1 :])
    assert gone == (Dropped("kind: marginalia", "Page 1", 1, at[0], blank), logo)
    assert shorter.metadata == {"a": 1}
    assert cut(one, []) == (one, ())
    assert NoNoiseFilter().find([one]) == [[]]


@given(st.lists(st.tuples(st.sampled_from("ab c\n"), st.booleans()), max_size=40))
def test_what_is_left_is_what_was_not_found(marked: list[tuple[str, bool]]) -> None:
    text = "".join(letter for letter, _ in marked)
    blocks = tuple(Block("text", place, place + 1, 1) for place in range(len(text)))
    found = [(place, place + 1, "x") for place, (_, is_noise) in enumerate(marked) if is_noise]
    shorter, gone = cut(Document("d", text, blocks=blocks), found)
    # An oracle by letters: white space after a cut letter goes with it.
    left, cutting = [], False
    for letter, is_noise in marked:
        cutting = is_noise or (cutting and letter.isspace())
        left += [] if cutting else [letter]
    assert shorter.text == "".join(left)
    assert "".join(shorter.text[block.start : block.end] for block in shorter.blocks) == shorter.text
    assert [each.text for each in gone if each.text.strip()] == [
        text[start:end] for start, end, _ in found if text[start:end].strip()
    ]
