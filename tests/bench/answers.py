"""When to decline, and numbers that were not read."""

import re
from pathlib import Path

from bench.measuring import Row, Rows, golden_of, public

from rag.components.checks.numbers import NumbersCheck
from rag.config.build import Components
from rag.core.types import Chunk, Document, Example, Reply, Request, Span
from rag.execution.sweep.open_config import config_of, open_config

AROUND = 400
"""Characters that are read on either side of the gold."""


def declining(folder: Path) -> Rows:
    """What the shipped floor and `off_topic` stop."""
    squad = ("dataset=squad", f"dataset.path={public('squad2-a')}")
    config = config_of(["check=[retrieval_floor]"])
    pipeline, floor = open_config(config), Components().build(config["check"]["retrieval_floor"], "check.retrieval_floor")
    handbook = golden_of().examples
    asked = {
        "handbook, with gold": [example.query for example in handbook if example.evidence],
        "handbook, without": [example.query for example in handbook if not example.evidence],
        "SQuAD 2.0": [example.query for example in golden_of(*squad).examples[::15]],
    }
    for name, queries in asked.items():
        found = floor.screen(queries, [pipeline.contexts(pipeline.trace(query)) for query in queries])
        yield Row(f"check=retrieval_floor, {name}", sum(map(bool, found)) / len(queries), f"stopped of {len(queries)}")
    groups = {"with gold": [one for one in handbook if one.evidence]}
    groups["off topic"] = list(golden_of("dataset=handbook", "dataset.questions=off_topic.jsonl").examples)
    without, default = (open_config(config_of(list(overrides))) for overrides in (["check=none"], []))
    for name, examples in groups.items():
        queries = [example.query for example in examples if example.split == "holdout"]
        before, after = (sum(one.answer(query).abstained for query in queries) / len(queries) for one in (without, default))
        yield Row(f"default pipeline, {name}, holdout", after, f"declined of {len(queries)}", "check=none", before)


def contexts(example: Example, documents: dict[str, Document]) -> tuple[Chunk, ...]:
    """The gold of a question with the text around it."""
    found = []
    for gold in (group.alternatives[0] for group in example.evidence):
        text = documents[gold.doc_id if isinstance(gold, Span) else gold].text
        start, end = (max(gold.start - AROUND, 0), gold.end + AROUND) if isinstance(gold, Span) else (0, len(text))
        found.append(Chunk(Span("d", start, min(end, len(text))), text[start:end]))
    return tuple(found)


def numbers(folder: Path) -> Rows:
    """`check=numbers` on reference answers of the handbook: against their own gold, changed by 3, against other gold."""
    golden = golden_of()
    documents = {document.doc_id: document for document in golden.documents}
    asked = [one for one in golden.examples if one.evidence and one.answers and re.search(r"\d", one.answers[0])]
    requests = [Request(example.query, contexts(example, documents), ()) for example in asked]
    right = [example.answers[0] for example in asked]
    changed = [re.sub(r"\d+", lambda found: str(int(found[0]) + 3), text, count=1) for text in right]
    moved = requests[17:] + requests[:17]
    elsewhere = [Request(one.query, other.contexts, ()) for one, other in zip(requests, moved, strict=True)]
    own = sum(map(bool, NumbersCheck().inspect(requests, [Reply(text) for text in right]))) / len(right)
    for name, given, texts in (("changed by 3", requests, changed), ("against other gold", elsewhere, right)):
        found = NumbersCheck().inspect(given, [Reply(text) for text in texts])
        yield Row(f"check=numbers, {name}", sum(map(bool, found)) / len(found), f"flagged of {len(found)}", "as given", own)
