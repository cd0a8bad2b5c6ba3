"""A golden set small enough to read, and the experiment that the tests of execution run on it."""

import json
from pathlib import Path

TEXTS = {
    "ferry.md": "# Ferry\n\nThe ferry to Holm leaves at seven. A ticket costs nine crowns.\n\nDogs travel free of charge.",
    "bus.md": "# Bus\n\nThe bus to Holm leaves at eight. A ticket costs four crowns.\n\nBicycles need a ticket of their own.",
    "rules.txt": "Children under six travel free on ferry and bus. Lost property is kept for thirty days at the harbour.",
    "winter.md": "# Winter\n\nIn winter the ferry leaves at nine. When the strait freezes there is no ferry at all.",
}
QUESTIONS = [
    ("q1", "When does the ferry to Holm leave?", "factoid", [["ferry.md", "The ferry to Holm leaves at seven."]], ["seven"]),
    ("q2", "What does a bus ticket cost?", "factoid", [["bus.md", "A ticket costs four crowns."]], ["four crowns"]),
    (
        "q3",
        "Do dogs and small children pay?",
        "multi_hop",
        [["ferry.md", "Dogs travel free"], ["rules.txt", "Children under six"]],
        [],
    ),
    (
        "q4",
        "How long is lost property kept?",
        "factoid",
        [["rules.txt", "Lost property is kept for thirty days"]],
        ["thirty days"],
    ),
    ("q5", "Who paints the lighthouse?", "unanswerable", [], []),
    ("q6", "Is there a ferry in a frozen strait?", "factoid", [["winter.md", "there is no ferry at all"]], ["no"]),
]


def write_golden(folder: Path) -> Path:
    """Write documents and questions in the native format; the folder."""
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for name, text in TEXTS.items():
        (documents / name).write_text(text, "utf-8")
    with (folder / "questions.jsonl").open("w", encoding="utf-8") as file:
        for number, (query_id, text, kind, groups, answers) in enumerate(QUESTIONS):
            evidence = [{"any": [{"doc": doc, "quote": quote}]} for doc, quote in groups]
            line = {"id": query_id, "text": text, "kind": kind, "answers": answers, "evidence": evidence}
            file.write(json.dumps(line | {"split": ("tune", "holdout")[number % 2]}) + "\n")
    return folder


def write_experiment(path: Path, golden: Path, axes: str, fixed: str = "") -> Path:
    """Write an experiment over all questions of that golden set with the given YAML of axes; its path."""
    held = f'["dataset.path={golden}", embedder=hashing, embedder.dimensions=64, latency=0, generator=none{fixed}]'
    path.write_text(f"question: Does it work?\ndataset: native\nsplit: all\nfixed: {held}\naxes:\n{axes}\n", "utf-8")
    return path


AXES = """\
  chunker: ["chunker=fixed chunker.size=60", "chunker=recursive chunker.size=80", chunker=whole]
  search: ["index=[bm25s] fusion=single", "index=[dense] fusion=single", "index=[bm25s,dense]"]
  k: k=1,3"""
