"""Measures of the PDF parsers on public files: tables, cells, odd files, CPU against the libraries called bare."""

import io
import resource
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from bench.measuring import DATA, least_cpu, timed
from support.choices import build
from support.marked_tables import found, marked, reduced, relations, texts

from rag.core.errors import DataError
from rag.core.types import Parsed

PARSERS = ("pdfium", "liteparse", "pypdf")
TABLES, REPORTS, SAMPLES = DATA / "icdar2013-eu", DATA / "financebench-dev", DATA / "pdf-samples"
pytestmark = [pytest.mark.bench, pytest.mark.skipif(not TABLES.is_dir(), reason="needs the PDF sets of RAG_DATA")]


@cache
def parsed(choice: str, path: Path) -> Parsed:
    content: Parsed = build("parser", choice).parse(path.read_bytes(), path.name)
    return content


def show(line: str) -> None:
    sys.stdout.write(f"\n{line}\n")


def annotations() -> Iterator[tuple[Path, Path]]:
    """The marks of every file, with the file; `eu-009` is marked twice, the first is taken."""
    for marks in sorted(TABLES.glob("*-str.xml")):
        if not marks.name.startswith("eu-009b"):
            yield marks, TABLES / f"{marks.name.removesuffix('-str.xml')}.pdf"


def test_the_marks_are_counted_as_their_readme_says() -> None:
    tables = [grid for path in TABLES.glob("*-str.xml") for grid in marked(path)]
    assert (sum(len(texts(grid)) for grid in tables), relations(tables).total()) == (3767, 6348)


def test_relations_of_neighbouring_cells() -> None:
    given = made = right = 0
    for marks, path in annotations():
        gold, guess = relations(marked(marks)), relations(found(parsed("liteparse", path)))
        given, made, right = given + gold.total(), made + guess.total(), right + (gold & guess).total()
    precision, recall = right / made, right / given
    score = 2 * precision * recall / (precision + recall)
    show(f"relations: {given} marked, {made} found; P {precision:.3f} R {recall:.3f} F1 {score:.3f}")
    assert score >= 0.82


@pytest.mark.parametrize("choice", PARSERS)
def test_cells_are_in_the_text(choice: str) -> None:
    kept = total = 0
    for marks, path in annotations():
        text = reduced(parsed(choice, path).text)
        cells = [cell for grid in marked(marks) for cell in texts(grid)]
        kept, total = kept + sum(cell in text for cell in cells), total + len(cells)
    show(f"{choice}: {kept} of {total} cells in the text ({kept / total:.4f})")
    assert kept >= 0.99 * total


@pytest.mark.parametrize("choice", PARSERS)
def test_odd_files_are_read_or_refused_in_one_line(choice: str) -> None:
    refused, slowest = [], 0.0
    files = sorted(SAMPLES.rglob("*.pdf"))
    for path in files:
        with timed() as taken:
            try:
                parsed(choice, path)
            except DataError as error:
                refused.append(f"{path.name} {error.what}")
        slowest = max(slowest, taken.cpu)
    show(f"{choice}: {len(files)} files, slowest {slowest:.1f} s of CPU, refused: {refused}")
    assert len(files) == 31
    assert len(refused) == 2
    assert not any("\n" in line for line in refused)


def bare_pdfium(data: bytes) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument(data)
    for page in document:
        text = page.get_textpage()
        text.get_text_range()
        text.close()
        page.close()
    document.close()


def bare_liteparse(data: bytes) -> None:
    from liteparse import LiteParse

    from rag.components.parsers.liteparse import SETTINGS

    LiteParse(**SETTINGS).parse(data)


def bare_pypdf(data: bytes) -> None:
    import pypdf

    for page in pypdf.PdfReader(io.BytesIO(data)).pages:
        page.extract_text()


BARE: dict[str, Callable[[bytes], None]] = {"pdfium": bare_pdfium, "liteparse": bare_liteparse, "pypdf": bare_pypdf}


@pytest.mark.parametrize("choice", PARSERS)
def test_cpu_against_the_library_called_bare(choice: str) -> None:
    parser, runs, alone, ours, pages = build("parser", choice), 3, 0.0, 0.0, 0
    reports = sorted((REPORTS / "pdfs").glob("*.pdf"))[:: 6 if choice != "pypdf" else 24]
    for path in [*sorted(TABLES.glob("*.pdf")), *reports]:
        data = path.read_bytes()
        alone += least_cpu(lambda data=data: BARE[choice](data), runs)
        ours += least_cpu(lambda data=data, name=path.name: parser.parse(data, name), runs)
        pages += parsed(choice, path).pages
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    each = f"{1000 * ours / pages:.2f} against {1000 * alone / pages:.2f} ms a page"
    show(f"{choice}: {pages} pages, best of {runs} runs, {each}, ratio {ours / alone:.2f}; peak of the process {peak} MB")
    assert ours <= 1.6 * alone
    assert peak <= 512
