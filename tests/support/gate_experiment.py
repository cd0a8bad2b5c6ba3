"""A golden set that is large enough for a verdict, with gold that fits any chunk and gold that small chunks cut apart."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag.analysis.baseline import signed

DOCUMENTS = 60
THINGS = ("lantern", "anchor", "kettle", "ladder", "compass", "bellows")
COLOURS = ("amber", "violet", "crimson", "russet", "ochre", "teal", "indigo", "scarlet", "olive", "copper")
FILLER = ("the", "harbour", "office", "keeps", "every", "record", "and", "signs", "each", "page", "before", "noon")

AXES = """\
  chunker:
    narrow: chunker=fixed chunker.size=120
    wide: chunker=fixed chunker.size=600"""
GATE = """\
gate:
  metrics:
    ndcg@10: 0.03
    recall@5: {margin: 0.03, slices: {kind: 0.10}}
  bounds: ["failed == 0"]
"""


def write_many(folder: Path, documents: int = DOCUMENTS) -> Path:
    """Write `documents` documents with two questions each, one of kind `short`, one of kind `long`; the folder.

    Every fifth document is for tuning, the others are held out. A document is the cluster of its questions.
    """
    chance = random.Random(7)
    (folder / "documents").mkdir(parents=True)
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as file:
        for number in range(documents):
            name, text, questions = _document(number, chance)
            (folder / "documents" / name).write_text(text, "utf-8")
            for kind, question, quote in questions:
                group = {"any": [{"doc": name, "quote": quote}]}
                line = {"id": f"{kind}-{number:03d}", "text": question, "kind": kind, "cluster": name, "evidence": [group]}
                file.write(json.dumps(line | {"split": "tune" if number % 5 == 0 else "holdout"}) + "\n")
    return folder


def _document(number: int, chance: random.Random) -> tuple[str, str, list[tuple[str, str, str]]]:
    thing = f"{COLOURS[number % len(COLOURS)]} {THINGS[number // len(COLOURS) % len(THINGS)]}"
    price = f"The {thing} costs {10 + number} crowns."
    words = [chance.choice(FILLER) for _ in range(14)]
    care = f"To mend the {thing}, first soak it in {number + 3} litres of brine, then {' '.join(words)} until it shines."
    filler = [" ".join(chance.choice(FILLER) for _ in range(chance.randint(10, 50))) + "." for _ in range(3)]
    text = f"{filler[0]}\n\n{price}\n\n{filler[1]}\n\n{care}\n\n{filler[2]}"
    asked = [("short", f"What does the {thing} cost?", price), ("long", f"How does one mend the {thing}?", care)]
    return f"note-{number:03d}.txt", text, asked


def write_gated(path: Path, golden: Path, axes: str = AXES, gate: str = GATE, fixed: str = "") -> Path:
    """Write an experiment over that golden set, with a gate; its path."""
    held = f'["dataset.path={golden}", "index=[bm25s]", fusion=single, embedder=hashing, generator=none, latency=0{fixed}]'
    text = f"question: Does a change make it worse?\ndataset: native\nfixed: {held}\naxes:\n{axes}\n{gate}"
    path.write_text(text, "utf-8")
    return path


def forge(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of a baseline and compute its digest again, as its author can."""
    content = json.loads(path.read_text("utf-8"))
    del content["digest"]
    change(content)
    path.write_text(signed(json.dumps(content, indent=1)), "utf-8")
