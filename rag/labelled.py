"""Texts that people have judged: what a judge is measured against.

`wice` and `halueval` lie below RAG_DATA; any other set is a JSON Lines file with `text`, `contexts` (a list of texts) and
`supported` (true or false), and where they are known `question` and `cluster`, the article or conversation a text comes from.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.claims import Case
from rag.errors import DataError

Row = Mapping[str, Any]
Labels = Iterator[tuple[Case, bool, str]]


@dataclass(frozen=True)
class Labelled:
    """Cases with a person's word on each: whether all of the text follows from the contexts.

    `clusters` names what each case comes from; cases of one cluster are not independent. `digest` is the sha256 of the file.
    """

    name: str
    digest: str
    cases: tuple[Case, ...]
    labels: tuple[bool, ...]
    clusters: tuple[str, ...]


def _wice(row: Row, number: int) -> Labels:
    """A claim counts as supported if all of it is; partially supported is not (Kamoi et al. 2023, "WiCE")."""
    yield Case(row["claim"], ("\n".join(row["evidence"]),)), row["label"] == "supported", row["meta"]["claim_title"]


def _halueval(row: Row, number: int) -> Labels:
    """Two answers to one question, the second made up (Li et al. 2023, "HaluEval")."""
    for name, label in (("right_answer", True), ("hallucinated_answer", False)):
        yield Case(row[name], (row["knowledge"],), row["question"]), label, str(number)


def _own(row: Row, number: int) -> Labels:
    contexts, label = row["contexts"], row["supported"]
    if not isinstance(row["text"], str) or not isinstance(contexts, list) or not all(isinstance(c, str) for c in contexts):
        raise TypeError("text is a text and contexts a list of texts")
    if not isinstance(label, bool):
        raise TypeError("supported is true or false")
    yield Case(row["text"], tuple(contexts), str(row.get("question", ""))), label, str(row.get("cluster", number))


KNOWN: Mapping[str, tuple[str, Callable[[Row, int], Labels]]] = {
    "wice": ("wice-dev/claim.jsonl", _wice),
    "halueval": ("halueval-qa-500/qa_one_turn.jsonl", _halueval),
}


def labelled(name: str) -> Labelled:
    """The set of that name, or at that path; DataError for what cannot be read or holds labels of one kind only."""
    place, read = KNOWN.get(name, (name, _own))
    path = Path(os.environ.get("RAG_DATA") or "../shared/data", place) if name in KNOWN else Path(place)
    try:
        content = path.read_bytes()
        text = content.decode("utf-8")
    except (OSError, ValueError) as error:
        known = f"set RAG_DATA to the folder of public data, or data=<{'|'.join(KNOWN)}|path.jsonl>"
        raise DataError(str(path), f"cannot be read ({getattr(error, 'strerror', None) or error})", known) from error
    found = list(_rows(text, path, read))
    if len({label for _, label, _ in found}) < 2:
        raise DataError(str(path), f"holds {len(found)} texts, not both supported and unsupported ones", "labels of both kinds")
    cases, labels, clusters = zip(*found, strict=True)
    return Labelled(name if name in KNOWN else path.stem, hashlib.sha256(content).hexdigest(), cases, labels, clusters)


def _rows(text: str, path: Path, read: Callable[[Row, int], Labels]) -> Labels:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield from read(json.loads(line), number)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                what = f"has no {error}" if isinstance(error, KeyError) else f"does not fit: {error}"
                raise DataError(
                    f"{path}:{number}", what, 'a line like {"text": …, "contexts": […], "supported": true}'
                ) from error
