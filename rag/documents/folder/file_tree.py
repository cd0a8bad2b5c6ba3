"""The files of a folder that are read, and the reasons why the others are not."""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from itertools import count
from pathlib import Path, PurePosixPath

from rag.core.errors import DataError

HIDDEN, FOLDER_LINK, ODD, NOT_TEXT, CLOSED = "hidden", "link to a folder", "no regular file", "not UTF-8", "not readable"
OVER, CRASHED, OUTSIDE = "over a limit", "crashed its parser", "link out of the folder"
NOT_NAMED, TWICE, LOCKED = "name not UTF-8", "name of another file", "encrypted"
METADATA = "metadata of other files"
ANY, WILD = r"[^/\0]", re.compile(r"[*?[]")
"""A character of a part of a path, and the characters of glob patterns."""
SIGN = re.compile(r"\*+|\[!?\]?[^]/]*\]|.", re.DOTALL)
RARE = 8
"""How many names there must be for each that has the fixed words of a pattern, to look for these words first."""
KINDS = 5
"""The number of kinds of files that a tally names."""


class SkippedWarning(UserWarning):
    """Some files of a corpus were not read. `state` is a digest of the names of all files, and of the reasons."""

    def __init__(self, text: str, state: str) -> None:
        super().__init__(text)
        self.state = state


@dataclass(frozen=True, slots=True, order=True)
class Skipped:
    """A file that is not read. `name` is relative to its folder, `reason` is short, `detail` is the full error, if any.

    A `wanted` file matches the patterns of its loader: it is a fault of the corpus.
    """

    name: str
    reason: str
    detail: str = ""
    wanted: bool = False


def tally(read: int, skipped: Sequence[Skipped]) -> str:
    """`12 files: 8 read, 4 not: 2 .pdf, 1 .png (no reader yet), 1 not UTF-8`; a hidden folder counts as one file.

    It names the KINDS most frequent kinds of each reason.
    """
    total = read + len(skipped)
    reasons: dict[str, Counter[str]] = {}
    for file in skipped:
        kind, _, reason = file.reason.partition(" (")
        reasons.setdefault(reason, Counter())[kind] += 1
    counts = ", ".join(_counted(reasons[reason]) + (reason and f" ({reason}") for reason in sorted(reasons, reverse=True))
    return f"{total} {'file' if total == 1 else 'files'}: {read} read" + (f", {len(skipped)} not: {counts}" if skipped else "")


def _counted(kinds: Counter[str]) -> str:
    ordered = sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    others = sum(count for _, count in ordered[KINDS:])
    return ", ".join(f"{count} {kind}" for kind, count in ordered[:KINDS]) + (f", {others} of other kinds" if others else "")


def listed(folder: Path, patterns: Sequence[str]) -> tuple[dict[str, Path], list[Skipped]]:
    """The files that match a pattern, without regard to case, by name, and all other files.

    A name is relative to the folder, with `/`, in Unicode NFC. A link that leaves the folder is not followed, because a corpus
    from elsewhere could ask for any file of this machine; DataError if the folder itself is one.
    """
    refuse_escape(folder, folder.parent)
    files: dict[str, Path] = {}
    skipped: list[Skipped] = []
    for path in _entries(folder, skipped):
        name = _name(path, folder)
        wanted = any(matches(name, pattern) for pattern in patterns)
        if os.path.isdir(path):
            skipped.append(Skipped(name, FOLDER_LINK))
        elif not wanted:
            skipped.append(Skipped(name, _unwanted(path.suffix.lower(), patterns)))
        elif fault := _fault(name, path, folder, files):
            skipped.append(fault)
        else:
            files[name] = path
    return files, skipped


def _fault(name: str, path: Path, folder: Path, files: Mapping[str, Path]) -> Skipped | None:
    """Why a file that matches is not read; None for a file to read."""
    try:
        name.encode("utf-8")
        refuse_escape(path, folder)
    except UnicodeEncodeError:
        return Skipped(name.encode("utf-8", "replace").decode(), NOT_NAMED, wanted=True)
    except DataError as error:
        return Skipped(name, OUTSIDE, error.what, wanted=True)
    target = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
    if os.path.islink(path) and any(part.startswith(".") for part in Path(target).parts):
        return Skipped(name, HIDDEN, f"is a link to the hidden {target}", wanted=True)
    if not os.path.isfile(path):
        return Skipped(name, ODD if os.path.lexists(path) else CLOSED, wanted=True)
    if name in files:
        return Skipped(name, TWICE, f"has the same name as {files[name]} in Unicode NFC", wanted=True)
    return None


def refuse_escape(path: Path, folder: Path) -> None:
    """DataError for a path that is a link to a place outside a folder."""
    target = os.path.realpath(path)
    if os.path.islink(path) and not Path(target).is_relative_to(os.path.realpath(folder)):
        remedy = "put a copy in its place or remove it; if it is the folder of documents, set loader.path to its target"
        raise DataError(str(path), f"is a link that leaves its folder, to {target}", remedy)


def _entries(folder: Path, skipped: list[Skipped]) -> Iterator[Path]:
    """Files and links to folders in order of their names; hidden and unreadable ones are added to `skipped`."""

    def unreadable(error: OSError) -> None:
        skipped.append(Skipped(_name(Path(error.filename), folder), CLOSED, error.strerror or "", wanted=True))

    for place, folders, files in os.walk(folder, onerror=unreadable):
        for name in sorted([*folders, *files]):
            path = Path(place, name)
            if name.startswith("."):
                skipped.append(Skipped(_name(path, folder), HIDDEN))
            elif name in files or os.path.islink(path):
                yield path
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def _name(path: Path, folder: Path) -> str:
    return unicodedata.normalize("NFC", path.relative_to(folder).as_posix())


def _unwanted(suffix: str, patterns: Sequence[str]) -> str:
    known = any(pattern.lower().endswith(suffix) for pattern in patterns) if suffix else False
    return f"{suffix or 'without suffix'} ({'outside loader.patterns' if known else 'no reader yet'})"


def leaves_folder(pattern: str) -> bool:
    """Whether a path or glob pattern that is to be relative to a folder is empty, absolute, or has `..` in it."""
    return not pattern or pattern.startswith("/") or ".." in PurePosixPath(pattern).parts


def matches(name: str, pattern: str) -> bool:
    """Whether the name of a file matches a glob pattern, without regard to case; `**` matches any number of folders."""
    return _compiled(_path(pattern)).match(f"\0{_path(name)}\0") is not None


class Names:
    """Names of files in which those that match a pattern are found at once. `size` is the number of their characters."""

    def __init__(self, names: Iterable[str]) -> None:
        self._written: dict[str, list[str]] = {}
        for name in names:
            self._written.setdefault(_path(name), []).append(name)
        self._text = "\0".join(["", *self._written, ""])
        self.size = len(self._text)

    def matching(self, pattern: str) -> list[str]:
        """The name that a pattern is, or else the names that it matches as in `matches`."""
        path = _path(pattern)
        same = self._written.get(path, [])
        if pattern in same or not WILD.search(path):
            return [pattern] if pattern in same else same
        return [name for each in self._found(path, _compiled(path)) for name in self._written[each]]

    def _found(self, path: str, compiled: re.Pattern[str]) -> Iterator[str]:
        fixed = max((piece.strip("/") for piece in re.split(r"[*?]", path.partition("[")[0])), key=len)
        if not fixed or RARE * self._text.count(fixed) > len(self._written):
            yield from (match[1] for match in compiled.finditer(self._text))
            return
        at = 0
        while (at := self._text.find(fixed, at)) > 0:
            start, at = self._text.rfind("\0", 0, at), self._text.find("\0", at) + 1
            yield from (match[1] for match in compiled.finditer(self._text, start, at))


@lru_cache(maxsize=1024)
def _path(path: str) -> str:
    return PurePosixPath(path.lower()).as_posix()


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A path that matches a pattern, between NULs. Where a `*` or `**` ends is decided once, so the time is linear."""
    numbers = count(2)
    first, *others = (_run(run.strip("/"), numbers) for run in re.split(r"/(?:\*\*/)+", f"/{pattern}/"))
    folders, start = f"(?:{ANY}++/)*?", f"{first}/" if first and others else first
    between = "".join(_once(f"{folders}{run}/", numbers) for run in others[:-1])
    end = "".join(f"{folders}{run}" if run else r"[^\0]+" for run in others[-1:])
    return re.compile(rf"\0({start}{between}{end})(?=\0)")


def _once(pattern: str, numbers: Iterator[int]) -> str:
    """A pattern that is matched in one way only; atomic groups do so, and Python 3.11.0 to 3.11.4 match them wrongly."""
    name = f"once{next(numbers)}"
    return f"(?=(?P<{name}>{pattern}))(?P={name})"


def _run(parts: str, numbers: Iterator[int]) -> str:
    """Parts of a pattern without `**`, each as `fnmatch` reads it."""
    pieces = [""]
    for sign in SIGN.findall(parts):
        if sign.startswith("*"):
            pieces.append("")
        elif len(sign) > 1:
            pieces[-1] += rf"(?![/\0]){translate(sign)[4:-3]}"
        else:
            pieces[-1] += ANY if sign == "?" else re.escape(sign)
    first, *others = pieces
    return (
        first
        + "".join(_once(f"{ANY}*?{piece}", numbers) for piece in others[:-1])
        + "".join(f"{ANY}*{piece}" for piece in others[-1:])
    )
