"""A file or folder of another tool → a golden set in the native format."""

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from rag.core.errors import DataError
from rag.core.records import Document
from rag.datasets.candidates import Row, digests, place_row
from rag.datasets.exchange import collections
from rag.datasets.exchange.columns import Imported, Passage, questions, shape_of
from rag.datasets.exchange.places import Places, excerpt
from rag.datasets.exchange.tables import container_of, read
from rag.documents.json_rows import shortened

SAFE = re.compile(r"\w[\w .-]*(?:/\w[\w .-]*)*")
"""Names of documents that are kept as paths; others get a hash."""
PARTIAL = "partial-evidence"
"""The tag of a question of which a part of the evidence was not found."""


@dataclass
class Report:
    """What became of the rows of a file. `anchored` counts passages by how they were found; lists have one line for each."""

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
        return vars(self) | {"anchored": dict(self.anchored)}


def import_set(
    source: Path, to: Path, documents: Mapping[str, Document] | None, given: Mapping[str, str], at: str, format: str = ""
) -> Report:
    """Write the questions of a file or folder to the new folder `to`, which appears when all is written.

    Passages are searched in the texts of `documents`; without these they become documents themselves. `given` maps fields to
    columns, `at` is today in ISO 8601, `format` the one to take instead of that of the content. DataError for a folder that
    exists and for a file without any question.
    """
    if not source.exists():
        raise DataError(str(source), "there is no such file or folder", "check the path")
    if to.exists():
        raise DataError(str(to), "exists already", "name a new folder with --to")
    making = to.with_name(f".{to.name}.import")
    shutil.rmtree(making, ignore_errors=True)
    try:
        making.mkdir(parents=True)
        report = _Importer(source, making, documents, given, at, format).run(to)
        if not report.questions:
            reasons = "\n".join(report.refused[:3] + report.not_found[:3])
            raise DataError(
                str(source), f"none of {report.rows} rows can be a golden question", f"the first reasons:\n{reasons}"
            )
        making.rename(to)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return report


class _Importer:
    """Writes one golden set."""

    def __init__(
        self,
        source: Path,
        folder: Path,
        documents: Mapping[str, Document] | None,
        given: Mapping[str, str],
        at: str,
        format: str,
    ) -> None:
        self.source, self.folder, self.documents, self.given, self.at = source, folder, documents, given, at
        self.places = Places(documents) if documents is not None else None
        self.container = format or (collections.format_of(source) if source.is_dir() else container_of(source))
        self.report = Report(str(source), self.container, "")
        self.seen: set[str] = set()
        self.names: dict[str, tuple[str, str]] = {}
        self.texts: dict[str, str] = {}
        self.split: bool | None = None
        self.digest = cache(lambda name: digests([name], documents or {})[name])

    def run(self, to: Path) -> Report:
        """Write all questions; the report names the folder that they will be in."""
        self.report.folder = str(to)
        if self.container in ("beir", "autorag"):
            for name, text in collections.corpus(self.source):
                self.texts[name] = text if self.places else self._written(name, text)
        rows = collections.rows(self.source) if self.source.is_dir() else read(self.source, self.container)
        with (self.folder / "questions.jsonl").open("w", encoding="utf-8") as file:
            for where, fields in rows:
                self.report.rows += 1
                try:
                    if isinstance(fields, DataError):
                        raise fields
                    self._write(fields, where, file)
                except DataError as error:
                    if self.report.rows == 1 and "has no column" in error.what:
                        raise
                    self.report.refused.append(f"{error.where}: {error.what}")
        return self.report

    def _write(self, fields: Mapping[str, Any], where: str, file: TextIO) -> None:
        if self.report.rows == 1 and not self.source.is_dir():
            self.report.format = shape_of(fields, self.container)
        for imported in questions(fields, where, self.given):
            line = json.dumps(self._row(imported, where), ensure_ascii=False)
            try:
                file.write(f"{line}\n")
            except UnicodeEncodeError as error:
                raise DataError(where, "has a character that UTF-8 cannot hold", "write the character itself") from error
            self.report.questions += 1
            self.report.notes += imported.notes

    def _row(self, imported: Imported, where: str) -> Row:
        """The line of a question in the native format; DataError if it would not be scored as the file means it."""
        row = {name: value for name, value in imported.fields.items() if value or name in ("id", "text")}
        row["id"] = row["id"] or f"{self.source.stem}-{self.report.rows}"
        groups = [self._group(group, where) for group in imported.groups]
        evidence = [group for group in groups if group]
        if len(evidence) < len(groups) and evidence:
            row["tags"] = [*row.get("tags", ()), PARTIAL]
        if row.get("unanswerable") and evidence:
            evidence = []
        if not (evidence or row.get("answers") or row.get("unanswerable")):
            raise DataError(
                where, "has no answer and no evidence that is found: a pipeline would have to decline it", "add one"
            )
        if row["id"] in self.seen:
            raise DataError(where, f"the id {row['id']!r} is there already", "give every question its own id")
        if self.split is None:
            self.split = "split" in row
        if self.split != ("split" in row):
            raise DataError(where, "has no split, or is the first with one", "give every question a split, or none")
        self.seen.add(row["id"])
        self.report.unanswerable += bool(row.get("unanswerable"))
        self.report.without_evidence += not evidence and not row.get("unanswerable")
        names = dict.fromkeys(place["doc"] for group in evidence for place in group["any"])
        row |= {"evidence": evidence} if evidence else {}
        made: Row = {"method": f"import:{self.report.format}", "author": self.source.name, "at": self.at}
        row["provenance"] = made | {"documents": {name: self._digest(name) for name in names}}
        if row.get("unanswerable") and not row.get("answers"):
            del row["unanswerable"]
        return row

    def _digest(self, name: str) -> str:
        return self.digest(name) if self.places else self.names[name.casefold()][1]

    def _group(self, group: Sequence[Passage], where: str) -> Row:
        """A group of evidence with all places of its passages; empty if none is found."""
        places = [place for passage in group for place in self._places(passage, where)]
        unique = [place for number, place in enumerate(places) if place not in places[:number]]
        return {"grade": group[0].grade, "any": unique} if unique else {}

    def _places(self, passage: Passage, where: str) -> Iterator[Row]:
        text = passage.text
        if passage.doc_id in self.texts:
            if not self.places:
                self.report.anchored["document"] += 1
                yield {"doc": self.texts[passage.doc_id]}
                return
            text = text or self.texts[passage.doc_id]
        elif self.texts and not text:
            raise DataError(where, f"the corpus has no document {passage.doc_id!r}", "check that the download is complete")
        if not self.places:
            if text:
                self.report.anchored["document"] += 1
                yield {"doc": self._written(passage.doc_id, text)}
            else:
                self.report.not_found.append(f"{where}: the document {passage.doc_id!r}: give --documents")
            return
        yield from self._anchored(text, passage.doc_id, where)

    def _anchored(self, text: str, named: str, where: str) -> Iterator[Row]:
        assert self.places and self.documents is not None
        doc_id = self._document(named)
        if not text:
            if doc_id:
                self.report.anchored["document"] += 1
                yield {"doc": doc_id}
            else:
                self.report.not_found.append(f"{where}: the corpus has no document {named!r}")
            return
        found = self.places.find(text, doc_id)
        if found.spans:
            self.report.anchored[found.how] += 1
            yield from (place_row(self.documents[span.doc_id], span) for span in found.spans)
        else:
            self.report.not_found.append(f"{where}: {shortened(text)!r}; nearest: {excerpt(found)!r}")

    @cache  # noqa: B019  the importer lives as long as the import
    def _document(self, named: str) -> str:
        """The document of a name, or the only one with that name without folder and suffix; empty if there is none."""
        documents = self.documents or {}
        if named in documents or not named:
            return named
        stem = (
            Path(named).stem.casefold()
            if Path(named).suffix.lower() in (".pdf", ".md", ".txt", ".html")
            else Path(named).name.casefold()
        )
        same = [name for name in documents if Path(name).stem.casefold() == stem]
        return same[0] if len(same) == 1 else ""

    def _written(self, name: str, text: str) -> str:
        """Write a document, each text once, and return its name: a path inside of `documents`, however it is named."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        file = name if SAFE.fullmatch(name) and ".." not in name and len(name) < 120 else f"context-{digest}"
        file = file if file.endswith((".md", ".txt")) else f"{file}.txt"
        if self.names.setdefault(file.casefold(), (file, digest))[1] != digest:
            file = f"{file.rpartition('.')[0]}-{digest}.txt"
        if self.names.setdefault(file.casefold(), (file, digest))[0] == file:
            path = self.folder / "documents" / file
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8", errors="replace")
                self.report.documents += 1
        return self.names[file.casefold()][0]
