"""Which files a bundle may hold, under which names, and how large they may be."""

import re
from collections.abc import Iterable, Mapping

from rag.bundle.errors import refused

MANIFEST, SEAL = "manifest.json", "manifest.sha256"
CONFIG, DOCUMENTS, CHUNKS = "config.json", "documents.jsonl", "chunks.safetensors"
RECORDS = "records.json"
SCORES, GOLDEN = "scores.json", "golden.jsonl"
MODELS = "models/"
KEPT = (
    "route", "policy", "reuse", "shape", "condense",
    "chunker", "passage", "embedder", "index", "fusion", "reranker", "selector", "queries", "memory", "guard", "prompt",
    "generator", "check", "k", "depth", "rerank_depth", "context_tokens", "pinned", "lock", "exclude", "stand_ins",
)  # fmt: skip
"""The keys of a config that a bundle keeps."""

MIB = 1 << 20
PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_-])?"
"""One part of a path: ASCII, not hidden, not `..`, without a dot at the end."""

LONGEST = 100
"""Most characters of a name: every tar format has room for them."""

KINDS: Mapping[str, int] = {
    r"manifest\.json": 16 * MIB,
    r"manifest\.sha256": 256,
    r"config\.json": MIB,
    r"documents\.jsonl": 2048 * MIB,
    r"records\.json": 256 * MIB,
    r"golden\.jsonl": 64 * MIB,
    r"scores\.json": 256 * MIB,
    r"cards/[A-Za-z0-9_-]{1,128}\.json": 16 * MIB,
    r"(?:chunks|(?:indexes|passages)/[A-Za-z0-9_-]{1,64})\.safetensors": 4096 * MIB,
    rf"models/{PART}(?:/{PART}){{0,5}}/{PART}\.(?:safetensors|json|txt|md)": 8191 * MIB,
}
"""Pattern of a name → largest size of such a file, in bytes."""

NEEDED = (CONFIG, DOCUMENTS, CHUNKS)
MOST_BYTES, MOST_FILES = 8192 * MIB, 10_000
"""The largest bundle that is opened: bytes of all its files, and number of files."""


def check_name(where: str, name: str) -> int:
    """The largest size in bytes of a file of this name; BundleError for a name that is not a bundle's."""
    for pattern, most in KINDS.items():
        if len(name) <= LONGEST and re.fullmatch(pattern, name, re.ASCII):
            return most
    raise refused(
        where,
        f"holds {name!r}, which is not a file of a bundle",
        "a bundle holds the files that rag export writes, and no other",
    )


def check_size(where: str, name: str, size: int) -> None:
    """Raise BundleError for a name that is not a bundle's, and for a file that is larger than its kind may be."""
    if not 0 <= size <= (most := check_name(where, name)):
        raise refused(where, f"{name} has {size:,} bytes", f"such a file has at most {most:,}")


def check_names(where: str, sizes: Mapping[str, int]) -> None:
    """Raise BundleError unless these files, by name with their sizes in bytes, may be a bundle."""
    if len(sizes) > MOST_FILES:
        raise refused(where, f"holds {len(sizes):,} files", f"a bundle has at most {MOST_FILES:,}")
    for name, size in sizes.items():
        check_size(where, name, size)
    if (total := sum(sizes.values())) > MOST_BYTES:
        raise refused(where, f"holds {total:,} bytes", f"a bundle has at most {MOST_BYTES:,}")
    check_distinct(where, sizes)
    for name in NEEDED:
        if name not in sizes:
            raise refused(where, f"has no {name}")


def check_distinct(where: str, names: Iterable[str]) -> None:
    """Raise BundleError for two names that differ in case only, and for a file that is a folder too."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise refused(where, f"{other!r} and {name!r} are one file where case does not count")
    for name in known:
        parts = name.split("/")
        above = (known.get("/".join(parts[:end])) for end in range(1, len(parts)))
        if folder := next(filter(None, above), None):
            raise refused(where, f"{folder!r} is a file and a folder")
