"""The evidence of FinanceBench as gold without page hints: exact, pieced or lost for a PDF parser, and on its page or not."""

import json
from collections import Counter
from pathlib import Path

import pytest
from bench.measuring import DATA, Report, golden_of, timed

from rag.core.pages import page_at
from rag.core.types import Anchor

REPORTS = DATA / "financebench-dev"
ANCHORED = 0.99
pytestmark = [pytest.mark.bench, pytest.mark.skipif(not REPORTS.is_dir(), reason="needs financebench-dev in RAG_DATA")]


def write_questions(folder: Path) -> dict[str, list[int]]:
    """Write every published question in Assay's format; the pages of the evidence of every question, from 1."""
    published = [json.loads(line) for line in (REPORTS / "financebench_open_source.jsonl").read_text("utf-8").splitlines()]
    rows = []
    for line in published:
        quotes = [{"doc": f"{each['doc_name']}.pdf", "quote": each["evidence_text"]} for each in line["evidence"]]
        rows.append({"id": line["financebench_id"], "text": line["question"], "evidence": [{"any": [it]} for it in quotes]})
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return {line["financebench_id"]: [each["evidence_page_num"] + 1 for each in line["evidence"]] for line in published}


@pytest.mark.parametrize("parser", ["pdfium", "liteparse", "pypdf"])
def test_evidence_is_anchored_on_its_page(bench: Path, parser: str) -> None:
    pages, fates, wrong = write_questions(bench), Counter[str](), list[str]()
    choices = ("loader=folder", f"loader.path={REPORTS / 'pdfs'}", f"++loader.parsers.pdf={parser}", "loader.noise=none")
    with timed() as taken:
        golden = golden_of(*choices, "dataset=native", f"dataset.path={bench}")
    documents = {document.doc_id: document for document in golden.documents}
    for example in golden.examples:
        for group, page in zip(example.evidence, pages[example.query.query_id], strict=True):
            (place,) = group.alternatives
            assert isinstance(place, Anchor)
            fates[place.fate] += 1
            found = {page_at(documents[place.doc_id].blocks, span.start) for span in place.spans}
            if place.spans and page not in found:
                wrong.append(f"{example.query.query_id} is on page {page} of {place.doc_id}, not on {sorted(found)}")
            elif not place.spans:
                wrong.append(f"{example.query.query_id} is lost in {place.doc_id}: {place.rule}")
    total, anchored = fates.total(), fates["exact"] + fates["pieced"]
    report = Report(f"Evidence of FinanceBench, {parser}", ("evidence", "exact", "pieced", "lost", "anchored", "wrong page"))
    elsewhere = sum(" not on " in line for line in wrong)
    report.row(total, fates["exact"], fates["pieced"], total - anchored, anchored / total, elsewhere)
    for line in [*wrong, str(taken)]:
        report.note(line)
    report.show()
    assert anchored >= ANCHORED * total
    assert elsewhere == 0
