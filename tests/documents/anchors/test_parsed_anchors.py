"""Quotes in parsed documents: found where a reader of the page would find them, lost where a number differs."""

import random
import re
import time

import pytest

from rag.core.errors import DataError
from rag.core.pages import page_at
from rag.core.types import Anchor, Block, Document, Parsed, Redaction, Span
from rag.documents.anchors.lost_quotes import MISSING, Quoted
from rag.documents.anchors.parsed_anchors import APART, SEVERAL, resolve
from rag.documents.anchors.reduced_text import reduced
from rag.documents.clean.redact import redact

WORDS = ["river", "budget", "committee", "annual", "efficient", "ledger", "harbour", "coast", "planning", "transport", "winter"]


def parsed(*pages: str) -> Document:
    """A document with one block per page."""
    text = "\n\n".join(pages)
    starts = [len("\n\n".join([*pages[:number], ""])) for number in range(len(pages))]
    blocks = (Block("text", at, at + len(page), number) for number, (at, page) in enumerate(zip(starts, pages, strict=True), 1))
    return Document("report.pdf", text, blocks=tuple(blocks))


def pairs(words: list[str]) -> list[tuple[str, str]]:
    return [(one, other) for one in words[:5] for other in words[5:]]


def found(document: Document, quote: str, page: int = 0) -> Anchor:
    return resolve(document, Quoted(quote, None, page), "q")


def pieces(document: Document, anchor: Anchor) -> list[str]:
    return [document.text[span.start : span.end] for span in anchor.spans]


QUOTE = "The harbour ledger of 2019 shows 1,482 arrivals, and the committee expects an efficient winter with 17 % more."


def sentence(rng: random.Random) -> str:
    words = (rng.choice(WORDS) + rng.choice(WORDS) if rng.random() < 0.85 else f"{rng.randrange(9**5):,}" for _ in range(20))
    return " ".join(words)


@pytest.mark.parametrize(
    ("text", "fate", "kept"),
    [
        (f"# A\n\n{QUOTE}\n\nMore.", "exact", [QUOTE]),
        ("# A\n\n" + QUOTE.replace("committee", "**committee**"), "exact", [QUOTE.replace("committee", "**committee**")]),
        (QUOTE.replace("committee", "commit-\ntee"), "pieced", [QUOTE.replace("committee", "commit-\ntee")]),
        (QUOTE.replace("efficient", "e\ufb03cient").upper(), "pieced", None),
        (QUOTE.replace("and the", "and\n\nAnnual report | page 12\n\nthe"), "pieced", None),
        (QUOTE.replace("arrivals", "arrivals 3"), "pieced", None),
    ],
)
def test_a_quote_is_found_as_readers_of_its_page_set_it(text: str, fate: str, kept: list[str] | None) -> None:
    document = parsed(text)
    anchor = found(document, QUOTE)
    assert (anchor.fate, anchor.rule) == (fate, "")
    if kept:
        assert [piece.rstrip(". %") for piece in pieces(document, anchor)] == [piece.rstrip(". %") for piece in kept]
    letters = reduced("".join(pieces(document, anchor))).text
    assert len(letters) >= 0.96 * len(reduced(QUOTE).text)
    assert "page" not in letters


def test_columns_that_a_reader_joins_line_by_line() -> None:
    left = ["The harbour ledger of 2019 shows", "1,482 arrivals, and the committee", "expects an efficient winter season."]
    right = ["Fees for pilots rose to 88 crowns", "per call, which is less than other", "ports of the coast take from them."]
    document = parsed("\n".join(f"{one}      {other}" for one, other in zip(left, right, strict=True)))
    anchor = found(document, " ".join(left))
    assert anchor.fate == "pieced"
    assert pieces(document, anchor) == [line.rstrip(".") for line in left]


@pytest.mark.parametrize(
    "quote", ["", "\u2014 \u2026", "Nothing of the kind is in this document, not even once.", "harbor 1,482"]
)
def test_what_is_not_there_is_lost(quote: str) -> None:
    if not quote:
        with pytest.raises(DataError, match="the quote is empty"):
            found(parsed(QUOTE), quote)
        return
    anchor = found(parsed(QUOTE), quote)
    assert (anchor.spans, anchor.fate, anchor.rule, anchor.chars) == ((), "parser", MISSING, len(quote))


def test_a_table_in_another_order_is_found_by_its_words_on_one_page() -> None:
    """A reader by rows; the quote has some cells of the last column behind the others, and dashes for hyphens."""
    rows = [(f"{one}-{other} {one}", f"{at * 7919:,}", f"{at * 104729:,}") for at, (one, other) in enumerate(pairs(WORDS), 3)]
    text = "\n".join(" ".join(row) for row in rows)
    kept = [" ".join(row if at % 8 else row[:2]).replace("-", "\u2013") for at, row in enumerate(rows)]
    quote = "\n".join([*kept, *(row[2] for row in rows[::8])])
    changed = text.replace("23,757", "23,758")
    document = parsed(changed, "Nothing.", f"{text}\n")
    anchor = found(document, quote)
    assert (anchor.fate, {page_at(document.blocks, span.start) for span in anchor.spans}) == ("words", {3})
    assert sum(span.end - span.start for span in anchor.spans) > 0.8 * len(text)
    assert found(document, quote.replace("39,595", "39,596")).rule == MISSING
    assert found(document, quote.replace("39,595", "55,433")).rule == MISSING  # it is there once, and not twice
    twice = found(parsed(text, text), quote)
    assert (twice.fate, twice.rule, twice.spans) == ("unplaced", SEVERAL, ())
    assert found(parsed(text, text), quote, 2).spans
    apart = found(parsed(QUOTE), QUOTE.replace("2019", "17").replace("17 %", "2019 %"))
    assert (apart.fate, apart.rule) == ("unplaced", APART)


def test_numbers_are_whole() -> None:
    document = parsed("It has 15 days, 1,482 ships and 2.5 % of 31,2016 more.")
    for quote in ("5 days", "482 ships", "5 % of", "1 482"):
        assert found(document, quote).fate == ("pieced" if quote == "1 482" else "parser"), quote
    assert found(document, "31, 2016 more").fate == "pieced"


def test_a_page_chooses_among_places_and_invents_none() -> None:
    document = parsed(f"One. {QUOTE}", "Two has nothing.", f"Three. {QUOTE}")
    assert found(document, QUOTE).rule == SEVERAL
    assert found(document, QUOTE, 2).rule == SEVERAL
    assert found(document, QUOTE, 3).spans[0].start > document.blocks[1].end
    assert found(document, QUOTE.upper(), 1).spans[0].end <= document.blocks[0].end
    once = parsed("Nothing.", QUOTE)
    assert found(once, QUOTE, 1).fate == "exact"  # an outdated page is no reason to lose a quote


@pytest.mark.parametrize("seed", range(12))
def test_cut_and_shuffled_quotes_are_found_and_changed_ones_are_lost(seed: int) -> None:
    rng = random.Random(seed)
    sentences = [sentence(rng) for _ in range(30)]
    chosen = rng.randrange(5, 25)
    quote = sentences[chosen]
    words = quote.split(" ")
    cut = rng.randrange(4, len(words) - 4)
    halves = " ".join(words[:cut]), " ".join(words[cut:])
    layouts = [
        re.sub(r"(\w)([a-z]{3}) ", r"\1-\n\2 ", quote),
        f"{halves[0]}\n\nAnnual report of the port\n\n{halves[1]}",
        f"{halves[1]}\n\n{halves[0]}",
        quote.upper().replace(" ", "\n"),
    ]
    for layout in layouts:
        document = parsed("\n\n".join([*sentences[:chosen], layout, *sentences[chosen + 1 :]]))
        anchor = found(document, quote)
        begin = document.text.index(layout)
        assert anchor.spans, (layout, quote)
        within = sum(span.end - span.start for span in anchor.spans if begin <= span.start and span.end <= begin + len(layout))
        assert within >= 0.9 * sum(span.end - span.start for span in anchor.spans)
        digits = [place for place, letter in enumerate(quote) if letter.isdigit()]
        if digits:
            at = rng.choice(digits)
            wrong = quote[:at] + str((int(quote[at]) + rng.randrange(1, 10)) % 10) + quote[at + 1 :]
            assert not found(document, wrong).spans, (layout, wrong)
    without = parsed("\n\n".join([*sentences[:chosen], *sentences[chosen + 1 :]]))
    assert not found(without, quote).spans  # not placed where other sentences have all of its words


class Mail:
    """Addresses and a long value, as a redactor would find them."""

    def find(self, text: str) -> list[tuple[int, int, str]]:
        hits = [(match.start(), match.end(), "mail") for match in re.finditer(r"[a-z.]+@[a-z.]+[a-z]", text)]
        return sorted([*hits, *((m.start(), m.end(), "key") for m in re.finditer(r"AKIA[0-9A-Z]+", text))])


SECRET = "Write to ann.lee@port.example about the key AKIA123456 before noon. Nothing else is secret here."


@pytest.mark.parametrize(
    ("quote", "fate", "rule"),
    [
        ("Write to ann.lee@port.example about", "redaction", "mail"),
        ("ann.lee@port.example about the key AKIA123456 before", "redaction", "mail, key"),
        ("lee@port.example about", "redaction", "mail"),
        ("AKIA123456", "redaction", "key"),
        ("port rules", "parser", MISSING),  # as long as the key
        ("Nothing else is secret here.", "exact", ""),
        ("Write to bob.lee@else.example about nothing", "parser", MISSING),
    ],
)
def test_a_quote_that_touches_a_value_is_lost_by_its_rule(quote: str, fate: str, rule: str) -> None:
    content = redact(Parsed(SECRET), Mail())
    plain = Document("note.md", content.text, redactions=content.redactions)
    anchor = resolve(plain, Quoted(quote), "q", redactor=Mail())
    assert (anchor.fate, anchor.rule) == (fate, rule)
    start = SECRET.find(quote)
    if start >= 0:  # the place in the file is the same with and without the redactor
        assert anchor.asked == Span("note.md", start, start + len(quote))
        assert resolve(plain, Quoted(quote, (start, start + len(quote))), "q").asked == anchor.asked
    blocks = (Block("text", 0, len(content.text), 1),)
    blocked = Document("note.pdf", content.text, blocks=blocks, redactions=content.redactions)
    again = resolve(blocked, Quoted(quote), "q", redactor=Mail())
    assert (again.fate, again.rule) == (fate, rule)
    shouted = found(blocked, quote.replace(" ", "\n").replace("about", "ABOUT"))
    assert shouted.fate in (fate, "pieced" if fate == "exact" else "parser" if len(quote) < 30 else fate)


def test_offsets_before_redaction_are_mapped() -> None:
    text = "AKIA77 days. Then 5 days, then AKIA123456, then 5 days."
    content = redact(Parsed(text), Mail())
    document = Document("a.md", content.text, redactions=content.redactions)
    for start in (text.index("5 days"), text.rindex("5 days")):
        anchor = resolve(document, Quoted("5 days", (start, start + 6)), "q")
        assert content.text[anchor.spans[0].start :].startswith("5 days")
        assert anchor.asked == Span("a.md", start, start + 6)
    assert found(document, "5 days").rule == SEVERAL
    assert content.redactions[0] == Redaction(0, len("[redacted: key]"), "key", 6)


def test_asked_does_not_depend_on_the_parser() -> None:
    one, other, none = parsed(QUOTE), parsed("A", QUOTE.upper()), parsed("")
    asked = {found(document, QUOTE).asked for document in (one, other, none)}
    assert len(asked) == 1
    assert found(one, QUOTE, 1).asked not in asked


def test_a_thousand_quotes_of_a_hundred_pages_take_seconds() -> None:
    rng = random.Random(3)
    pages = ["\n".join(sentence(rng) for _ in range(12)) for _ in range(100)]
    document = parsed(*pages)
    quotes = [re.sub(r" ", "\n", rng.choice(rng.choice(pages).split("\n"))) for _ in range(1000)]
    began = time.process_time()
    fates = [found(document, quote).fate for quote in quotes]
    assert time.process_time() - began < 10
    assert set(fates) <= {"exact", "pieced"}
