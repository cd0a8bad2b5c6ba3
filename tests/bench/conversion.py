"""What parsers make of public files, beside what others or people say is in them."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from bench.measuring import Row, Rows, public
from support.choices import build
from support.marked_tables import found, marked, reduced, relations, texts
from trafilatura import extract

from rag.core.types import Parsed

FORMULA = re.compile(r"\$.*?\$", re.DOTALL)
LABEL = re.compile(r"^ *(?:- )?(?:(?:\d+\.)+\d*|\d+|\(?\w\))? ")
"""The label of a list item, which docling keeps apart from its text."""
CELL_LABEL = re.compile(r"(?:^|(?<=\s))\d+\.(?=\s)")
RULE = re.compile(r"^\|[ |-]*\|$", re.MULTILINE)


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


def body_text(content: Parsed) -> str:
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


def office(folder: Path) -> Rows:
    """33 Word files: words in order (2 × common words in order / words of both) and cells, beside docling's own output."""
    source, shares, cells = public("docx-docling"), list[float](), Counter[bool]()
    for file in sorted((source / "sources").glob("*.docx")):
        truth = json.loads((source / "groundtruth" / f"{file.name}.json").read_text("utf-8"))
        content = build("parser", "docx").parse(file.read_bytes(), file.name)
        parts, tables = list(body(truth, truth["body"])), grids(content)
        theirs = words("\n".join(map(expected, parts)))
        shares.append(SequenceMatcher(None, theirs, words(body_text(content)), False).ratio())
        for number, table in enumerate(part["data"] for part in parts if "data" in part):
            for cell in table["table_cells"]:
                own = tables[number][cell["start_row_offset_idx"]][cell["start_col_offset_idx"]]
                cells[words(CELL_LABEL.sub("", cell["text"].strip())) == words(CELL_LABEL.sub("", own.strip()))] += 1
    lowest = f"lowest file {min(shares):.3f}"
    yield Row(f"parser=docx, words in order of {len(shares)} files", sum(shares) / len(shares), "ratio", note=lowest)
    yield Row("parser=docx, cells of tables", cells[True] / cells.total(), f"equal of {cells.total()}")


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


def pages(folder: Path) -> Rows:
    """181 web pages marked by people, F1 of 4-grams, beside trafilatura called bare."""
    source = public("html-articles-181")
    truth = json.loads((source / "ground-truth.json").read_text("utf-8"))
    scores = dict.fromkeys(("without the title line", "whole text", "bare"), (0.0, 0.0))
    for name, article in truth.items():
        page = gzip.decompress((source / "html" / f"{name}.html.gz").read_bytes())
        content = build("parser", "html").parse(page, name)
        bare = extract(page, fast=True, include_comments=False) or ""
        for label, text in zip(scores, (without_title(content), content.text, bare), strict=True):
            precision, recall = article_scores(article["articleBody"], text)
            scores[label] = scores[label][0] + precision, scores[label][1] + recall
    values = {label: 2 * one * other / (one + other) / len(truth) for label, (one, other) in scores.items()}
    for label in ("without the title line", "whole text"):
        yield Row(f"parser=html, {label}, {len(truth)} pages", values[label], "F1", "trafilatura called bare", values["bare"])


def annotations(source: Path) -> Iterator[tuple[Path, Path]]:
    """The marks of every file, with the file; `eu-009` is marked twice, the first is taken."""
    for marks in sorted(source.glob("*-str.xml")):
        if not marks.name.startswith("eu-009b"):
            yield marks, source / f"{marks.name.removesuffix('-str.xml')}.pdf"


def tables(folder: Path) -> Rows:
    """Tables of ICDAR 2013: relations of neighbouring cells, and cells that are in the text."""
    files = list(annotations(public("icdar2013-eu")))
    given = made = right = 0
    for parser in ("pdfium", "pypdf"):
        kept = total = 0
        for marks, path in files:
            content, wanted = build("parser", parser).parse(path.read_bytes(), path.name), marked(marks)
            text, cells = reduced(content.text), [cell for grid in wanted for cell in texts(grid)]
            kept, total = kept + sum(cell in text for cell in cells), total + len(cells)
            if parser == "pdfium":
                gold, guess = relations(wanted), relations(found(content))
                given, made, right = given + gold.total(), made + guess.total(), right + (gold & guess).total()
        yield Row(f"parser={parser}, cells of tables in the text", kept / total, f"of {total}")
    note = f"precision {right / made:.3f}, recall {right / given:.3f}"
    yield Row("parser=pdfium, neighbouring cells", 2 * right / (made + given), "F1", note=note)
