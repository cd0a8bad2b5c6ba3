"""Quotes of FinanceBench in annual reports: found on their page without a hint, and named right where one is lost."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.measuring import Row, Rows, golden_of, public
from support.choices import build
from support.generated_secrets import Planted, planted_names, planted_shapes

from rag.core.pages import page_at
from rag.core.roles import Redactor
from rag.core.types import Anchor, Document, Parsed, Place
from rag.documents.anchors.lost_quotes import Quoted
from rag.documents.anchors.quote_anchors import Documents, place_of
from rag.documents.anchors.reduced_text import reduced
from rag.documents.clean.noise import cut
from rag.documents.clean.redact import redact

SENTENCE = re.compile(r"[A-Z][^.\n]{60,260}\.(?!\d)")
"""A sentence; no number goes on behind it, such as the `2 billion` of `$1.2 billion`: quotes hold whole numbers."""
EACH, OTHERS = 4, 20
"""Planted losses of every kind in a report, and sentences that are redacted elsewhere."""
KINDS = {
    "deleted, nothing redacted": "parser",
    "deleted, others redacted": "parser",
    "sentence redacted": "redaction",
    "value in a sentence redacted": "redaction",
    "value in a sentence, other line ends": "redaction",
    "quote is a value": "redaction",
    "dropped": "noise",
}


def write_questions(folder: Path) -> dict[str, list[int]]:
    """Write every published question in Assay's format; the pages of the evidence of every question, from 1."""
    published = [
        json.loads(line)
        for line in (public("financebench-dev") / "financebench_open_source.jsonl").read_text("utf-8").splitlines()
    ]
    rows = []
    for line in published:
        quotes = [{"doc": f"{each['doc_name']}.pdf", "quote": each["evidence_text"]} for each in line["evidence"]]
        rows.append({"id": line["financebench_id"], "text": line["question"], "evidence": [{"any": [it]} for it in quotes]})
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return {line["financebench_id"]: [each["evidence_page_num"] + 1 for each in line["evidence"]] for line in published}


def evidence(folder: Path) -> Rows:
    """50 evidence texts of analysts in 24 reports, by parser."""
    pages = write_questions(folder)
    reports = public("financebench-dev") / "pdfs"
    for parser in ("pdfium", "pypdf"):
        choices = ("loader=folder", f"loader.path={reports}", f"++loader.parsers.pdf={parser}", "loader.noise=none")
        golden = golden_of(*choices, "dataset=native", f"dataset.path={folder}")
        documents = {document.doc_id: document for document in golden.documents}
        total = anchored = right = 0
        for example in golden.examples:
            for group, page in zip(example.evidence, pages[example.query.query_id], strict=True):
                (place,) = group.alternatives
                spans = place.spans if isinstance(place, Anchor) else ()
                found = {page_at(documents[place.doc_id].blocks, span.start) for span in spans}
                total, anchored, right = total + 1, anchored + bool(spans), right + (page in found)
        yield Row(
            f"evidence of FinanceBench, parser={parser}", anchored / total, f"anchored of {total}", "on its page", right / total
        )


@dataclass
class SentencesAndValues:
    """Finds some sentences, and values by the rules that are shipped."""

    sentences: Sequence[str]
    values: Redactor

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """Sentences, and values outside of them."""
        found = [(at, at + len(each), "sentence") for each in self.sentences if (at := text.find(each)) >= 0]
        values = self.values.find(text)
        return sorted([*found, *(each for each in values if all(each[1] <= low or each[0] >= high for low, high, _ in found))])


def reports() -> Iterator[tuple[str, Parsed]]:
    parser = build("parser", "pdfium")
    for path in sorted((public("financebench-dev") / "pdfs").glob("*.pdf")):
        yield path.name, parser.parse(path.read_bytes(), path.name)


def sentences_of(parsed: Parsed, rng: random.Random) -> list[str]:
    """Sentences of which the report has each half once, in any order: a sentence with another place is not lost.

    Letters and digits are compared, so that a page break in the other place does not hide it.
    """
    texts = (parsed.text[block.start : block.end] for block in parsed.blocks if block.kind == "text")
    found = sorted({match[0] for text in texts for match in SENTENCE.finditer(text)})
    text, once = reduced(parsed.text).text, list[str]()
    for sentence in found:
        letters = reduced(sentence).text
        middle = len(letters) // 2
        once += [sentence] * (text.count(letters[:middle]) == text.count(letters[middle:]) == 1)
    rng.shuffle(once)
    return once


def edited(parsed: Parsed, sentence: str, other: str) -> Parsed:
    """The report with another text in the place of a sentence."""
    at = parsed.text.index(sentence)
    end, grown = at + len(sentence), len(other) - len(sentence)
    blocks = (
        replace(block, start=block.start + grown * (block.start >= end), end=block.end + grown * (block.end >= end))
        for block in parsed.blocks
    )
    return replace(parsed, text=parsed.text[:at] + other + parsed.text[end:], blocks=tuple(blocks))


def with_value(sentence: str, planted: Planted) -> str:
    words = sentence.split(" ")
    return " ".join([*words[: len(words) // 2], planted.text, *words[len(words) // 2 :]])


def planted_losses(parsed: Parsed, rng: random.Random, secrets: list[Planted], rules: Redactor) -> Iterator[tuple[str, Place]]:
    """The kind of every planted loss, and what became of its quote."""
    chosen = (sentence for sentence in sentences_of(parsed, rng) if not rules.find(sentence))
    deleted, redacted, changed, dropped = ([next(chosen) for _ in range(EACH)] for _ in range(4))
    for sentence in deleted:
        parsed = edited(parsed, sentence, "")
    values = [(with_value(sentence, planted := secrets.pop()), planted.secret) for sentence in changed]
    without = parsed
    for sentence, (quote, _) in zip(changed, values, strict=True):
        parsed = edited(parsed, sentence, quote)
    redactor = SentencesAndValues([*redacted, *(each for each, _ in zip(chosen, range(OTHERS), strict=False))], rules)
    read = redact(parsed, redactor)

    def fate(content: Parsed, quote: str) -> Place:
        page = Document("report.pdf", content.text, blocks=content.blocks, redactions=content.redactions)
        noise = sorted((at := page.text.index(each), at + len(each), "header") for each in dropped)
        document, gone = cut(page, noise)
        return place_of("report.pdf", Quoted(quote), "q", Documents([document], {}, {"report.pdf": gone}, redactor=redactor))

    for sentence in deleted:
        yield "deleted, nothing redacted", fate(without, sentence)
        yield "deleted, others redacted", fate(read, sentence)
    yield from (("sentence redacted", fate(read, sentence)) for sentence in redacted)
    yield from (("dropped", fate(read, sentence)) for sentence in dropped)
    for quote, secret in values:
        if secret not in read.text:  # the rules do not find every secret: see safety.secrets
            yield "value in a sentence redacted", fate(read, quote)
            yield "value in a sentence, other line ends", fate(read, quote.replace(" ", "\n"))
            yield "quote is a value", fate(read, secret)


def losses(folder: Path) -> Rows:
    """Planted losses of quotes: how often the right stage is named."""
    rng, rules = random.Random(13), build("redactor", "secrets_and_personal")
    secrets = [each for each in (*planted_shapes(rng, 1), *planted_names(rng, 2)) if "\n" not in each.secret]
    rng.shuffle(secrets)
    named = {kind: Counter[str]() for kind in KINDS}
    for _, parsed in reports():
        for kind, anchor in planted_losses(parsed, rng, secrets, rules):
            assert isinstance(anchor, Anchor)
            named[kind][f"found {anchor.fate}" if anchor.spans else anchor.fate] += 1
    for kind, fates in named.items():
        yield Row(f"quote {kind}", fates[KINDS[kind]] / fates.total(), f"named right of {fates.total()}", note=str(dict(fates)))
