"""A folder of files as a corpus."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import ClassVar

from rag.core.errors import ConfigError, DataError
from rag.core.records import Document
from rag.core.roles import Parser, Redactor
from rag.documents.children import default_workers
from rag.documents.file_tree import Skipped, listed, tally
from rag.documents.reading import Unreadable, read_files, unparsed


class FolderLoader:
    r"""Every file below `path` with a parser for its suffix is a document.

    `parsers` maps suffixes without the dot to parsers. `patterns` are glob patterns relative to `path`, compared without regard
    to case; null takes every file. `redactor` finds values that are replaced by placeholders before anything is stored.
    `workers` is the number of processes that parse; null takes one for each core, at most 4.

    `doc_id` is the path relative to the folder with `/` between names, in Unicode NFC, so that it is the same on every
    system. Empty files are kept. After `load`, `skipped` names all other files with a reason.
    """

    runtime: ClassVar[tuple[str, ...]] = ("workers",)

    def __init__(
        self,
        path: str,
        parsers: Mapping[str, Parser],
        redactor: Redactor,
        patterns: Sequence[str] | None = None,
        workers: int | None = None,
    ) -> None:
        """Raise ConfigError for a parser that does not read its suffix, and for patterns that leave the folder."""
        if isinstance(patterns, str) or patterns == []:
            raise ConfigError("loader.patterns", f"{patterns!r} is not a list of patterns", "write [**/*.md, **/*.txt]")
        for pattern in patterns or ():
            if not pattern or pattern.startswith("/") or ".." in PurePosixPath(pattern).parts:
                raise ConfigError("loader.patterns", f"{pattern!r} leaves the folder", "write it relative: **/*.md")
        for suffix, parser in parsers.items():
            if suffix not in parser.suffixes:
                remedy = f"it reads: {', '.join(parser.suffixes)}"
                raise ConfigError(
                    f"loader.parsers.{suffix}",
                    f"{type(getattr(parser, 'parser', parser)).__name__} does not read .{suffix}",
                    remedy,
                )
        if workers is not None and workers < 1:
            raise ConfigError("loader.runtime.workers", f"is {workers}", "set 1 or more, or null")
        self.path = Path(path)
        self.parsers = dict(parsers)
        self.patterns = tuple(patterns or (f"**/*.{suffix}" for suffix in parsers))
        self.redactor, self.workers = redactor, workers
        self.skipped: tuple[Skipped, ...] = ()

    def unparsed(self) -> tuple[int, list[tuple[Parser, int]]]:
        """The number of files, and parser and bytes of each that a process would have to parse; DataError as `load`."""
        files, _ = self._listed()
        return len(files), list(unparsed(files, self.parsers, self.redactor))

    @property
    def processes(self) -> int:
        """The number of processes that parse at the same time."""
        return self.workers or default_workers()

    def load(self) -> Iterator[Document]:
        """Yield documents by their doc_id; DataError for a missing folder, no readable file, or a link out of the folder."""
        files, skipped = self._listed()
        texts = 0
        for file in read_files(dict(sorted(files.items())), self.parsers, self.redactor, self.workers):
            content = file.content
            if isinstance(content, Unreadable):
                skipped.append(Skipped(file.name, content.reason, content.detail, wanted=True))
                continue
            texts += 1
            yield Document(file.name, content.text, content.metadata, content.blocks, content.redactions)
        self.skipped = tuple(sorted(skipped))
        if not texts:
            raise self._empty()

    def _listed(self) -> tuple[dict[str, Path], list[Skipped]]:
        if not self.path.is_dir():
            below = "" if self.path.is_absolute() else f" below {Path.cwd()}"
            raise DataError(str(self.path), f"there is no such folder{below}", "set dataset.path or loader.path to a folder")
        return listed(self.path, self.patterns)

    def _empty(self) -> DataError:
        failed = [f"{file.name}: {file.detail or file.reason}" for file in self.skipped if file.wanted]
        what = f"no file can be read: {'; '.join(failed[:3])}" if failed else f"no file matches {', '.join(self.patterns)}"
        others = f" ({tally(0, self.skipped)})" if self.skipped else ""
        return DataError(str(self.path), what + others, "check the folder and loader.patterns")
