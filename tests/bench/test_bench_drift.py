"""Planted edits of documents: how often drift names what became of a quote, and proposes the right new words."""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.measuring import DATA, Report
from support.corpora import text_folder

from rag.authoring.candidates import digests, place_row
from rag.authoring.review.drift import drifts
from rag.components.loaders.chroma import ChromaLoader, ChromaQuestions
from rag.components.loaders.native_questions import NativeQuestions
from rag.components.loaders.squad import SquadLoader, SquadQuestions
from rag.core.types import Document, Span
from rag.documents.anchors.quote_anchors import places_in, whole_sentences
from rag.evaluation.data.golden import gold_spans, load

pytestmark = pytest.mark.bench
SETS = Path(__file__).parents[2] / "datasets"
EACH, RIGHT = 40, 0.85
PUBLIC: Mapping[str, tuple[str, Any, Any]] = {
    "chroma": ("chroma-a", ChromaLoader, ChromaQuestions),
    "squad": ("squad2-a", SquadLoader, SquadQuestions),
}
"""Sets on which no bound was chosen; the spans of squad are extended to whole sentences."""
SYNONYMS = {
    "may": "can", "must": "have to", "need": "require", "staff": "people", "before": "ahead of", "within": "inside",
    "paid": "reimbursed", "kept": "stored", "gets": "receives", "get": "receive", "leave": "time off", "up to": "at most",
    "is": "remains", "are": "remain", "y": "y también", "und": "sowie",
    "se": "siempre se", "wird": "wird stets", "and": "and also",
    "the": "this", "la": "esta", "el": "este", "die": "diese", "der": "dieser", "das": "dieses", "for": "as", "with": "having",
}  # fmt: skip
"""Words and what an editor might write in their place, in English, German and Spanish."""
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "fifteen", "twenty", "thirty")
Edit = Callable[[dict[str, Document], str, str, random.Random], str | None]
"""Changes the text of a document around a quote; the new words of the quote, None if the edit does not apply."""


def edited(documents: dict[str, Document], name: str, text: str) -> None:
    documents[name] = replace(documents[name], text=text)


def reword(documents: dict[str, Document], name: str, quote: str, rng: random.Random) -> str | None:
    known = [word for word in SYNONYMS if re.search(rf"\b{word}\b", quote)]
    if not known:
        return None
    new = quote
    for word in rng.sample(known, min(2, len(known))):
        new = re.sub(rf"\b{word}\b", SYNONYMS[word], new, count=1)
    edited(documents, name, documents[name].text.replace(quote, new))
    return new


def renumber(documents: dict[str, Document], name: str, quote: str, rng: random.Random) -> str | None:
    found = [*re.finditer(rf"\d+|\b(?:{'|'.join(NUMBERS)})\b", quote)]
    if not found:
        return None
    number = rng.choice(found)
    other = (
        str(int(number[0]) + rng.randint(1, 9)) if number[0].isdigit() else rng.choice([n for n in NUMBERS if n != number[0]])
    )
    new = quote[: number.start()] + other + quote[number.end() :]
    edited(documents, name, documents[name].text.replace(quote, new))
    return new


def move(documents: dict[str, Document], name: str, quote: str, rng: random.Random) -> str | None:
    other = rng.choice([each for each in sorted(documents) if each != name])
    edited(documents, other, f"{documents[other].text}\n\n{quote}\n")
    edited(documents, name, documents[name].text.replace(quote, ""))
    return quote


def delete(documents: dict[str, Document], name: str, quote: str, rng: random.Random) -> str | None:
    text = documents[name].text
    start, end = whole_sentences(text, at := text.index(quote), at + len(quote))
    edited(documents, name, text[:start] + text[end:])
    return ""


def rename(documents: dict[str, Document], name: str, quote: str, rng: random.Random) -> str | None:
    text = documents[name].text
    heads = [match for match in re.finditer(r"^#+ .*$", text, re.MULTILINE) if quote not in match[0] and match[0] not in quote]
    if not heads:
        return None
    head = rng.choice(heads)
    edited(documents, name, f"{text[: head.end()]} (new){text[head.end() :]}")
    return quote


EDITS: Mapping[str, tuple[Edit, str]] = {
    "reworded": (reword, "reworded"),
    "number changed": (renumber, "changed"),
    "moved to another file": (move, "moved"),
    "deleted": (delete, "gone"),
    "heading renamed": (rename, "there"),
}


def whole(document: Document, span: Span) -> Span:
    return Span(span.doc_id, *whole_sentences(document.text, span.start, span.end))


def quotes(name: str) -> tuple[dict[str, Document], list[tuple[dict[str, Any], dict[str, Any]]]]:
    """The documents of a set, and its questions with every quote that stands in one place."""
    if name in PUBLIC:
        if not DATA.is_dir():
            pytest.skip("the public sets are absent (RAG_DATA)")
        folder, loader, questions = PUBLIC[name]
        golden = load(loader(str(DATA / folder)), questions(str(DATA / folder)))
    else:
        golden = load(text_folder(str(SETS / name / "documents")), NativeQuestions(str(SETS / name)))
    documents = {each.doc_id: each for each in golden.documents}
    found = [
        ({"id": each.query.query_id, "answers": list(each.answers)}, place_row(documents[span.doc_id], span))
        for each in golden.examples
        for span in (whole(documents[span.doc_id], span) if name == "squad" else span for span in gold_spans(each))
    ]
    once = [
        (row, place)
        for row, place in found
        if len(place) == 2 and "\n" not in place["quote"] and len(dict(places_in(documents, place["quote"]))) == 1
    ]
    return documents, once


@pytest.mark.parametrize("name", ["tramway", "handbook", *PUBLIC])
def test_planted_edits(name: str) -> None:
    documents, single = quotes(name)
    rng, report = random.Random(15), Report(f"Planted edits: {name}", ("edit", "n", "named right", "right words", "named"))
    silent = 0
    for kind, (edit, state) in EDITS.items():
        rng.shuffle(single)
        named, proposed = Counter[str](), 0
        for row, place in single:
            changed = dict(documents)
            new = edit(changed, place["doc"], place["quote"], rng)
            if new is None or named.total() == EACH:
                continue
            made = {**row, "evidence": [{"any": [place]}], "provenance": {"documents": digests([place["doc"]], documents)}}
            found = next(drifts([made], changed))
            named[found.state] += 1
            good = len(found.to) == 1 if state == "moved" else new.strip() in found.new or state in ("there", "gone")
            proposed += found.state == state and good
            silent += kind == "number changed" and found.state in ("there", "moved", "reworded")
            if found.state != state or not good:
                about = (
                    f"{found.state} {found.alike} {found.facts}: {place['quote'][:90]!r} -> {new[:90]!r}, {found.new[:90]!r}"
                )
                report.note(f"{kind}: {about}")
        assert named[state] >= RIGHT * named.total(), kind
        report.row(kind, named.total(), named[state], proposed, dict(named))
    report.show()
    assert silent == 0
