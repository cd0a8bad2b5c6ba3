"""Passages of a pool as drafts for a review: accepted, they are gold; dropped, they are judged as not relevant."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.review.drafts import Draft
from rag.authoring.review.drift import places_of, waits
from rag.documents.folder.json_rows import read_rows

ASKED = "Does the last place of its evidence answer the question? Accept if it does; drop judges it as not relevant."


def pool_file(questions: Path) -> Path:
    """The file of the pool of a file of questions."""
    return questions.with_suffix(".pool.jsonl")


def pool_drafts(questions: Sequence[Row], path: Path) -> Iterator[Draft]:
    """The passages of a pool that are not judged yet, in its order, named by their line; not those of a question that waits."""
    rows = {str(row.get("id")): row for row in questions if not waits(row)}
    for number, each in enumerate(read_rows(path) if path.is_file() else (), 1):
        row, place = rows.get(str(each.fields.get("id"))), each.fields.get("place")
        if row is None or not isinstance(place, dict) or place in _judged(row):
            continue
        pool = {"method": "pool", "searches": each.fields.get("searches", [])}
        shown = {**row, "provenance": {**(row.get("provenance") or {}), **pool}}
        gold = list(row.get("evidence") or ())
        alone = not gold or all("quote" not in part for group in gold for part in places_of(group))
        more = [*gold, {"any": [place]}] if alone else [{**gold[0], "any": [*gold[0]["any"], place]}, *gold[1:]]
        refused = {**shown, "judged": [*(row.get("judged") or ()), place]}
        name = f"{row['id']}/{number}"
        yield Draft(None, {**shown, "evidence": more}, notes=(ASKED,), label=name, before=dict(row), refused=refused)


def _judged(row: Mapping[str, Any]) -> list[Any]:
    """The places of a question with a label of a person."""
    groups = row.get("evidence") or ()
    return [*(row.get("judged") or ()), *(place for group in groups for place in places_of(group))]
