"""Two versions of a golden set, question by question, and what their differences mean for comparisons."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag.core.errors import DataError
from rag.datasets.candidates import Row
from rag.datasets.review.drift import places_of
from rag.documents.json_rows import read_rows
from rag.evaluation.data.golden import LEAST

PARTS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "rewrite"),
    "history": ("history", "dialogue", "turn"),
    "answers": ("answers", "unanswerable"),
    "expects": ("expects",),
    "kind": ("kind", "tags"),
    "split": ("split",),
    "cluster": ("cluster",),
}
"""The parts of a question that can change, with their keys; evidence and provenance are compared on their own."""
ASKED = ("id", "text", "rewrite", "history")


@dataclass(frozen=True, slots=True)
class SetDiff:
    """The differences of two versions of a set, by the ids of questions.

    `added` and `removed` are in one version only, `renamed` have the same content under another id, and `changed` names the
    parts that differ: names of PARTS, `evidence moved` to other documents, `evidence re-quoted`, `evidence graded`
    (grades, groups or offsets only) and `provenance`.

    `same` counts the questions with the same id and content, provenance aside: only these can be paired. `digests` are those
    of `Golden` that differ, if documents and parser stay the same. `reordered` is true if the common questions have another
    order, `dealt` if the splits of all questions may differ because the set has passed the size for a holdout.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: Mapping[str, str]
    changed: Mapping[str, tuple[str, ...]]
    same: int
    digests: tuple[str, ...]
    reordered: bool = False
    dealt: bool = False

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self)


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
    asked = [[[row.get(key) or "" for key in ASKED] for row in rows.values()] for rows in (old, new)]
    differs = list(old) != list(new) or judged
    unsplit = not any(row.get("split") for rows in (old, new) for row in rows.values())
    return SetDiff(
        added=tuple(name for name in new if name not in old and name not in renamed.values()),
        removed=tuple(name for name in old if name not in new and name not in renamed),
        renamed=renamed,
        changed=changed,
        same=len(common[0]) - len(judged),
        digests=(("queries",) if asked[0] != asked[1] else ()) + (("golden", "asked") if differs else ()),
        reordered=common[0] != common[1],
        dealt=unsplit and (len(old) < LEAST) != (len(new) < LEAST),
    )


def _content(row: Row) -> str:
    """The content of a question without its id, its provenance, and a cluster of its own."""
    own = {key: value for key, value in row.items() if key not in ("id", "provenance") and value not in (None, [], "")}
    if own.get("cluster") == row["id"]:
        del own["cluster"]
    return json.dumps(own, sort_keys=True)


def _parts(old: Row, new: Row) -> tuple[str, ...]:
    differ = [part for part, keys in PARTS.items() if any((old.get(key) or None) != (new.get(key) or None) for key in keys)]
    if (old.get("evidence") or []) != (new.get("evidence") or []):
        differ.append(_evidence_change(old.get("evidence") or [], new.get("evidence") or []))
    return (*differ, *(["provenance"] if old.get("provenance") != new.get("provenance") else []))


def _evidence_change(old: Sequence[Any], new: Sequence[Any]) -> str:
    docs, quotes = (
        [[place.get(key) for group in groups for place in places_of(group)] for groups in (old, new)]
        for key in ("doc", "quote")
    )
    return "evidence moved" if docs[0] != docs[1] else "evidence re-quoted" if quotes[0] != quotes[1] else "evidence graded"
