"""Bundles that change under a server: measured again, replaced at their path."""

from pathlib import Path
from shutil import copytree

from support.forged_bundles import resealed
from support.small_server import QUESTION

from rag.bundle.golden_cases import Case, golden_bytes
from rag.bundle.open_bundle import open_bundle
from rag.core.records import Query


def measured(bundle: Path, *retrieved: str) -> Path:
    """Seal into a bundle a golden question, and what is said to have been found for it."""
    (bundle / "golden.jsonl").write_bytes(golden_bytes([Case(Query("q1", QUESTION), retrieved)]))
    return resealed(bundle)


def replaced(bundle: Path, by: Path) -> None:
    """Put another bundle at a path, as somebody who deploys does."""
    bundle.rename(bundle.with_name("old"))
    copytree(by, bundle)


def digest(bundle: Path) -> str:
    """Its hash."""
    return open_bundle(bundle).digest
