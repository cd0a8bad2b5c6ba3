"""Correct quotes that differ from their documents in form only."""

import json
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from rag.authoring.candidates import digests
from rag.authoring.review.drift import drift_of, drifts, quoted_places, recorded
from rag.core.errors import DataError
from rag.core.types import Document
from rag.documents.anchors.parsed_anchors import is_parsed
from rag.documents.anchors.quote_anchors import places_in, quote_places
from rag.documents.anchors.rendered import occurrences
from rag.documents.folder.json_rows import parse_row

STYLES: tuple[Mapping[str, Any], ...] = tuple(
    {"ensure_ascii": ascii_only, "separators": separators}
    for ascii_only in (False, True)
    for separators in ((", ", ": "), (",", ":"))
)
"""Usual styles of JSON lines: a changed line keeps its style."""


@dataclass(frozen=True)
class Fixes:
    """The text of a file of questions before and after `count` quotes were corrected."""

    before: str
    after: str
    count: int

    def diff(self, name: str) -> str:
        """A unified diff of the changed lines; empty if there are none."""
        before, after = self.before.split("\n"), self.after.split("\n")
        return "\n".join(unified_diff(before, after, name, name, n=0, lineterm=""))


def find_fixes(text: str, documents: Mapping[str, Document], reworded: Collection[str] = ()) -> Fixes:
    """Correct quotes that differ from their document in markup, quotation marks or white space, or that moved.

    A quote that is not in its document is moved to the only other document that contains it, if it occurs once. The quotes of
    the questions `reworded` get the new words that `drift` proposes. `start` and `end` are updated, and so are the documents
    in the provenance of a question all of whose quotes have a place then. Quotes with no or several places, and lines that are
    not JSON, stay unchanged.
    """
    lines, count = text.split("\n"), 0
    for number, line in enumerate(lines):
        try:
            fields = dict(parse_row(line.removeprefix("\ufeff"), "").fields)
        except DataError:
            continue
        new = deepcopy(fields)
        for place in quoted_places(new):
            taken = str(fields.get("id")) in reworded
            found = drift_of(new, place, documents) if taken else None
            better = _fixed(found.anchored(place, documents) if found else place, documents)
            if better != place:
                place.update(better)
                count += 1
        _dated(new, documents)
        if new != fields:
            lines[number] = restyled(line, fields, new)
    return Fixes(text, "\n".join(lines), count)


def _dated(row: dict[str, Any], documents: Mapping[str, Document]) -> None:
    """Write the present digests of documents into the provenance of a question whose quotes all have a place."""
    before = recorded(row)
    if before and all(each.state == "there" for each in drifts([row], documents)):
        names = {*before, *(place["doc"] for place in quoted_places(row))}
        row["provenance"]["documents"] = digests(sorted(names & documents.keys()), documents)


def _fixed(place: dict[str, Any], documents: Mapping[str, Document]) -> dict[str, Any]:
    name, quote = place["doc"], place["quote"]
    if name in documents and is_parsed(documents[name]):
        return place  # The quote has the words of the file, and this is only what one parser made of it.
    given = (place.get("start"), place.get("end"))
    spans = quote_places(documents[name].text, quote) if name in documents else []
    if not spans:
        elsewhere = list(places_in(documents, quote)) if quote.split() else []
        name, spans = elsewhere[0] if len(elsewhere) == 1 else (name, [])
    chosen = [span for span in spans if span == given] or spans
    if len(chosen) != 1:
        return place
    start, end = chosen[0]
    text = documents[name].text
    offsets = "start" in place or "end" in place or len(occurrences(text, text[start:end], 2)) > 1
    return place | {"doc": name, "quote": text[start:end]} | ({"start": start, "end": end} if offsets else {})


def restyled(line: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """A changed line in the style of the old one."""
    bare = line.removeprefix("\ufeff").strip()
    style = next((style for style in STYLES if json.dumps(before, **style) == bare), STYLES[0])
    return line.replace(bare, json.dumps(after, **style))
