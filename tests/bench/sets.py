"""Golden sets after edits: what became of a quote, and where a passage is that another tool changed.

Bounds of drift were chosen on tramway and the handbook; chroma and squad played no part in it.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.measuring import ROOT, Row, Rows, cpu_seconds, golden_of, public
from support.corpora import text_folder

from rag.authoring.candidates import digests, place_row
from rag.authoring.review.drift import drifts
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.types import Document, Span
from rag.documents.anchors.quote_anchors import places_in, whole_sentences
from rag.evaluation.data.golden import gold_spans, load
from rag.plugins.exchange_formats.places import Places
from rag.plugins.public_sets.loaders.chroma import ChromaLoader, ChromaQuestions
from rag.plugins.public_sets.loaders.squad import SquadLoader, SquadQuestions

EACH, COUNT = 40, 1000
"""Planted edits of each kind, and changed passages of each set."""
PUBLIC: Mapping[str, tuple[str, Any, Any]] = {
    "chroma": ("chroma-a", ChromaLoader, ChromaQuestions),
    "squad": ("squad2-a", SquadLoader, SquadQuestions),
}
"""Public sets; the spans of squad are extended to whole sentences."""
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
        folder, loader, questions = PUBLIC[name]
        golden = load(loader(str(public(folder))), questions(str(public(folder))))
    else:
        golden = load(text_folder(str(ROOT / "datasets" / name / "documents")), NativeQuestions(str(ROOT / "datasets" / name)))
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


def drift(folder: Path) -> Rows:
    """Planted edits of documents: how often drift names what became of a quote, and proposes the right new words."""
    for name in ("tramway", "handbook", *PUBLIC):
        documents, single = quotes(name)
        rng, silent, taken = random.Random(15), 0, 0
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
            if total := named.total():
                note = f"right words or place {proposed}; {dict(named)}"
                yield Row(f"{name}, {kind}", named[state] / total, f"named of {total}", note=note)
            taken += named.total()
        yield Row(f"{name}, a changed number that is not named", silent, f"of {taken} edits")


LETTERS = "abcdefghijklmnopqrstuvwxyz"
CURLY = str.maketrans({"'": "’", '"': "”", "-": "–"})
Change = Callable[[str, random.Random], str]


def typos(rate: float) -> Change:
    """Replace letters, each with probability `rate`."""
    return lambda text, rng: "".join(rng.choice(LETTERS) if each.isalpha() and rng.random() < rate else each for each in text)


def spaced(text: str, rng: random.Random) -> str:
    """Other white space between the words."""
    return "".join(rng.choice((" ", "  ", "\n", " \n ")) if each.isspace() else each for each in text)


def other_number(text: str, rng: random.Random) -> str:
    """One digit changed."""
    place = rng.choice([hit.start() for hit in re.finditer(r"\d", text)])
    return f"{text[:place]}{(int(text[place]) + rng.randint(1, 9)) % 10}{text[place + 1 :]}"


def shorter(text: str, _: random.Random) -> str:
    """Without the sentence in the middle."""
    parts = re.split(r"(?<=[.!?])\s+", text)
    return " ".join(parts[: len(parts) // 2] + parts[len(parts) // 2 + 1 :])


CHANGES: dict[str, Change] = {
    "white space": spaced,
    "marks removed": lambda text, _: re.sub(r"[*_`#>|\[\]]", "", text),
    "curly quotes": lambda text, _: text.translate(CURLY),
    "upper case": lambda text, _: text.upper(),
    **{f"{rate:.0%} typos": typos(rate) for rate in (0.01, 0.03, 0.05)},
    "1 % typos and a number": lambda text, rng: typos(0.01)(other_number(text, rng), rng),
    "a number": other_number,
    "a sentence less": shorter,
}


def passages(documents: dict[str, Document], rng: random.Random) -> list[Span]:
    """Random stretches of 100 to 1,000 characters from sentence to sentence, with a number and five sentences or less."""
    found: list[Span] = []
    while len(found) < COUNT:
        document = rng.choice(list(documents.values()))
        starts = [0, *(hit.end() for hit in re.finditer(r"[.!?]\s+", document.text))]
        at = rng.randrange(len(starts) - 1)
        span = Span(document.doc_id, starts[at], starts[min(at + rng.randint(1, 6), len(starts) - 1)])
        text = document.text[span.start : span.end].strip()
        if 100 <= len(text) <= 1000 and re.search(r"\d", text):
            found.append(
                Span(span.doc_id, document.text.index(text, span.start), document.text.index(text, span.start) + len(text))
            )
    return found


def exchange(folder: Path) -> Rows:
    """Passages with other letters or numbers, and those of another set."""
    public("chroma-a")
    golden = {"handbook": golden_of(), "squad2-a": golden_of("dataset=squad", f"dataset.path={public('squad2-a')}")}
    sets = {name: {each.doc_id: each for each in one.documents} for name, one in golden.items()}
    for name, documents in sets.items():
        places, rng = Places(documents), random.Random(15)
        passages_of = passages(documents, rng)
        for title, change in CHANGES.items():
            texts = [change(documents[span.doc_id].text[span.start : span.end], rng) for span in passages_of]
            found: list[tuple[Span, ...]] = []
            taken = cpu_seconds(
                lambda places=places, texts=texts, found=found: found.extend(places.find(t).spans for t in texts)
            )  # type: ignore[misc]
            right = sum(any(overlap(one, span) >= 0.9 for one in each) for each, span in zip(found, passages_of, strict=True))
            note = f"{sum(map(bool, found))} found anywhere, {1000 * taken / COUNT:.1f} CPU ms each"
            yield Row(f"{name}, {title}", right / COUNT, f"found of {COUNT}", note=note)
        others = [document.text for other, texts in sets.items() if other != name for document in texts.values()]
        strange = [text[at : at + 300] for text in others for at in range(0, min(len(text), 9000), 300)]
        anchored = sum(bool(places.find(text).spans) for text in strange)
        yield Row(f"{name}, passages of another set", anchored / len(strange), f"found of {len(strange)}")


def overlap(one: Span, other: Span) -> float:
    """The share of the union of two spans that both have."""
    both = max(min(one.end, other.end) - max(one.start, other.start), 0)
    return both / (max(one.end, other.end) - min(one.start, other.start)) if one.doc_id == other.doc_id else 0.0
