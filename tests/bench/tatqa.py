"""TAT-QA as a golden set of Assay: a document for each table with its paragraphs, and the rows of gold cells as evidence.

The gold row of a question is that of the operands in its derivation, or of its answers without a derivation. A question
counts if its table has each of them in the cells of exactly one row with a name; a number that no cell has is a constant.
Zhu et al. 2021, "TAT-QA".
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def write(source: Path, folder: Path, table_first: bool) -> int:
    """Write documents and questions in the native format; the number of questions."""
    (folder / "documents").mkdir(parents=True)
    rows = []
    for context in json.loads((source / "tatqa_dataset_dev.json").read_text("utf-8")):
        table, name = context["table"]["table"], f"{context['table']['uid']}.md"
        lines = [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in table]
        drawn = "\n".join([lines[0], "|" + " --- |" * len(table[0]), *lines[1:]])
        paragraphs = [each["text"] for each in sorted(context["paragraphs"], key=lambda each: each["order"])]
        text = "\n\n".join([drawn, *paragraphs] if table_first else [*paragraphs, drawn]) + "\n"
        (folder / "documents" / name).write_text(text, "utf-8")
        starts = _starts(text, drawn, lines)
        for question in context["questions"]:
            places = [
                {"doc": name, "quote": lines[row], "start": starts[row], "end": starts[row] + len(lines[row])}
                for row in gold_rows(table, question)
            ]
            if places:
                evidence = [{"any": [place]} for place in places]
                about = {"id": question["uid"], "text": question["question"], "kind": question["answer_type"]}
                rows.append({**about, "cluster": name, "evidence": evidence})
    (folder / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return len(rows)


def gold_rows(table: Sequence[Sequence[str]], question: Mapping[str, Any]) -> list[int]:
    """The rows of the gold cells, empty if they are not in the table or not in one row each."""
    if question["answer_from"] == "text":
        return []
    body = [(number, row) for number, row in enumerate(table) if number and row[0].strip()]
    if question["derivation"]:
        wanted = set(_numbers(question["derivation"]))
        places = [{number for number, row in body for cell in row[1:] if _numbers(cell) == [value]} for value in wanted]
        places = [place for place in places if place]
    else:
        answers = question["answer"] if isinstance(question["answer"], list) else [question["answer"]]
        texts = [str(answer).strip() for answer in answers if str(answer).strip()]
        places = [{number for number, row in body for cell in row if cell.strip() == text} for text in texts]
    return sorted(set().union(*places)) if all(len(place) == 1 for place in places) else []


def _numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _starts(text: str, drawn: str, lines: Sequence[str]) -> list[int]:
    """The place of every row in a document; the line below the first row is that of the dashes."""
    begin, header = text.index(drawn), drawn.index("\n", len(lines[0]) + 1) + 1
    below = accumulate((len(line) + 1 for line in lines[1:-1]), initial=begin + header)
    return [begin, *below]
