"""The manifest of a corpus: one line for every file of its folder."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import repeat
from typing import Any, Literal

from rag.core.roles import NoiseFilter, changes_nothing
from rag.core.source_files import Decision, SourceFile
from rag.core.types import Document
from rag.documents.clean.noise import Dropped, cut
from rag.documents.folder.file_tree import METADATA, Skipped
from rag.documents.reading import FileRead, Unreadable


@dataclass(frozen=True, slots=True)
class ManifestLine:
    """One file. `path` is relative to the folder, `size` in bytes, `modified` in ISO 8601 (UTC), `type` the suffix.

    `reason` says why the file is not included, or which rule included it, and `rule` is the key of that rule. `detail` is the
    full error of a file that failed. `wanted`: the file matches the patterns of the loader. `sha256` and `parser` are empty for
    a file that was not read. `pages`, `blocks` by kind, `redactions` by rule, `characters`, and the keys of `metadata` are
    those of the document; `dropped` counts the texts that were left out as noise, by rule. `seconds` is the time of parsing;
    `is_stored`: the content was in the store. A dry run leaves files `unparsed`. `rag ingest` adds the chunks of the document,
    and estimated seconds of work; None if not known.
    """

    path: str
    size: int = 0
    modified: str = ""
    type: str = ""
    sha256: str = ""
    parser: str = ""
    decision: Literal["included", "excluded", "failed", "unparsed"] = "excluded"
    reason: str = ""
    rule: str = ""
    detail: str = ""
    wanted: bool = False
    pages: int = 0
    blocks: Mapping[str, int] = field(default_factory=dict)
    redactions: Mapping[str, int] = field(default_factory=dict)
    characters: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    metadata: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    is_stored: bool = False
    chunks: int | None = None
    seconds_to_parse: float | None = None
    seconds_to_embed: float | None = None

    def to_json(self) -> dict[str, Any]:
        """All fields by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def unlisted(cls, file: Skipped) -> "ManifestLine":
        """The line of a file that the loader does not read."""
        suffix = "" if "." not in file.name else file.name.rpartition(".")[2].lower()
        decision: Literal["excluded", "failed"] = "failed" if file.wanted else "excluded"
        return cls(file.name, type=suffix, decision=decision, reason=file.reason, detail=file.detail, wanted=file.wanted)

    @classmethod
    def of(cls, file: SourceFile, decision: Decision | None, read: FileRead | None = None) -> "ManifestLine":
        """The line of a file: by a decision, None for a file that must be parsed first, or failed if it could not be read."""
        modified = datetime.fromtimestamp(file.modified, UTC).isoformat(timespec="seconds")
        values: dict[str, Any] = {"wanted": True}
        if decision:
            values["decision"] = "included" if decision.includes else "excluded"
            values |= {"reason": decision.reason, "rule": decision.rule, "wanted": decision.includes}
        if read:
            values |= {name: getattr(read, name) for name in ("sha256", "parser", "seconds", "is_stored")}
            if isinstance(read.content, Unreadable):
                values |= {"decision": "failed", "reason": read.content.reason, "detail": read.content.detail}
            else:
                values |= {"pages": read.content.pages, "notes": read.content.notes}
        return cls(file.name, file.size, modified, file.suffix, **values)

    def measured(self, document: Document, dropped: Iterable[str] = ()) -> "ManifestLine":
        """The line with the figures of its document; `dropped` has the rule of each text that was left out as noise."""
        return replace(
            self,
            blocks=_counts(block.kind for block in document.blocks),
            redactions=_counts(each.rule for each in document.redactions),
            characters=len(document.text),
            dropped=_counts(dropped),
            metadata=tuple(sorted(document.metadata)),
        )


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def skipped_files(lines: Sequence[ManifestLine]) -> tuple[Skipped, ...]:
    """The files that are not documents, with reasons; a table of metadata was read."""
    return tuple(sorted(_skipped(line) for line in lines if line.decision != "included" and line.reason != METADATA))


def _skipped(line: ManifestLine) -> Skipped:
    if not line.rule:
        return Skipped(line.path, line.reason, line.detail, line.wanted)
    kind = f".{line.type}" if line.type else "without suffix"
    return Skipped(line.path, f"{kind} (excluded by a rule)", f"excluded by loader.ingest.{line.rule}: {line.reason}")


def without_noise(
    rows: Iterable[tuple[ManifestLine, Document | None]], noise: NoiseFilter, dropped: dict[str, tuple[Dropped, ...]]
) -> Iterator[tuple[ManifestLine, Document | None]]:
    """The rows with documents without noise, measured; what is dropped is added to `dropped` by doc_id.

    A filter compares the texts of a corpus, so all rows are read before the first one is returned.
    """
    found: Iterator[Sequence[tuple[int, int, str]]] = repeat(())
    if not changes_nothing(noise):
        rows = list(rows)
        found = iter(noise.find([document for _, document in rows if document]))
    for line, document in rows:
        if document:
            document, texts = cut(document, next(found))
            line = line.measured(document, (text.rule for text in texts))
            if texts:
                dropped[document.doc_id] = texts
        yield line, document
