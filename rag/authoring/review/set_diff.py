"""Two versions of a golden set, question by question, and which digests differ."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.review.drift import places_of
from rag.core.errors import DataError
from rag.documents.folder.json_rows import read_rows


@dataclass(frozen=True, slots=True)
class SetDiff:
    """The differences of two versions of a set, by the ids of questions.

    `added` and `removed` are in one version only, `renamed` have the same content under another id. `changed` names the keys
    that differ; evidence is `moved` to other documents, `re-quoted`, or `regrouped` (groups, grades, offsets). `same` counts
    the questions with the same id and content, provenance aside: only these can be paired. `digests` are those of `Golden`
    that differ if the documents are the same, and `reordered` says that the common questions have another order.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: Mapping[str, str]
    changed: Mapping[str, tuple[str, ...]]
    same: int
    digests: tuple[str, ...]
    reordered: bool


def read_version(path: Path) -> dict[str, Row]:
    """The questions of a folder or file in the native format, by id; DataError for an invalid line or a repeated id."""
    rows: dict[str, Row] = {}
    for row in read_rows(path / "questions.jsonl" if path.is_dir() else path):
        if rows.setdefault(name := row.name("id"), dict(row.fields)) != row.fields:
            raise DataError(row.where, f"several questions have the id {name!r}", "give every question its own id")
    return rows


def compare_versions(old: Mapping[str, Row], new: Mapping[str, Row]) -> SetDiff:
    """Compare two versions of a set, as `read_version` reads them."""
    gone = {_content(row): name for name, row in old.items() if name not in new}
    renamed = {gone[key]: name for name, row in new.items() if name not in old and (key := _content(row)) in gone}
    changed = {name: parts for name, row in new.items() if name in old and (parts := _parts(old[name], row))}
    judged = [name for name, parts in changed.items() if parts != ("provenance",)]
    common = [[name for name in rows if name in old and name in new] for rows in (old, new)]
    asked = [
        [[row.get(key) or "" for key in ("id", "text", "rewrite", "history")] for row in rows.values()] for rows in (old, new)
    ]
    return SetDiff(
        added=tuple(name for name in new if name not in old and name not in renamed.values()),
        removed=tuple(name for name in old if name not in new and name not in renamed),
        renamed=renamed,
        changed=changed,
        same=len(common[0]) - len(judged),
        digests=(("queries",) if asked[0] != asked[1] else ())
        + (("golden", "asked") if list(old) != list(new) or judged else ()),
        reordered=common[0] != common[1],
    )


def _content(row: Row) -> str:
    """The content of a question without its id, its provenance, and a cluster of its own."""
    own = {
        key: value for key, value in row.items() if key not in ("id", "provenance") and value not in (None, [], "", row["id"])
    }
    return json.dumps(own, sort_keys=True)


def _parts(old: Row, new: Row) -> tuple[str, ...]:
    differ = sorted(key for key in {*old, *new} - {"evidence"} if (old.get(key) or None) != (new.get(key) or None))
    groups: list[list[Any]] = [row.get("evidence") or [] for row in (old, new)]
    if groups[0] == groups[1]:
        return tuple(differ)
    kinds = {"moved": "doc", "re-quoted": "quote"}
    places = [[place for group in each for place in places_of(group)] for each in groups]
    apart = (kind for kind, key in kinds.items() if [p.get(key) for p in places[0]] != [p.get(key) for p in places[1]])
    return (*differ, f"evidence {next(apart, 'regrouped')}")
