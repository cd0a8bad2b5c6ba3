"""A folder of files as a corpus."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar
from unicodedata import normalize

from rag.components.loaders.data_slice import DataSlice
from rag.core.errors import ConfigError, DataError
from rag.core.roles import IngestionRules, NoiseFilter, Parser, Redactor
from rag.core.source_files import Decision, SourceFile, suffix_of
from rag.core.types import Document
from rag.documents.clean.noise import Dropped
from rag.documents.clean.redact import redacted, redacted_names
from rag.documents.folder.file_tree import Skipped, leaves_folder, listed, refuse_escape, tally
from rag.documents.manifest import ManifestLine, skipped_files, without_noise
from rag.documents.metadata import TABLE, MetadataSources
from rag.documents.reading import Unreadable, bare, read_files, unparsed
from rag.documents.sandbox.children import default_workers
from rag.documents.sandbox.limits import Limits

COPY, OTHER = "copy of another file", "not in the sample"
DENSE = 10
"""Bytes of a format that is more than text, such as PDF, for a byte of its text."""


@dataclass(frozen=True)
class Selection:
    """Files that must be parsed, by name, and the lines of files that need no parsing."""

    to_read: dict[str, SourceFile]
    decided: list[ManifestLine]

    @property
    def paths(self) -> dict[str, Path]:
        """The paths of the files to parse, by name."""
        return {name: file.path for name, file in self.to_read.items()}


class FolderLoader:
    r"""Every file below `path` with a parser for its suffix is a document.

    `parsers` maps suffixes without the dot to parsers. `patterns` are glob patterns relative to `path`, compared without regard
    to case; null takes every file. `redactor` finds values that are replaced by placeholders before anything is stored.
    `ingest` decides which of these files become documents: by path, type, size and age before they are parsed, by language
    and content after it. `noise` finds text that is no content, such as page headers; after `load`, `dropped` has it by doc_id.

    Metadata come from the properties of the file, from `path_metadata` (patterns such as `{department}/{year}/**`), from front
    matter of Markdown, and from `metadata_table`, a CSV file in the folder; later ones overrule earlier ones.

    `doc_id` is the path relative to the folder with `/` between names, in Unicode NFC, so that it is the same on every
    system. A value that `redactor` finds in it is a placeholder there, and in the manifest, and rules, gold and
    `metadata_table` name the file so. Empty files are kept. After `load`, `manifest` has a line for every file, and `skipped`
    those that are no documents. Without `copies` a file with the text of an earlier one is none. `sample` bounds the MB of text
    that are read, a tenth of the size of formats other than text: files that fit, in the order of the SHA-256 of their names.
    `others` are parts of other data sets: their documents follow as they are. `password_env` names
    the variable with the password of encrypted PDF files. A `path` of a single file is a folder with this file alone.
    """

    runtime: ClassVar[tuple[str, ...]] = ("workers", "password_env")

    def __init__(
        self,
        path: str,
        parsers: Mapping[str, Parser],
        redactor: Redactor,
        ingest: IngestionRules,
        noise: NoiseFilter,
        patterns: Sequence[str] | None = None,
        path_metadata: Sequence[str] = (),
        metadata_table: str | None = TABLE,
        workers: int | None = None,
        others: Mapping[str, DataSlice] | None = None,
        password_env: str | None = None,
        copies: bool = True,
        sample: float | None = None,
    ) -> None:
        """Raise ConfigError for a parser that does not read its suffix, and for patterns that leave the folder."""
        if isinstance(patterns, str) or patterns == []:
            raise ConfigError("loader.patterns", f"{patterns!r} is not a list of patterns", "write [**/*.md, **/*.txt]")
        for pattern in patterns or ():
            if leaves_folder(pattern):
                raise ConfigError("loader.patterns", f"{pattern!r} leaves the folder", "write it relative: **/*.md")
        for suffix, parser in parsers.items():
            if suffix not in parser.suffixes:
                remedy = f"it reads: {', '.join(parser.suffixes)}"
                raise ConfigError(f"loader.parsers.{suffix}", f"{type(bare(parser)).__name__} does not read .{suffix}", remedy)
        if workers is not None and workers < 1:
            raise ConfigError("loader.runtime.workers", f"is {workers}", "set 1 or more, or null")
        if not (password_env or "none").isidentifier():
            remedy = "name an environment variable; never write the password itself"
            raise ConfigError("loader.runtime.password_env", "is not a valid variable name", remedy)
        self.path = Path(path)
        self._password_env = password_env
        self.parsers = dict(parsers)
        self.patterns = tuple(patterns or (f"**/*.{suffix}" for suffix in parsers))
        self.redactor, self.workers = redactor, workers
        self.rules = ingest
        self.others = dict(others or {})
        self.noise = noise
        self.copies, self.sample = copies, sample
        self.metadata = MetadataSources(self.path, path_metadata, metadata_table)
        self.dropped: dict[str, tuple[Dropped, ...]] = {}
        self.manifest: tuple[ManifestLine, ...] = ()

    def unparsed(self) -> tuple[int, list[tuple[Parser, int]]]:
        """The number of files, and parser and bytes of each that a process would have to parse; DataError as `load`."""
        paths = self.selected().paths
        return len(paths), [*unparsed(paths, self.parsers, self.redactor).values()]

    @property
    def processes(self) -> int:
        """The number of processes that parse at the same time."""
        return self.workers or default_workers()

    def load(self) -> Iterator[Document]:
        """Yield documents by their doc_id; DataError for a missing folder, no readable file, or a link out of the folder."""
        lines = []
        for line, document in self.ingest(self.selected()):
            lines.append(line)
            if document:
                yield document
        for part in self.others.values():
            yield from part.load()
        self.manifest = tuple(sorted(lines, key=lambda line: line.path))
        if all(line.decision != "included" for line in lines):
            raise self._empty()

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """All files that are no documents, with reasons, after `load`."""
        return skipped_files(self.manifest)

    def selected(self) -> Selection:
        """The files to parse, and the lines of the others; DataError as `load`. Nothing is parsed."""
        files, skipped = self._listed()
        shown = redacted_names({*files, *(file.name for file in skipped)}, self.redactor)
        hidden = (replace(each, name=shown[each.name], detail=redacted(each.detail, self.redactor)) for each in skipped)
        found = Selection({}, [ManifestLine.unlisted(file) for file in hidden])
        for name, path in sorted((shown[name], path) for name, path in files.items()):
            try:
                status = path.stat()
            except OSError:
                continue  # removed since the listing, or a folder above it
            file = SourceFile(name, path, status.st_size, status.st_mtime)
            decision = self.rules.decide(file)
            if decision and not decision.includes:
                found.decided.append(ManifestLine.of(file, decision))
            else:
                found.to_read[name] = file
        return found if self.sample is None else self._sampled(found, self.sample * 1e6)

    def text_size(self, size: int, suffix: str) -> float:
        """About how many bytes of text are read of a file of `size` bytes; none over the limit of a file."""
        return 0 if size > Limits().file else size / (1 if self.parsers[suffix].in_process else DENSE)

    def _sampled(self, found: Selection, left: float) -> Selection:
        """The files that fit into a sample of `left` bytes of text; the others are lines."""
        kept = Selection({}, found.decided)
        for name in sorted(found.to_read, key=lambda name: sha256(name.encode("utf-8", "replace")).digest()):
            file = found.to_read[name]
            if (size := self.text_size(file.size, file.suffix)) > left:
                kept.decided.append(ManifestLine.of(file, Decision(False, OTHER)))
            else:
                kept.to_read[name] = file
                left -= size
        return replace(kept, to_read=dict(sorted(kept.to_read.items())))

    def _listed(self) -> tuple[dict[str, Path], list[Skipped]]:
        if os.path.isfile(self.path):
            if suffix_of(self.path) not in self.parsers:
                raise DataError(str(self.path), "is a file without a parser", f"there are parsers of {', '.join(self.parsers)}")
            refuse_escape(self.path, self.path.parent)
            return {normalize("NFC", self.path.name): self.path}, []
        if not os.path.isdir(self.path):
            below = "" if self.path.is_absolute() else f" below {Path.cwd()}"
            what = f"there is no such {'file' if suffix_of(self.path) in self.parsers else 'folder'}{below}"
            raise DataError(str(self.path), what, "set dataset.path or loader.path to a folder")
        files, skipped = self.metadata.apart(*listed(self.path, self.patterns))
        if not files and not skipped:
            raise DataError(str(self.path), "is an empty folder", "put documents into it, or name another folder")
        return files, skipped

    def ingest(self, found: Selection) -> Iterator[tuple[ManifestLine, Document | None]]:
        """Parse the selected files: one line for each file of the folder, with its document if it is included."""
        yield from ((line, None) for line in found.decided)
        self.dropped = {}
        yield from without_noise(self._read(found), self.noise, self.dropped)

    def _read(self, found: Selection) -> Iterator[tuple[ManifestLine, Document | None]]:
        """The lines of parsed files, with the document of an included file."""
        known: dict[str, str] = {}
        metadata = self.metadata.read(found.paths, [line.path for line in found.decided], self.redactor)
        for read in read_files(found.paths, self.parsers, self.redactor, self.workers, password_env=self._password_env):
            file, content = found.to_read[read.name], read.content
            if isinstance(content, Unreadable):
                yield ManifestLine.of(file, None, read), None
                continue
            decision = self.rules.decide(replace(file, text=content.text)) or Decision(True)
            if not self.copies and decision.includes and content.text.strip():
                text = sha256(content.text.encode("utf-8", "replace")).hexdigest()
                decision = decision if known.setdefault(text, read.name) == read.name else Decision(False, COPY)
            line, properties = ManifestLine.of(file, decision, read), metadata.of(read.name, content)
            document = Document(read.name, content.text, properties, content.blocks, content.redactions)
            yield (line, document) if decision.includes else (line.measured(document), None)

    def _empty(self) -> DataError:
        failed = [f"{file.name}: {file.detail or file.reason}" for file in self.skipped if file.wanted]
        what = f"no file can be read: {'; '.join(failed[:3])}" if failed else f"no file matches {', '.join(self.patterns)}"
        others = f" ({tally(0, self.skipped)})" if self.skipped else ""
        return DataError(str(self.path), what + others, "check the folder and loader.patterns")
