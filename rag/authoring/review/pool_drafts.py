"""Passages and labels of a pool as drafts for a review: accepted, they are gold; dropped, they are judged as not relevant."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.review.drafts import Draft, words_of
from rag.authoring.review.drift import places_of, waits
from rag.documents.folder.json_rows import read_rows

ASKED = "Does the last place of its evidence answer the question? Accept if it does; drop judges it as not relevant."
AGAIN = "{doc} {quote} is labelled as {label}, and that may be wrong. Accept if it answers the question; drop if it does not."
LOOKED = "looked"
"""The key of `provenance` with the places whose label a person has looked at again."""


def pool_file(questions: Path) -> Path:
    """The file of the pool of a file of questions."""
    return questions.with_suffix(".pool.jsonl")


def pool_drafts(questions: Sequence[Row], path: Path) -> Iterator[Draft]:
    """What a pool asks, in its order, named by its line: passages without a label, and labels that a reader has not confirmed.

    Questions that wait are left out.
    """
    rows = {str(row.get("id")): row for row in questions if not waits(row)}
    for number, each in enumerate(read_rows(path) if path.is_file() else (), 1):
        row, place, label = rows.get(str(each.fields.get("id"))), each.fields.get("place"), each.fields.get("relevant")
        if row is None or not isinstance(place, dict):
            continue
        made = row.get("provenance") or {}
        gold = _with(row, place)
        if label is None:
            note, asked = ASKED, not _among(place, _judged(row))
            pool = {"method": "pool", "searches": each.fields.get("searches", [])}
        else:
            looked, called = made.get(LOOKED) or (), "relevant" if label else "not relevant"
            note = AGAIN.format(doc=place.get("doc"), quote=repr(place.get("quote", ""))[:80], label=called)
            asked = label is _among(place, _gold(row)) and not _among(place, looked)
            gold, pool = row if label else gold, {LOOKED: [*looked, place]}
        if asked:
            shown, left = ({**part, "provenance": {**made, **pool}} for part in (gold, _without(row, place)))
            yield Draft(None, shown, notes=(note,), label=f"{row['id']}/{number}", before=dict(row), refused=left)


def _with(row: Mapping[str, Any], place: Row) -> Row:
    """The question with a place as the last of its gold: of the first group, or a group of its own beside whole documents."""
    left = _without(row, place)
    judged, gold = [each for each in left["judged"] if not _among(each, [place])], list(left["evidence"])
    alone = not gold or all("quote" not in part for group in gold for part in places_of(group))
    more = [*gold, {"any": [place]}] if alone else [{**gold[0], "any": [*gold[0]["any"], place]}, *gold[1:]]
    kept = {name: value for name, value in row.items() if name != "judged"}
    return {**kept, "evidence": more} | ({"judged": judged} if judged else {})


def _without(row: Mapping[str, Any], place: Row) -> Row:
    """The question with a place that is judged as not relevant."""
    groups = [
        {**group, "any": [each for each in places_of(group) if not _among(each, [place])]}
        for group in row.get("evidence") or ()
    ]
    judged = row.get("judged") or ()
    return {
        **row,
        "evidence": [each for each in groups if each["any"]],
        "judged": [*judged, *(() if _among(place, judged) else (place,))],
    }


def _gold(row: Mapping[str, Any]) -> list[Any]:
    return [place for group in row.get("evidence") or () for place in places_of(group)]


def _judged(row: Mapping[str, Any]) -> list[Any]:
    """The places of a question with a label of a person."""
    return [*(row.get("judged") or ()), *_gold(row)]


def _among(place: Mapping[str, Any], places: Sequence[Any]) -> bool:
    """Whether a place is among others: the same document, and the same words."""
    own = place.get("doc"), words_of(str(place.get("quote", "")))
    return any(own == (each.get("doc"), words_of(str(each.get("quote", "")))) for each in places)
