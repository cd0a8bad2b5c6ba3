"""Parsers against public sets, and their processor time against the libraries called bare."""

import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from email import message_from_bytes, policy
from typing import Any

import docx
import pytest
import yaml
from bench.measuring import DATA, Report, least_cpu
from docutils.core import publish_parts
from pptx import Presentation
from python_calamine import CalamineWorkbook
from support.choices import build
from support.sample_files import PARAGRAPH, SAMPLES, archive, parts_of
from trafilatura import extract

from rag.core.types import Parsed
from rag.plugins.rare_formats.parsers.rst import SETTINGS

DOCX, HTML = DATA / "docx-docling", DATA / "html-articles-181"
FORMULA = re.compile(r"\$.*?\$", re.DOTALL)
LABEL = re.compile(r"^ *(?:- )?(?:(?:\d+\.)+\d*|\d+|\(?\w\))? ")
"""The label of a list item, which docling keeps apart from its text."""
CELL_LABEL = re.compile(r"(?:^|(?<=\s))\d+\.(?=\s)")
RULE = re.compile(r"^\|[ |-]*\|$", re.MULTILINE)

pytestmark = pytest.mark.bench


def words(text: str) -> list[str]:
    """The words of a text; of formulas the ASCII letters and digits that are no commands, without check boxes."""

    def plain(formula: re.Match[str]) -> str:
        return " ".join(re.findall(r"[A-Za-z0-9]", re.sub(r"\\[A-Za-z]+|\{matrix\}|0pt", " ", formula[0])))

    return re.findall(r"[^\W_]+", FORMULA.sub(plain, re.sub(r"\[[x ]\]", "", text)).lower())


def body(truth: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The texts and tables of docling's document in reading order: no headers, footers and comments, no parts of cells."""
    for child in node.get("children", ()):
        kind, number = child["$ref"].removeprefix("#/").split("/")
        part = truth[kind][int(number)]
        if part.get("content_layer", "body") == "body":
            yield part
            if kind != "tables":
                yield from body(truth, part)


def expected(part: dict[str, Any]) -> str:
    if "data" in part:
        return "\n".join(cell["text"] for cell in part["data"]["table_cells"])
    return f"${part['text']}$" if part.get("label") == "formula" else str(part.get("text", ""))


def found(content: Parsed) -> str:
    """The text of the body without labels of lists and words on pictures."""
    kept = []
    for block in content.blocks:
        text = content.text[block.start : block.end]
        if block.kind not in ("marginalia", "cell", "figure"):
            kept.append(LABEL.sub("", text) if block.kind == "list" else RULE.sub("", text))
    return "\n".join(kept)


def grids(content: Parsed) -> list[list[list[str]]]:
    """The cells of every pipe table; a table that goes on over a page break is one table."""
    tables: list[list[list[str]]] = []
    end = -2
    for block in content.blocks:
        if block.kind == "table":
            rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in content.text[block.start : block.end].split("\n")]
            tables = [*tables[:-1], tables[-1] + rows] if block.start == end + 1 else [*tables, [rows[0], *rows[2:]]]
            end = block.end
    return tables


@pytest.mark.skipif(not DOCX.is_dir(), reason=f"no {DOCX}")
def test_docx_against_docling() -> None:
    """Words in order: 2 · (common words in order) / (words of both). Cells: equal words at the same row and column.

    The truth is docling's own output, not made by people: every file below .98 is named.
    """
    report, shares, cells = Report("docx-docling", ["file", "words in order"]), [], Counter[bool]()
    for file in sorted((DOCX / "sources").glob("*.docx")):
        truth = json.loads((DOCX / "groundtruth" / f"{file.name}.json").read_text("utf-8"))
        content = build("parser", "docx").parse(file.read_bytes(), file.name)
        parts = list(body(truth, truth["body"]))
        shares.append(SequenceMatcher(None, words("\n".join(map(expected, parts))), words(found(content)), False).ratio())
        if shares[-1] < 0.98:
            report.row(file.name, shares[-1])
        for number, table in enumerate(part["data"] for part in parts if "data" in part):
            for cell in table["table_cells"]:
                row, column = cell["start_row_offset_idx"], cell["start_col_offset_idx"]
                own = grids(content)[number][row][column]
                same = words(CELL_LABEL.sub("", cell["text"].strip())) == words(CELL_LABEL.sub("", own.strip()))
                cells[same] += 1
                if not same:
                    report.note(
                        f"{file.name}, table {number}, row {row}, column {column}: {cell['text'][:40]!r}, here {own[:40]!r}"
                    )
    mean, right = sum(shares) / len(shares), cells[True] / cells.total()
    report.note(f"{len(shares)} files: words in order {mean:.4f}; cells {cells[True]} of {cells.total()}, {right:.4f}")
    report.show()
    assert mean >= 0.98
    assert right >= 0.98


def shingles(text: str) -> Counter[tuple[str, ...]]:
    tokens = re.findall(r"\w+", text)
    return Counter(tuple(tokens[place : place + 4]) for place in range(max(1, len(tokens) - 3)) if tokens)


def article_scores(truth: str, text: str) -> tuple[float, float]:
    """Precision and recall of 4-grams of words, as the benchmark of article extraction defines them."""
    wanted, own = shingles(truth), shingles(text)
    common = (wanted & own).total()
    if wanted == own:
        return 1.0, 1.0
    return (common / own.total() if own else 0.0), (common / wanted.total() if wanted else 1.0)


def without_title(content: Parsed) -> str:
    """The text without the title that the parser writes above the article: the truth has none."""
    first = content.blocks[0] if content.blocks else None
    return content.text[first.end :] if first and first.kind == "heading" and first.start == 0 else content.text


@pytest.mark.skipif(not HTML.is_dir(), reason=f"no {HTML}")
def test_articles_of_web_pages() -> None:
    truth = json.loads((HTML / "ground-truth.json").read_text("utf-8"))
    pages = {name: gzip.decompress((HTML / "html" / f"{name}.html.gz").read_bytes()) for name in truth}
    report, scores = Report("html-articles-181", ["text", "precision", "recall", "F1"]), {}
    contents = {name: build("parser", "html").parse(page, name) for name, page in pages.items()}
    texts = {
        "without the title line": {name: without_title(content) for name, content in contents.items()},
        "whole text": {name: content.text for name, content in contents.items()},
        "trafilatura called bare": {
            name: extract(page, fast=True, include_comments=False) or "" for name, page in pages.items()
        },
    }
    for label, found_texts in texts.items():
        pairs = [article_scores(truth[name]["articleBody"], text) for name, text in found_texts.items()]
        precision, recall = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
        scores[label] = 2 * precision * recall / (precision + recall)
        report.row(label, precision, recall, scores[label])
    report.note(f"{len(pages)} pages")
    report.show()
    assert min(scores.values()) >= 0.95


def slides() -> bytes:
    """40 slides with a list each."""
    deck, data = Presentation(), io.BytesIO()
    for number in range(40):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text_frame.text = f"Slide {number}"
        slide.placeholders[1].text_frame.text = "\n".join([PARAGRAPH] * 5)
    deck.save(data)
    return data.getvalue()


def sheet() -> bytes:
    """The sample with its second row 5,000 times."""
    parts, name = parts_of(SAMPLES["xlsx"]()), "xl/worksheets/sheet1.xml"
    head, row, tail = re.split(rb"(?=<row r=.2.)|(?<=</row>)(?=</sheetData>)", parts[name])
    rows = b"".join(re.sub(rb"2(?=\")", b"%d" % number, row) for number in range(2, 5002))
    return archive({**parts, name: head + rows + tail})


LARGER = {
    "pptx": slides,
    "xlsx": sheet,
    "rst": lambda: b"".join(b"Part %d\n========\n\n%s\n\n- a *b*\n- c\n\n" % (n, PARAGRAPH.encode()) for n in range(300)),
    "yaml": lambda: b"".join(
        b"- {title: Part %d, text: %s, n: [1, 2]}\n" % (n, PARAGRAPH.replace(",", "").encode()) for n in range(3000)
    ),
    "eml": lambda: SAMPLES["eml"]().replace(PARAGRAPH.encode()[:60], PARAGRAPH.encode()[:60] + b"\n\nwords\n" * 1000),
    "csv": lambda: b"a,b,c\n" + b"one,two words,3.5\n" * 20_000,
}
"""Larger files of formats without a public set."""


def seconds(run: Callable[[bytes], object], files: Sequence[bytes]) -> float:
    return least_cpu(lambda: [run(data) for data in files])


def bare_docx(data: bytes) -> object:
    document = docx.Document(io.BytesIO(data))
    cells = [[[cell.text for cell in row.cells] for row in table.rows] for table in document.tables]
    return [paragraph.text for paragraph in document.paragraphs], cells


def bare_html(data: bytes) -> object:
    settings: dict[str, Any] = {"output_format": "markdown", "include_formatting": True, "with_metadata": True}
    return extract(data, fast=True, include_comments=False, **settings)


def bare_pptx(data: bytes) -> object:
    pages = Presentation(io.BytesIO(data)).slides
    return [[shape.text_frame.text if shape.has_text_frame else "" for shape in page.shapes] for page in pages]


def bare_xlsx(data: bytes) -> object:
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    return [["|".join(map(str, row)) for row in book.get_sheet_by_name(name).to_python()] for name in book.sheet_names]


BARE: dict[str, Callable[[bytes], object]] = {
    "docx": bare_docx,
    "html": bare_html,
    "pptx": bare_pptx,
    "rst": lambda data: publish_parts(data.decode(), writer="html5", settings_overrides=SETTINGS)["html_body"],
    "xlsx": bare_xlsx,
    "yaml": lambda data: list(yaml.load_all(data, Loader=yaml.CSafeLoader)),
    "eml": lambda data: message_from_bytes(data, policy=policy.default).get_body(("plain",)).get_content(),
    "csv": lambda data: ["|".join(row) for row in csv.reader(io.StringIO(data.decode(), newline=""))],
}


def test_processor_time_against_the_libraries_called_bare() -> None:
    """The best of three rounds in one process: public files where there are some, otherwise one larger file.

    python-docx cannot open `Strict.docx` of docx-docling, which is left out.
    """
    report, ratios = Report("Processor time", ["parser", "files", "seconds", "bare", "ratio"]), {}
    for choice, bare in BARE.items():
        folder, pattern = {"docx": (DOCX, "sources/[!S]*.docx"), "html": (HTML, "html/*.gz")}.get(choice, (DATA / "none", "*"))
        files = [gzip.decompress(file.read_bytes()) if choice == "html" else file.read_bytes() for file in folder.glob(pattern)]
        parser = build("parser", choice)
        files = files or [LARGER[choice]()]
        own = seconds(lambda data, parser=parser: parser.parse(data, "a"), files)  # type: ignore[misc]
        library = seconds(bare, files)
        ratios[choice] = own / library
        report.row(choice, len(files), own, library, ratios[choice])
    report.show()
    assert max(ratios["docx"], ratios["html"], ratios["pptx"], ratios["rst"]) <= 1.3
