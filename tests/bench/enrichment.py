"""F1 of fields by rule and by a model: `python -m bench.enrichment handbook|financebench [address of a server] [documents]`.

The labels of the handbook were written by hand; those of FinanceBench are of its authors, for the first three pages of reports.
"""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from bench.measuring import DATA
from support.choices import CONF, built, node

from rag.components.generators.openai import OpenAiGenerator
from rag.core.records.sets import Cell
from rag.core.types import Document

KINDS = {"10k": "10-K", "10q": "10-Q", "earnings": "earnings release"}
SEC = [
    {"name": "company", "description": "name of the company", "source": {"pattern": r"([^\n]+)\n+\(Exact name of registrant"}},
    {
        **{"name": "form", "description": "kind of the report", "allowed": list(KINDS.values())},
        "source": [{"pattern": r"(?i)form\s+(10-[KQ])"}, {"pattern": "(?i)results", "value": "earnings release"}],
    },
    {
        **{"name": "year", "type": "number", "description": "fiscal year of the report"},
        "source": {"pattern": r"(?i)(?:year|period|quarter)\s+ended:?\s+\w+\s+\d+,\s+(\d{4})"},
    },
]
Labelled = tuple[list[dict[str, Any]], list[Document], list[dict[str, str]]]


def handbook() -> Labelled:
    """The fields of conf/enrich/handbook.yaml but for title and folder, and the documents without metadata."""
    with Path("tests/components/enrichers/handbook_fields.csv").open(encoding="utf-8", newline="") as file:
        labels = sorted(csv.DictReader(file), key=lambda row: row["document"])
    folder = CONF.parent / "datasets/handbook/documents"
    documents = [Document(row["document"], (folder / row["document"]).read_text("utf-8")) for row in labels]
    fields = [each for each in node("enrich", "handbook")["fields"] if each["name"] in labels[0]]
    return fields, documents, labels


def financebench() -> Labelled:
    """Company, kind and year of reports."""
    from pypdfium2 import PdfDocument

    place, documents, labels = DATA / "financebench-dev", list[Document](), list[dict[str, str]]()
    for line in (place / "financebench_document_information.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        pages = PdfDocument(place / "pdfs" / f"{row['doc_name']}.pdf")
        text = "\n".join(pages[at].get_textpage().get_text_range() for at in range(min(3, len(pages))))
        documents.append(Document(row["doc_name"], text.replace("\r\n", "\n")))
        labels.append({"company": row["company"], "form": KINDS[row["doc_type"].lower()], "year": str(row["doc_period"])})
    return SEC, documents, labels


def right(name: str, value: Cell, label: str) -> bool:
    """True for an equal value; the name of a company may be longer than its label: Best Buy Co., Inc."""
    one, other = str(value).casefold(), label.casefold()
    return other in one if name == "company" else one == other


def main(name: str, address: str = "", most: str = "1000") -> None:
    """Print precision, recall, F1 with an interval by documents (bootstrap), and failures of each field."""
    fields, documents, labels = {"handbook": handbook, "financebench": financebench}[name]()
    step = max(1, len(documents) // int(most))
    documents, labels = documents[::step], labels[::step]
    changes: dict[str, Any] = {"fields": fields}
    generator = None
    if address:
        changes = {"fields": [{**each, "source": []} for each in fields], "document_chars": 3000}
        model = {"max_tokens": 200, "timeout": 300.0, "concurrency": 1, "extra": {"response_format": {"type": "json_object"}}}
        generator = OpenAiGenerator("local", address, None, **model)
    found = built(node("enrich", "model" if address else "rules", **changes), generator).enrich(documents)
    table, draw = found.tables[0], np.random.default_rng(16)
    for each in fields:
        values = [record.values[table.column(each["name"])] for record in table.records]
        rows = zip(values, (row[each["name"]] for row in labels), strict=True)
        counts = np.array([(v is not None and right(each["name"], v, t), v is not None, t != "") for v, t in rows], dtype=float)
        sums = counts[draw.integers(0, len(counts), (2000, len(counts)))].sum(axis=1)
        low, high = np.quantile(2 * sums[:, 0] / np.maximum(1, sums[:, 1] + sums[:, 2]), (0.025, 0.975))
        hit, filled, stated = counts.sum(axis=0)
        figures = f"precision {hit / max(1, filled):.3f} recall {hit / max(1, stated):.3f} F1 {2 * hit / (filled + stated):.3f}"
        failed = sum(failure.field == each["name"] for failure in found.failures)
        stated = f"stated {stated:.0f} of {len(values)}, failed {failed}"
        sys.stdout.write(f"{each['name']:8} {figures} [{low:.3f}, {high:.3f}] {stated}\n")
    sys.stdout.write(f"tokens {found.tokens:,}\n")
    for record, row in zip(table.records, labels, strict=True):
        pairs = zip(record.values, (row[each["name"]] for each in fields), strict=True)
        sys.stderr.write("\t".join([record.doc_id, *map(str, pairs)]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
