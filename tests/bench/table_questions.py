"""Public sets of questions about one table each, as records; and a router's answers against their gold.

A table becomes a Markdown document and this becomes records, as for a user. Half of a set is to develop on, by the hash of the
id; the other half is only measured.
"""

import csv
import hashlib
import importlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.choices import content

from rag.core.records.database import RecordDatabase
from rag.core.records.queries import RecordQuery
from rag.core.records.sets import RecordSet
from rag.core.types import Document, Query


@dataclass(frozen=True)
class Question:
    """A question about a document with one table, its answers, and its kind."""

    id: str
    text: str
    doc: str
    answers: tuple[str, ...]
    kind: str

    @property
    def is_tuned(self) -> bool:
        """True for the half that rules were developed on."""
        return hashlib.sha256(self.id.encode()).digest()[0] % 2 == 0


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; the first row is the header."""
    lines = [f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in row)} |" for row in rows if row]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]) + "\n"


def wikitables(folder: Path) -> tuple[dict[str, str], list[Question]]:
    """The documents by name, and the questions."""
    questions = []
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        questions.append(Question(row["_id"], row["question"], row["table"], tuple(row["answers"]), row["kind"]))
    texts = {}
    for name in {question.doc for question in questions}:
        with (folder / name).open(encoding="utf-8", newline="") as file:
            texts[name] = markdown(list(csv.reader(file, doublequote=False, escapechar="\\")))
    return texts, questions


def tatqa(folder: Path) -> tuple[dict[str, str], list[Question]]:
    """The tables by id, and the questions that need the table; an answer in percent ends in `%`."""
    texts, questions = {}, []
    for context in json.loads((folder / "tatqa_dataset_dev.json").read_text("utf-8")):
        name = context["table"]["uid"]
        texts[name] = markdown(context["table"]["table"])
        for each in context["questions"]:
            answers = each["answer"] if isinstance(each["answer"], list) else [each["answer"]]
            sign = "%" if each["scale"] == "percent" and each["answer_type"] == "arithmetic" else ""
            kind = f"{each['answer_type']} {each['answer_from']}"
            questions.append(Question(each["uid"], each["question"], name, tuple(f"{one}{sign}" for one in answers), kind))
    return texts, questions


def squad(folder: Path) -> list[str]:
    """All questions of SQuAD."""
    data = json.loads((folder / "squad2.json").read_text("utf-8"))["data"]
    return [qa["question"] for article in data for paragraph in article["paragraphs"] for qa in paragraph["qas"]]


def document_records(folder: Path) -> RecordSet:
    """The tables of a folder of Markdown and text as records."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    documents = [Document(file.relative_to(folder).as_posix(), file.read_text("utf-8")) for file in files]
    records: RecordSet = built("enrich", "tables").enrich(documents)
    return records


def built(kind: str, name: str) -> Any:
    """A shipped choice of enrich or route."""
    values = content(f"{kind}/{name}")
    values = values.get(name, values)
    module, _, name = values.pop("_target_").rpartition(".")
    values |= {"language": "english"} if kind == "route" else {}
    return getattr(importlib.import_module(module), name)(**values)


@dataclass(frozen=True)
class Outcome:
    """What became of a question: its query and answer, None where it went to the passages."""

    question: Question
    query: RecordQuery | None
    answer: tuple[str, ...] | None

    @property
    def is_right(self) -> bool:
        """True if the answer is that of the gold."""
        return self.answer is not None and same(self.answer, self.question.answers)


def asked(texts: dict[str, str], questions: Sequence[Question]) -> Iterator[Outcome]:
    """The outcome of each question with its table given."""
    enricher, router = built("enrich", "tables"), built("route", "rules")
    by_doc: dict[str, list[Question]] = {}
    for question in questions:
        by_doc.setdefault(question.doc, []).append(question)
    for name, own in by_doc.items():
        records = enricher.enrich([Document(name, texts[name])])
        routes = router.route([Query(question.id, question.text) for question in own], records)
        database = RecordDatabase(records)
        for question, routed in zip(own, routes, strict=True):
            result = database.run(routed.query) if routed.query else None
            answer = ((result.value,) if result.value else result.values) if result else None
            yield Outcome(question, routed.query, answer)


def same(found: Iterable[str], gold: Iterable[str]) -> bool:
    """True if two sets of answers are equal as numbers or normalised texts."""
    return sorted(map(_normal, found)) == sorted(map(_normal, gold))


def _normal(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold().strip()
    plain = re.sub(r"\s*(\[[^\]]*\]|[*†‡])+$", "", plain)
    amount = re.fullmatch(
        r"[$£€]?\s*\(?\s*([-−–]?)\s*[$£€]?\s*([-−–]?)(\d[\d,]*(?:\.\d+)?)\s*\)?\s*(%|[a-z²³/. ]{1,25})?", plain
    )
    if amount:
        value = float(amount[3].replace(",", ""))
        value = -value if amount[1] or amount[2] or "(" in plain else value
        return f"{round(value, 2):g}"
    return " ".join(re.findall(r"[^\W_]+", plain))
