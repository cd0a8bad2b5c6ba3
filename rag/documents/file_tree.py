"""The files of a folder that are read, and the reasons why the others are not."""

import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path, PurePosixPath

from rag.core.errors import DataError

HIDDEN, FOLDER_LINK, ODD, NOT_TEXT, CLOSED = "hidden", "link to a folder", "no regular file", "not UTF-8", "not readable"
OVER, CRASHED, OUTSIDE = "over a limit", "crashed its parser", "link out of the folder"
NOT_NAMED, TWICE, LOCKED = "name not UTF-8", "name of another file", "encrypted"
METADATA = "metadata of other files"
KINDS = 5
"""The number of kinds of files that a tally names."""


class SkippedWarning(UserWarning):
    """Some files of a corpus were not read."""


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
        if path.is_dir():
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
    if not path.is_file():
        return Skipped(name, ODD, wanted=True)
    if name in files:
        return Skipped(name, TWICE, f"has the same name as {files[name]} in Unicode NFC", wanted=True)
    return None


def refuse_escape(path: Path, folder: Path) -> None:
    """DataError for a path that is a link to a place outside a folder."""
    target = os.path.realpath(path)
    if path.is_symlink() and not Path(target).is_relative_to(os.path.realpath(folder)):
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
            elif name in files or path.is_symlink():
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
    return _matches(_parts(name), _parts(pattern))


@lru_cache(maxsize=1024)
def _parts(path: str) -> tuple[str, ...]:
    return PurePosixPath(path.lower()).parts


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path matches a glob pattern, both as parts; `**` matches any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**" and len(pattern) > 1:
        return _matches(parts, pattern[1:]) or (len(parts) > 1 and _matches(parts[1:], pattern))
    if pattern[0] == "**":
        return bool(parts)
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
