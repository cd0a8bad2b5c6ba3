"""A file or folder of another tool → a golden set in the native format."""

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from rag.analysis.ingestion.ingest import components_of
from rag.api.ingestion import config_of_folder
from rag.authoring.candidates import Row, digests, place_row
from rag.authoring.exchange.score_rows import NAMES
from rag.authoring.exchange.tables import Rows, container_of, read
from rag.core.errors import DataError
from rag.core.types import Anchor, Document
from rag.documents.anchors.lost_quotes import Quoted
from rag.documents.anchors.parsed_anchors import is_parsed
from rag.documents.anchors.quote_anchors import place_of
from rag.documents.folder.json_rows import shortened
from rag.evaluation.data.golden import documents_of
from rag.plugins.exchange_formats import folders
from rag.plugins.exchange_formats.columns import Imported, Passage, questions, shape_of
from rag.plugins.exchange_formats.places import Found, Places, drafted_place
from rag.plugins.exchange_formats.samples import WHOLE, Reading, rows_of_questions

SAFE = re.compile(r"\w[\w .-]*(?:/\w[\w .-]*)*")
"""Names of documents that can be paths below a folder."""
NOTES = {
    "drafted": "passages are drafts, the only sentence of a named document with the answer: `rag data review` shows them",
    "document": "times the evidence is a whole document, which measures no chunks; `unanswerable` is for questions without one",
}
"""What a person has to know about evidence of some kinds."""
PARTIAL = "partial-evidence"
"""The tag of a question of which a part of the evidence was not found."""


@dataclass
class Report:
    """What became of a file. `anchored` counts passages by how they were found; a list has one line for each case.

    How: exact, rendered, fuzzy; pieced (in a parsed document, see `rag.documents.anchors.parsed_anchors`); document (whole).
    """

    source: str
    format: str
    folder: str
    rows: int = 0
    questions: int = 0
    anchored: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    unanswerable: int = 0
    without_evidence: int = 0
    not_found: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return vars(self) | {"anchored": dict(+self.anchored)}


Corpus = Mapping[str, Document] | None


def import_set(
    source: Path, to: Path, documents: Corpus, given: Mapping[str, str], at: str, reading: Reading = WHOLE
) -> Report:
    """Write the questions of a file or folder to the new folder `to`, which appears when all is written.

    Passages are searched in the texts of `documents`; without these they become documents themselves. `given` maps fields to
    columns, `at` is today in ISO 8601. DataError for a folder that exists, for a missing column, and for a file without any
    question.
    """
    if not source.exists() or to.exists():
        where, what = (to, "exists already") if source.exists() else (source, "there is no such file or folder")
        raise DataError(str(where), what, "name a new folder with --to" if source.exists() else "check the path")
    making = to.with_name(f".{to.name}.import")
    shutil.rmtree(making, ignore_errors=True)
    try:
        making.mkdir(parents=True)
        report = _Importer(source, to, making, documents, given, at).run(reading)
        making.rename(to)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return report


class _Importer:
    """Writes one golden set."""

    def __init__(self, source: Path, to: Path, making: Path, documents: Corpus, given: Mapping[str, str], at: str) -> None:
        self.source, self.making, self.documents, self.given, self.at = source, making, documents or {}, given, at
        self.places = Places(self.documents) if documents is not None else None
        self.report = Report(str(source), "", str(to))
        self.columns: dict[str, None] = {}
        self.ids: set[str] = set()
        self.splits: set[bool] = set()
        self.turns: set[tuple[str, int]] = set()
        self.corpus: dict[str, str] = {}
        self.written: dict[str, tuple[str, str]] = {}
        self.named = lru_cache(maxsize=None)(self._named)
        self.digest = lru_cache(maxsize=None)(lambda name: digests([name], self.documents)[name])

    def run(self, reading: Reading) -> Report:
        """Write all questions; DataError for a missing column and for no question."""
        with (self.making / "questions.jsonl").open("w", encoding="utf-8") as file:
            for where, fields in self._rows(reading):
                self.report.rows += 1
                try:
                    if isinstance(fields, DataError):
                        raise fields
                    self.columns |= dict.fromkeys(fields) if len(self.columns) < 1000 else {}
                    for imported in questions(fields, where, self.given):
                        file.write(f"{self._line(imported, where)}\n")
                        self.report.questions += 1
                        self.report.notes += imported.notes
                except DataError as error:
                    self.report.refused.append(f"{error.where}: {error.what}")
        self.report.notes += [f"{self.report.anchored[how]} {note}" for how, note in NOTES.items() if self.report.anchored[how]]
        marks = [self.given.get("unanswerable", ""), *(name for name in NAMES["unanswerable"].split() if name in self.columns)]
        mark = next(filter(None, marks), "")
        self.report.notes += [f"the column {mark!r} marks a question as unanswerable"] if mark else []
        listed = f"the columns are: {shortened(', '.join(map(repr, self.columns)), 300) or 'none'}"
        if missing := [column for column in self.given.values() if "." not in column and column not in self.columns]:
            raise DataError(str(self.source), f"has no column {missing[0]!r}", listed)
        if not self.report.questions:
            first = "".join(f"\n    {line}" for line in (self.report.refused + self.report.not_found)[:3])
            raise DataError(str(self.source), f"has no golden question in {self.report.rows} rows{first}", listed)
        return self.report

    def _rows(self, reading: Reading) -> Rows:
        """The rows of the source; the corpus of a folder is read first."""
        kind = self.report.format = reading.container or (folders.layout_of if self.source.is_dir() else container_of)(
            self.source
        )
        if not self.source.is_dir():
            name, rows = rows_of_questions(read(self.source, kind), reading, self.report.notes)
            for number, (where, fields) in enumerate(rows):
                if not number and not isinstance(fields, DataError):
                    self.report.format = name or shape_of(fields) or kind
                yield where, fields
            return
        for name, text in folders.corpus(self.source) if kind != "huggingface" else ():
            self.corpus[name] = text if self.places else self._write(name, text)
        yield from folders.questions_of(self.source)

    def _line(self, imported: Imported, where: str) -> str:
        """The line of a question in the native format; DataError if it would be scored otherwise than the file means it."""
        row = {name: value for name, value in imported.fields.items() if value}
        row["id"] = row.get("id") or f"{self.source.stem}-{self.report.rows}"
        if row["id"] in self.ids:
            raise DataError(where, f"the id {row['id']!r} is there already", "give every question its own id")
        declined = row.pop("unanswerable", False)
        groups = [] if declined else [self._group(group, where, row.get("answers", ())) for group in imported.groups]
        evidence = [group for group in groups if group]
        if not (evidence or row.get("answers") or declined):
            raise DataError(where, "has no answer and no evidence that is found, and is not marked as unanswerable", "add one")
        if {"split" in row} < self.splits | {"split" in row}:
            raise DataError(where, "only a part of the questions has a split", "give every question a split, or none")
        if (turn := (row.get("dialogue", ""), row.get("turn", 0))) in self.turns:
            del row["dialogue"], row["turn"]  # the file has no histories
            row |= {"cluster": row.get("cluster", turn[0])}
        self.turns |= {turn} if "dialogue" in row else set()
        row |= {"unanswerable": True} if declined and row.get("answers") else {}
        row |= {"tags": [*row.get("tags", ()), PARTIAL]} if 0 < len(evidence) < len(groups) else {}
        row |= {"evidence": evidence} if evidence else {}
        names = dict.fromkeys(place["doc"] for group in evidence for place in group["any"])
        held = {name: self.digest(name) if self.places else self.written[name.casefold()][1] for name in names}
        made = {"method": f"import:{self.report.format}", "author": self.source.name, "at": self.at, "documents": held}
        line = json.dumps(row | {"provenance": made}, ensure_ascii=False)
        if re.search("[\ud800-\udfff]", line):
            raise DataError(where, "has half of a surrogate pair, which UTF-8 cannot hold", "write the character itself")
        self.ids.add(row["id"])
        self.splits.add("split" in row)
        self.report.unanswerable += declined
        self.report.without_evidence += not evidence and not declined
        return line

    def _group(self, group: Sequence[Passage], where: str, answers: Sequence[str]) -> Row:
        """A group of evidence with the places of its passages; empty if there is none."""
        places = [place for passage in group for place in self._places(passage, where, answers)]
        unique = [place for number, place in enumerate(places) if place not in places[:number]]
        return {"grade": group[0].grade, "any": unique} if unique else {}

    def _places(self, passage: Passage, where: str, answers: Sequence[str]) -> Iterator[Row]:
        in_corpus = self.corpus.get(passage.doc_id, "")
        text = passage.text or (in_corpus if self.places else "")
        doc_id = self.named(passage.doc_id) if self.places else in_corpus or (self._write(passage.doc_id, text) if text else "")
        if doc_id and (not self.places or not text):
            drafted = drafted_place(self.documents[doc_id], answers) if doc_id in self.documents else None
            self.report.anchored["drafted" if drafted else "document"] += 1
            yield drafted or {"doc": doc_id}
            return
        found = self.places.find(text, doc_id, passage.start) if self.places and text else Found()
        near = self.documents.get(doc_id or found.doc_id)
        if near and is_parsed(near):
            anchor = place_of(near.doc_id, Quoted(text), where, self.documents)
            if isinstance(anchor, Anchor) and anchor.spans:
                self.report.anchored[anchor.fate] += 1
                yield {"doc": near.doc_id, "quote": text}  # another parser finds it, too
                return
        self.report.anchored[found.how] += bool(found.spans)
        yield from (place_row(self.documents[span.doc_id], span) for span in found.spans)
        if not found.spans:
            nearest = f"nearest: {shortened(found.nearest, 160)!r}" if text else "the corpus has no such document"
            self.report.not_found.append(f"{where}: {shortened(text or passage.doc_id)!r}; {nearest}")

    def _named(self, name: str) -> str:
        """The document of a name, or the only one with that name in another folder or with another suffix; empty for none."""
        same = [doc_id for doc_id in self.documents if name in (PurePosixPath(doc_id).stem, PurePosixPath(doc_id).name)]
        return name if name in self.documents else same[0] if len(same) == 1 else ""

    def _write(self, name: str, text: str) -> str:
        """Write a document and return its name, a path below `documents`; equal texts of one name are one document."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        data = text.encode("utf-8", "replace")
        digest = hashlib.sha256(data).hexdigest()[:16]
        file = name if SAFE.fullmatch(name) and len(name) < 120 else f"context-{digest}"
        file = file if file.endswith((".md", ".txt")) else f"{file}.txt"
        if self.written.get(file.casefold(), (file, digest))[1] != digest:
            file = f"{file.rpartition('.')[0]}-{digest}.txt"
        if file.casefold() not in self.written:
            self.written[file.casefold()] = (file, digest)
            path = self.making / "documents" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            self.report.documents += 1
        return self.written[file.casefold()][0]


def import_questions(
    source: Path, to: Path, documents: str = "", given: Mapping[str, str] | None = None, reading: Reading = WHOLE
) -> tuple[Report, str]:
    """Write the questions of another tool's file to the new folder `to`; return the report, and the path of the documents.

    See `import_set`; the folder `documents` holds the texts that contexts are searched in.
    """
    corpus, place = None, ""
    if documents:
        config = config_of_folder([documents])
        corpus, place = documents_of(components_of(config).role("loader", config["loader"])), config["loader"]["path"]
    return import_set(source, to, corpus, given or {}, datetime.now(UTC).date().isoformat(), reading), place
