"""DOCX files of docling's test set: words in order, and tables cell by cell, against what docling reads from them.

The truth is docling's own output and not made by people. Both sides lose what is no text of the document: commands and symbols
of formulas, labels of lists, marks of Markdown, words on pictures. Words are compared in order by `difflib` without heuristics:
2 · (words in common) / (words of both). A cell of the truth counts if the cell at the same row and column has the same letters
and digits.
"""

import json
import os
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest

from rag.components.parsers.docx import DocxParser
from rag.core.records import Parsed

FOLDER = Path(os.environ.get("RAG_DATA", "data")) / "docx-docling"
FORMULA = re.compile(r"\$.*?\$", re.DOTALL)
LABEL = re.compile(r"^ *(?:- )?(?:(?:\d+\.)+\d*|\(?\w\))? ?")
"""The label of a list item, which the truth keeps apart from its text."""
CELL_LABEL = re.compile(r"(?:^|(?<=\s))(?:\d+\.)(?=\s)")
CHECKBOX = re.compile(r"\[[x ]\]")

pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="RAG_DATA names no folder with docx-docling"),
]


def words(text: str) -> list[str]:
    """The words of a text; of formulas only letters and digits that are not commands."""

    def plain(formula: re.Match[str]) -> str:
        return " ".join(re.findall(r"[A-Za-z0-9]", re.sub(r"\\[A-Za-z]+|\{matrix\}|0pt", " ", formula[0])))

    return re.findall(r"[^\W_]+", FORMULA.sub(plain, CHECKBOX.sub("", text)).lower())


def resolved(document: dict[str, Any], reference: str) -> dict[str, Any]:
    part: Any = document
    for step in reference.removeprefix("#/").split("/"):
        part = part[int(step)] if isinstance(part, list) else part[step]
    return part


def expected(document: dict[str, Any], node: dict[str, Any]) -> Iterator[str]:
    """The texts of the body in reading order: a cell once, no headers, footers and comments."""
    for child in node.get("children", ()):
        part = resolved(document, child["$ref"])
        if part.get("content_layer", "body") != "body":
            continue
        if "data" in part:
            yield from (cell["text"] for cell in part["data"]["table_cells"])
            continue
        text = part.get("text", "")
        yield f"${text}$" if part.get("label") == "formula" else text
        yield from expected(document, part)


def found(content: Parsed) -> str:
    """The text of the body without labels of lists and words on pictures."""
    kept = []
    for block in content.blocks:
        text = content.text[block.start : block.end]
        if block.kind in ("marginalia", "cell", "figure"):
            continue
        text = LABEL.sub("", text) if block.kind == "list" else text
        kept.append(re.sub(r"^\|[ |-]*\|$", "", text, flags=re.MULTILINE) if block.kind == "table" else text)
    return "\n".join(kept)


def tables_of(document: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables of the body in reading order; those within cells are left out: the outer cell holds their text here."""
    for child in node.get("children", ()):
        part = resolved(document, child["$ref"])
        if "data" in part and part["content_layer"] == "body":
            yield part["data"]
        elif "data" not in part:
            yield from tables_of(document, part)


def grids(content: Parsed) -> list[list[list[str]]]:
    """The cells of every pipe table; a table that goes on over a page break is one table."""
    found: list[list[list[str]]] = []
    end = -2
    for block in content.blocks:
        if block.kind == "table":
            rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in content.text[block.start : block.end].split("\n")]
            found = [*found[:-1], found[-1] + rows] if block.start == end + 1 else [*found, [rows[0], *rows[2:]]]
            end = block.end
    return found


def test_words_in_order_and_cells() -> None:
    shares, same, cells = {}, 0, 0
    for file in sorted((FOLDER / "sources").glob("*.docx")):
        truth = json.loads((FOLDER / "groundtruth" / f"{file.name}.json").read_text("utf-8"))
        content = DocxParser().parse(file.read_bytes(), file.name)
        wanted = words("\n".join(expected(truth, truth["body"])))
        got = words(found(content))
        shares[file.name] = SequenceMatcher(None, wanted, got, autojunk=False).ratio()
        rows_of = grids(content)
        for number, table in enumerate(tables_of(truth, truth["body"])):
            rows = rows_of[number] if number < len(rows_of) else []
            for cell in table["table_cells"]:
                row, column = cell["start_row_offset_idx"], cell["start_col_offset_idx"]
                own = rows[row][column] if row < len(rows) and column < len(rows[row]) else ""
                cells += 1
                if words(CELL_LABEL.sub("", cell["text"].strip())) == words(CELL_LABEL.sub("", own.strip())):
                    same += 1
                else:
                    print(f"{file.name} table {number} ({row}, {column}): {cell['text'][:60]!r} {own[:60]!r}")
        if shares[file.name] < 0.98:
            print(f"{file.name}: {shares[file.name]:.4f}")
            if os.environ.get("SHOW"):
                for tag, i, j, k, l in SequenceMatcher(None, wanted, got, autojunk=False).get_opcodes():
                    if tag != "equal":
                        print("   ", tag, wanted[i:j][:20], got[k:l][:20])
    mean = sum(shares.values()) / len(shares)
    print(f"{len(shares)} files: words in order {mean:.4f}; cells {same}/{cells} = {same / cells:.4f}")
    assert mean >= 0.98
    assert same / cells >= 0.98
