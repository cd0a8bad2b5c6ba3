"""The page of rag data inspect, and its budget of text."""

import random
import re
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from support.chromium import CONTRAST
from support.command_line import Verb
from support.paged_documents import POLICY, document
from support.small_set import TEXTS

from rag.analysis.corpus_view import CorpusView, view
from rag.core.corpus import Corpus
from rag.core.records.sets import Field, FieldFailure, Reconciled, Record, RecordSet, RecordTable
from rag.core.types import Document, Evidence, Example, Query, Span
from rag.reporting.html import corpus_page, embedded_data

HOSTILE = "</script><img src=x onerror='window.pwned=1'>"
SIZES = {"small": 60, "large": 200}


def seen(*documents: Document, examples: tuple[Example, ...] = ()) -> CorpusView:
    """The view of documents in chunks of two sizes."""
    corpora = {}
    for name, size in SIZES.items():
        spans = [
            Span(each.doc_id, at, min(at + size, len(each.text))) for each in documents for at in range(0, len(each.text), size)
        ]
        corpus = Corpus.of(documents, spans)
        corpora[name] = replace(
            corpus, indexed=tuple(f"{HOSTILE}\n{text}" if name == "small" else text for text in corpus.texts)
        )
    return view("policies", corpora, examples)


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a document with pages, a hostile one and a plain one; two questions have gold in the first."""
    policy = document("leave/policy.pdf", POLICY)
    places = {words: policy.text.index(words) for words in ("Up to five days may be carried over.", "5–9 | 27")}
    examples = tuple(
        Example(Query(f"q{number}", f"Question {number} {HOSTILE}"), (Evidence((Span(policy.doc_id, at, at + len(words)),)),))
        for number, (words, at) in enumerate(places.items())
    )
    documents = (policy, Document(f"x{HOSTILE}.md", f"{HOSTILE} " * 9), Document("plain.txt", "Plain words " * 20))
    path = tmp_path_factory.mktemp("page") / "documents.html"
    assert corpus_page.write(seen(*documents, examples=examples), path) == 0
    return path


def test_the_page_shows_pages_blocks_gold_and_flags(policies: Path, opened: Callable[..., Any]) -> None:
    found = opened(policies, reduced_motion="reduce")
    page = found.page
    assert page.locator("h1").inner_text() == "3 documents, 3 pages, cut by small and by large"
    page.locator("#list button", has_text="policy.pdf").click()
    expect(page.locator("#detail h3")).to_contain_text("leave/policy.pdf")
    assert page.locator("#detail h3 .flag").all_inner_texts() == ["mojibake"]
    sections = page.locator("#detail .page")
    assert sections.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))") == ["Page 1", "Page 2", "Page 3"]
    gold = page.locator(".sheet .is-gold")
    assert gold.evaluate_all("all => all.map(one => one.textContent)") == ["cell", "cell", "text"]
    assert sections.nth(0).locator("td").all_inner_texts() == ["Years", "Days", "0–4", "25", "5–9", "27"]
    assert sections.nth(0).locator("td mark").all_inner_texts() == ["5–9", "27"]
    assert sections.nth(1).locator("mark").all_inner_texts() == ["Up to five days may be carried over."]
    assert sections.nth(1).locator(".redacted").all_inner_texts() == ["[EMAIL]"]
    assert [row.split(" · ")[2:] for row in page.locator(".gold .where").all_inner_texts()] == [
        ["small: whole", "large: over 2 chunks"],
        ["small: whole", "large: whole"],
    ]
    sides = page.locator("#detail .sides > section")
    for name, size in SIZES.items():
        chunks = sides.nth(list(SIZES).index(name)).locator(".chunk .text")
        assert "".join(chunks.evaluate_all("all => all.map(one => one.textContent)")) == document("", POLICY).text, size
    page.locator("#detail .jump").first.click()
    expect(page.locator("#detail .page mark").last).to_be_in_viewport()
    assert page.evaluate(CONTRAST) == []
    assert (found.errors, [url for url in found.requests if not url.startswith(("file:", "data:"))]) == ([], [])


def test_filters_and_the_width_of_a_phone(policies: Path, opened: Callable[..., Any]) -> None:
    page = opened(policies, viewport={"width": 390, "height": 844}).page
    names = page.locator("#list .ask")
    page.select_option("#flag", "mojibake")
    assert names.all_inner_texts() == ["leave/policy.pdf"]
    expect(page.locator("#detail .chunk .flag")).to_have_text(["mojibake", "mojibake"])
    page.select_option("#flag", "")
    page.select_option("#question", "1")
    assert names.all_inner_texts() == ["leave/policy.pdf"]
    small, large = (page.locator("#detail .sides > section").nth(side) for side in (0, 1))
    held = document("", POLICY).text.index("5–9 | 27") // SIZES["small"]
    expect(small.locator(".where b")).to_have_text([f"{number} " for number in range(held, held + 3)])
    expect(small.locator(".where").first).to_have_text(re.compile(r"^3 of \d+ chunks, around the gold of the question$"))
    assert set(small.locator(".read").all_inner_texts()) == {HOSTILE}
    assert large.locator(".read").count() == 0
    page.select_option("#question", "")
    page.fill("#words", "PLAIN")
    assert names.all_inner_texts() == ["plain.txt"]
    expect(page.locator("#detail h3")).to_have_text("plain.txt")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.fill("#words", "")
    page.locator("#list button").first.focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect(page.locator("#detail h3")).to_contain_text(HOSTILE)
    assert page.evaluate("window.pwned") is None


def test_a_page_within_its_budget_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_page, "SHARD", 10_000)
    monkeypatch.setattr(embedded_data, "PLAIN", 1_000)
    letters = random.Random(7)
    noise = ["".join(letters.choices(string.printable, k=20_000)) for _ in range(4)]
    gold = Example(Query("q", "?"), (Evidence(("d3",)),))
    found = seen(*(Document(f"d{number}", text) for number, text in enumerate(noise)), examples=(gold,))
    page, left_out = corpus_page.render(found, budget=40_000)
    assert left_out == 3
    assert "The texts of 3 documents are not in this page" in page
    index = re.search(r'id="data-index">(.*?)</script>', page)
    assert index
    assert [part.endswith('"at":[0,0]}') for part in re.findall(r'\{"name":.*?"at":.*?\}', index[1])] == [False] * 3 + [True]
    assert corpus_page.render(found)[1] == 0


def test_records_failures_and_joins_are_on_the_page(tmp_path: Path, opened: Callable[..., Any]) -> None:
    table = RecordTable("rules", (Field("owner"), Field("sites", "list")), (Record("a", "a", 0, 4, (HOSTILE, ("x", "y"))),))
    joins = (Reconciled("a", "mismatch", (), f"owner is {HOSTILE}"), Reconciled("b", "missing", ("a1",), "no"))
    records = RecordSet((table,), (FieldFailure("a", "since", f"is {HOSTILE}"),), joins)
    found = replace(seen(Document("a", "Text of the document. " * 9)), records=records)
    assert corpus_page.write(found, tmp_path / "page.html") == 0
    page = opened(tmp_path / "page.html", reduced_motion="reduce").page
    terms = {name: page.locator("dl > div", has_text=name).first.inner_text() for name in ("Records", "Not usable", "Roster")}
    assert "rules: 1 record, with owner 1, sites 1" in terms["Records"]
    assert f"a: since is {HOSTILE}" in terms["Not usable"]
    assert f"1 mismatch, 1 missing\na: mismatch, owner is {HOSTILE}\nb: missing, no; near it: a1" in terms["Roster"]
    detail = page.locator("#detail")
    expect(detail).to_contain_text(f"owner: {HOSTILE} · sites: x, y")
    expect(detail).to_contain_text("rules, at 0–4: Text")
    expect(detail).to_contain_text(f"since is {HOSTILE}")
    assert page.evaluate("window.pwned") is None
    shown = found.to_json()["records"]
    assert (shown["failed"], shown["reconciled"]) == (1, {"mismatch": 1, "missing": 1})


def test_the_verb_writes_a_page_and_counts(here: Path, rag: Verb) -> None:
    (here / "docs").mkdir()
    for name, text in TEXTS.items():
        (here / "docs" / name).write_text(text, "utf-8")
    fixed = ["loader.path=docs", "store=store", "embedder=hashing", "--chunkers", "whole"]
    said = rag("inspect", *fixed, "--html", "out/page.html").out
    assert "Page: out/page.html" in said
    assert re.search(r"all +4 +4", said)
    counts = rag("inspect", *fixed, "--json").json
    assert (counts["page"], counts["documents"], counts["left_out"]) == ("reports/documents.html", len(TEXTS), 0)
    (here / "roster.csv").write_text("id,Title\nTXT,Rules\n", "utf-8")
    join = ["roster=csv", "roster.path=roster.csv", "roster.key=format", "roster.column=id", "roster.fields={title: Title}"]
    said = rag("inspect", *fixed, "enrich=rules", *join).out
    assert "Roster: 3 missing, 1 mismatch\nrules.txt: mismatch, title is " in said
    assert "ferry.md: missing, 'md' is not in the roster\n" in said
    assert rag("inspect", *fixed, "--html", "docs").code == 2
    assert (here / "out" / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
