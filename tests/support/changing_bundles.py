"""Bundles that change while a server runs: measured again, replaced at their path."""

from pathlib import Path
from shutil import copytree

from support.forged_bundles import resealed
from support.small_server import QUESTION

from rag.bundle.golden_cases import Case, golden_bytes
from rag.bundle.open_bundle import open_bundle
from rag.core.types import Query


def measured(bundle: Path, *retrieved: str) -> Path:
    """Add a golden question to a bundle with the chunks that were retrieved for it, and seal it again."""
    (bundle / "golden.jsonl").write_bytes(golden_bytes([Case(Query("q1", QUESTION), retrieved)]))
    return resealed(bundle)


def replaced(bundle: Path, by: Path) -> None:
    """Replace the bundle at a path, as a deployment does."""
    bundle.rename(bundle.with_name("old"))
    copytree(by, bundle)


def digest(bundle: Path) -> str:
    """The hash of a bundle."""
    return open_bundle(bundle).digest
