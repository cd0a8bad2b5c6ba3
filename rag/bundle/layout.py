"""Which files a bundle may hold, under which names, and how large they may be."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rag.bundle.errors import refused

MANIFEST, SEAL = "manifest.json", "manifest.sha256"
CONFIG, PROMPT, DOCUMENTS, CHUNKS = "config.yaml", "prompt.yaml", "documents.jsonl", "chunks.entry"
SCORES, GOLDEN = "scores.json", "golden.jsonl"
MODELS = "models/"
KEPT = (
    "chunker", "embedder", "index", "fusion", "reranker", "selector", "queries", "memory", "guard", "prompt", "generator",
    "check", "k", "depth", "rerank_depth", "context_tokens", "pinned",
)  # fmt: skip
"""The keys of a config that a bundle has. `prompt` may stand in a file of its own."""

MIB = 1 << 20
PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,126}[A-Za-z0-9_-])?"
"""A part of a name: ASCII, never hidden, never `..`, never ending in a dot."""

LONGEST = 100
"""Characters of a name: what every tar has room for."""

KINDS: Mapping[str, int] = {
    r"manifest\.json": 16 * MIB,
    r"manifest\.sha256": 256,
    r"(?:config|prompt)\.yaml": MIB // 2,
    r"documents\.jsonl": 2048 * MIB,
    r"golden\.jsonl": 64 * MIB,
    r"scores\.json": 256 * MIB,
    r"cards/[A-Za-z0-9_-]{1,128}\.json": 16 * MIB,
    r"chunks\.entry|indexes/[A-Za-z0-9_-]{1,64}\.entry": 4096 * MIB,
    rf"models/{PART}(?:/{PART}){{0,5}}/{PART}\.(?:safetensors|json|txt|md)": 8191 * MIB,
}
"""Pattern of a name → the most bytes that such a file may have."""

NEEDED = (CONFIG, DOCUMENTS, CHUNKS)


@dataclass(frozen=True)
class Limits:
    """What a bundle may take: bytes of all files together, and how many they are."""

    total: int = 8192 * MIB
    files: int = 10_000


LIMITS = Limits()


def check_name(where: str, name: str) -> int:
    """The most bytes that a file of this name may have; BundleError for a name that no bundle has."""
    for pattern, most in KINDS.items():
        if len(name) <= LONGEST and re.fullmatch(pattern, name, re.ASCII):
            return most
    raise refused(where, f"holds {name!r}, {_odd(name)}", "a bundle holds the files that rag export writes, and no other")


def _odd(name: str) -> str:
    """What is wrong with a name."""
    parts = name.split("/")
    if name.startswith(("/", "~")) or re.match(r"[A-Za-z]:", name):
        return "an absolute path"
    if ".." in parts or "." in parts or "" in parts:
        return "a path that leads elsewhere"
    if "\\" in name or not name.isascii() or not name.isprintable():
        return "a name with characters that no file of a bundle has"
    return "which is no file of a bundle"


def check_names(where: str, sizes: Mapping[str, int], limits: Limits) -> None:
    """Raise BundleError unless these files, by name with their sizes, may be a bundle."""
    if len(sizes) > limits.files:
        raise refused(where, f"holds {len(sizes):,} files", f"a bundle has at most {limits.files:,}")
    for name, size in sizes.items():
        most = check_name(where, name)
        if not 0 <= size <= most:
            raise refused(where, f"{name} has {size:,} bytes", f"such a file has at most {most:,}")
    if (total := sum(sizes.values())) > limits.total:
        raise refused(where, f"holds {total:,} bytes", f"a bundle has at most {limits.total:,}")
    check_distinct(where, sizes)
    for name in NEEDED:
        if name not in sizes:
            raise refused(where, f"has no {name}")


def check_distinct(where: str, names: Iterable[str]) -> None:
    """Raise BundleError for names that some file systems cannot tell apart, and for a file that is a folder too."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(name.casefold(), name)
        if other != name:
            raise refused(where, f"{other!r} and {name!r} are one file where case does not count")
    for name in known:
        parts = name.split("/")
        if above := next((known[one] for end in range(1, len(parts)) if (one := "/".join(parts[:end])) in known), None):
            raise refused(where, f"{above!r} is a file and a folder")
