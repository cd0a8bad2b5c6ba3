"""Processor time of vectors."""

from functools import partial
from pathlib import Path

from bench.measuring import HANDBOOK, Row, Rows, chosen, cpu_seconds

from rag.config.catalog import choices
from rag.pipeline.search import steps

EMBEDDERS = ("hashing", "static", "minilm_int8")
TEXTS, SIZE, WARM = 150, 800, 5


def embedding(folder: Path) -> Rows:
    """Texts of 800 characters of the handbook as vectors."""
    files = sorted((HANDBOOK / "documents").rglob("*.*"))
    text = "\n".join(path.read_text("utf-8") for path in files)
    texts = [text[at : at + SIZE] for at in range(0, len(text), SIZE)][:TEXTS]
    known = choices("embedder")
    taken = {}
    for name in ("minilm", *(name for name in EMBEDDERS if name in known)):
        embedder = chosen("embedder", name)
        steps.embed_documents(embedder, texts[:WARM])
        taken[name] = 1000 * cpu_seconds(partial(steps.embed_documents, embedder, texts), 2) / len(texts)
        yield Row(f"a text of {SIZE} characters, embedder={name}", taken[name], "CPU ms", "minilm", taken["minilm"])
