"""Processor time of parsers beside their libraries called bare, and of folders of mixed files."""

import csv
import gzip
import io
import json
import re
import resource
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import docx
import pypdf
import pypdfium2
import yaml
from bench.measuring import DATA, HANDBOOK, Row, Rows, cpu_seconds, public, rag
from docutils.core import publish_parts
from pptx import Presentation
from python_calamine import CalamineWorkbook
from support.choices import build
from support.sample_files import PARAGRAPH, SAMPLES, archive, parts_of
from trafilatura import extract

from rag.components.redactors.none import NoRedactor
from rag.documents.reading import read_files
from rag.plugins.rare_formats.parsers.rst import SETTINGS as RST


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


def files(choice: str) -> list[bytes]:
    """Public files of a format, or a larger one that is made; python-docx cannot open `Strict.docx`, which is left out."""
    if choice == "docx":
        return [path.read_bytes() for path in sorted(public("docx-docling").glob("sources/[!S]*.docx"))]
    if choice == "html":
        return [gzip.decompress(path.read_bytes()) for path in sorted(public("html-articles-181").glob("html/*.gz"))]
    if choice in ("pdfium", "pypdf"):
        return [path.read_bytes() for path in sorted(public("icdar2013-eu").glob("*.pdf"))]
    text = PARAGRAPH.encode()
    return [
        {
            "pptx": slides,
            "xlsx": sheet,
            "rst": lambda: b"".join(b"Part %d\n========\n\n%s\n\n- a *b*\n- c\n\n" % (n, text) for n in range(300)),
            "yaml": lambda: b"".join(b"- {title: %d, text: %s, n: [1]}\n" % (n, text.replace(b",", b"")) for n in range(3000)),
            "eml": lambda: SAMPLES["eml"]().replace(text[:60], text[:60] + b"\n\nwords\n" * 1000),
            "csv": lambda: b"a,b,c\n" + b"one,two words,3.5\n" * 20_000,
        }[choice]()
    ]


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


def bare_pdfium(data: bytes) -> object:
    document = pypdfium2.PdfDocument(data)
    return [page.get_textpage().get_text_range() for page in document]


BARE: dict[str, Callable[[bytes], object]] = {
    "pdfium": bare_pdfium,
    "pypdf": lambda data: [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages],
    "docx": bare_docx,
    "html": bare_html,
    "pptx": bare_pptx,
    "rst": lambda data: publish_parts(data.decode(), writer="html5", settings_overrides=RST)["html_body"],
    "xlsx": bare_xlsx,
    "yaml": lambda data: list(yaml.load_all(data, Loader=yaml.CSafeLoader)),
    "eml": lambda data: message_from_bytes(data, policy=policy.default).get_body(("plain",)).get_content(),  # type: ignore[union-attr]
    "csv": lambda data: ["|".join(row) for row in csv.reader(io.StringIO(data.decode(), newline=""))],
}


def each(work: Callable[[bytes], object], given: list[bytes]) -> None:
    """Read all files."""
    for data in given:
        work(data)


def parsers(folder: Path) -> Rows:
    """The best of two rounds in one process, over public files where there are some."""
    for choice, bare in BARE.items():
        given = files(choice)
        ours = cpu_seconds(partial(each, partial(build("parser", choice).parse, name="a"), given), 2)
        theirs = cpu_seconds(partial(each, bare, given), 2)
        yield Row(f"parser={choice}, {len(given)} files", ours, "CPU s", "the library called bare", theirs)


TAILS = {"pdf": b"\n%% %d", "html": b"<!-- %d -->", "csv": b"%d,x\n", "md": b"\n\nFile %d.\n", "rst": b"\n\nFile %d.\n"}
CHOICES = {"pdf": "pdfium", "md": "text"} | {suffix: suffix for suffix in ("docx", "html", "csv", "rst", "pptx", "xlsx")}


def originals() -> Iterator[tuple[str, bytes]]:
    """Files of ordinary size: the handbook, public PDF and DOCX files, and the samples."""
    for path in [*sorted(HANDBOOK.rglob("documents/**/*.md")), *sorted(DATA.glob("docx-docling/sources/*.docx"))]:
        yield path.suffix[1:], path.read_bytes()
    for path in sorted([*DATA.glob("pdf-samples/*/*.pdf"), *DATA.glob("icdar2013-eu/**/*.pdf")]):
        if path.stat().st_size < 500_000 and "password" not in path.name:
            yield "pdf", path.read_bytes()
    for suffix in ("html", "csv", "rst", "pptx", "xlsx"):
        yield from [(suffix, SAMPLES[suffix]())] * 6


def mixed(folder: Path, count: int) -> dict[str, Path]:
    """Files with the same contents and other bytes; an archive gets a comment."""
    folder.mkdir(parents=True)
    found: dict[str, Path] = {}
    for number, (suffix, data) in enumerate(islice(cycle([*originals()]), count)):
        comment = b"%d" % number
        archived = data[:-2] + len(comment).to_bytes(2, "little") + comment
        path = found[f"{number:05}.{suffix}"] = folder / f"{number:05}.{suffix}"
        path.write_bytes(data + TAILS[suffix] % number if suffix in TAILS else archived)
    return found


def seconds(*whose: int) -> float:
    """Processor seconds so far."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, whose))


def folder(folder: Path) -> Rows:
    """Mixed files: confined processes beside the parsers alone, and a second load beside the first."""
    public("docx-docling")
    made = mixed(folder / "golden" / "documents", 600)
    chosen = {suffix: build("parser", choice) for suffix, choice in CHOICES.items()}
    apart = {name: path for name, path in made.items() if not chosen[name.rpartition(".")[2]].in_process}
    good = {file.name: apart[file.name] for file in read_files(apart, chosen, NoRedactor(), 1) if hasattr(file.content, "text")}
    both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    began = seconds(*both)
    for name, path in good.items():
        chosen[name.rpartition(".")[2]].parse(path.read_bytes(), "file")
    middle = seconds(*both)
    list(read_files(good, chosen, NoRedactor(), 1))
    what = f"{len(good)} files in confined processes"
    yield Row(what, seconds(*both) - middle, "CPU s", "the parsers alone", middle - began)
    question = {"id": "q", "text": "Which file?", "evidence": [{"any": [{"doc": next(n for n in made if n.endswith(".md"))}]}]}
    (folder / "golden" / "questions.jsonl").write_text(json.dumps(question) + "\n")
    check = ("data", "check", "native", "dataset.path=golden", "loader.parsers.pdf=pdfium")
    first, again = rag(*check), rag(*check)
    yield Row(f"rag data check, {len(made)} files, again", again.cpu, "CPU s", "first", first.cpu, first.told)
