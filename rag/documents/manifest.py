"""The manifest of a corpus: one line for every file of its folder."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from rag.core.records import Document
from rag.core.source_files import Decision, SourceFile
from rag.documents.file_tree import METADATA, Skipped
from rag.documents.reading import FileRead, Unreadable


@dataclass(frozen=True, slots=True)
class ManifestLine:
    """One file. `path` is relative to the folder, `size` in bytes, `modified` in ISO 8601 (UTC), `type` the suffix.

    `reason` says why the file is not included, or which rule included it, and `rule` is the key of that rule. `detail` is the
    full error of a file that failed. `wanted`: the file matches the patterns of the loader. `sha256` and `parser` are empty for
    a file that was not read. `pages`, `blocks` by kind, `redactions` by rule, and `characters` are those of the document,
    `seconds` the time of parsing; `is_stored`: the content was in the store. A dry run leaves files `unparsed`.
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
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    is_stored: bool = False

    @classmethod
    def unlisted(cls, file: Skipped) -> "ManifestLine":
        """The line of a file that the loader does not read."""
        suffix = "" if "." not in file.name else file.name.rpartition(".")[2].lower()
        decision: Literal["excluded", "failed"] = "failed" if file.wanted else "excluded"
        line = cls(file.name, type=suffix, decision=decision, reason=file.reason, detail=file.detail, wanted=file.wanted)
        return line

    @classmethod
    def of(cls, file: SourceFile, decision: Decision | None = None) -> "ManifestLine":
        """The line of a file by a decision without its text; None for a file that must be parsed first."""
        modified = datetime.fromtimestamp(file.modified, UTC).isoformat(timespec="seconds")
        line = cls(file.name, file.size, modified, file.suffix, wanted=True)
        return line if decision is None else line.decided(decision)

    def decided(self, decision: Decision) -> "ManifestLine":
        """The line with a decision."""
        return replace(
            self,
            decision="included" if decision.includes else "excluded",
            reason=decision.reason,
            rule=decision.rule,
            wanted=decision.includes,
        )

    def read(self, file: FileRead) -> "ManifestLine":
        """The line with the result of parsing; a file that could not be read has failed."""
        known = replace(
            self, sha256=file.sha256, parser=file.parser, seconds=file.seconds, is_stored=file.is_stored, decision="included"
        )
        content = file.content
        if isinstance(content, Unreadable):
            return replace(known, decision="failed", reason=content.reason, detail=content.detail, rule="")
        return replace(known, pages=content.pages, notes=content.notes)

    def measured(self, document: Document) -> "ManifestLine":
        """The line with the counts of its document."""
        return replace(
            self,
            blocks=dict(sorted(Counter(block.kind for block in document.blocks).items())),
            redactions=dict(sorted(Counter(each.rule for each in document.redactions).items())),
            characters=len(document.text),
        )


def skipped_files(lines: Sequence[ManifestLine]) -> tuple[Skipped, ...]:
    """The files that are not documents, with reasons; a table of metadata was read."""
    return tuple(sorted(_skipped(line) for line in lines if line.decision != "included" and line.reason != METADATA))


def _skipped(line: ManifestLine) -> Skipped:
    if not line.rule:
        return Skipped(line.path, line.reason, line.detail, line.wanted)
    kind = f".{line.type}" if line.type else "without suffix"
    return Skipped(line.path, f"{kind} (excluded by a rule)", f"excluded by loader.ingest.{line.rule}: {line.reason}")
