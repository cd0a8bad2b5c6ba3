"""Texts that people have judged: what a judge is measured against.

`wice`, `mtrag`, `scifact` and `halueval` lie below RAG_DATA; any other set is a JSON Lines file with `text`, `contexts` (a list
of texts) and `supported` (true or false), and where they are known `question`, `cluster`, the article or conversation a text
comes from, and `kind`, such as claim or summary (answer unless told).
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Protocol, runtime_checkable

from rag.core.arrays import Floats
from rag.core.assessments import Case
from rag.core.errors import DataError
from rag.core.roles import Judge

Row = Mapping[str, Any]
Labels = Iterator[tuple[Case, bool, str]]
Read = Callable[[Row, int], Labels]
ANSWER, CLAIM = "answer", "claim"
"""Kinds of text that people judged: replies of a system to a question, and sentences that state something."""
FAITHFULNESS, CORRECTNESS = "faithfulness", "correctness"
"""What a judge is measured for."""
FAITHFUL = 3.5
"""The median rating, of 1 to 4, from which an answer counts as faithful or complete."""


@dataclass(frozen=True)
class Labelled:
    """Cases with a person's word on each: whether all of the text follows from the contexts.

    `clusters` names what each case comes from; cases of one cluster are not independent. `digest` is the sha256 of the file,
    `kinds` what kinds of text they are. For the task CORRECTNESS the contexts are reference answers, and the label says whether
    the text is a right answer to the question.
    """

    name: str
    digest: str
    cases: tuple[Case, ...]
    labels: tuple[bool, ...]
    clusters: tuple[str, ...]
    kinds: tuple[str, ...] = (ANSWER,)
    task: str = FAITHFULNESS


def _wice(row: Row, number: int) -> Labels:
    """A claim counts as supported if all of it is; partially supported is not (Kamoi et al. 2023, "WiCE")."""
    yield Case(row["claim"], ("\n".join(row["evidence"]),)), row["label"] == "supported", row["meta"]["claim_title"]


def _mtrag(row: Row, number: int) -> Labels:
    """Answers of three systems in conversations, by the median of people's ratings (Katsis et al. 2025, "MTRAG").

    Answers without contexts, to which the ratings give no meaning, are left out.
    """
    if row["contexts"]:
        contexts = tuple(context["text"] for context in row["contexts"])
        yield Case(row["answer"], contexts, row["text"]), median(row["faithfulness"]) >= FAITHFUL, row["conversation_id"]


def _halueval(row: Row, number: int) -> Labels:
    """Two answers to one question, the second made up (Li et al. 2023, "HaluEval")."""
    for name, label in (("right_answer", True), ("hallucinated_answer", False)):
        yield Case(row[name], (row["knowledge"],), row["question"]), label, str(number)


def _right(row: Row, number: int) -> Labels:
    """A right answer and one that was made up, compared with the right one."""
    for case, label, cluster in _halueval(row, number):
        yield Case(case.text, (row["right_answer"],), case.question), label, cluster


def _complete(folder: Path) -> Read:
    """Answers of two systems compared with that of a person, by the median of people's ratings of completeness."""
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text("utf-8").split("\n") if line]
    references = {row["_id"]: row["answer"] for row in rows if row["model_id"] == "reference"}

    def read(row: Row, number: int) -> Labels:
        if row["model_id"] != "reference":
            case = Case(row["answer"], (references[row["_id"]],), row["text"])
            yield case, median(row["completeness"]) >= FAITHFUL, row["conversation_id"]

    return read


def _scifact(folder: Path) -> Read:
    """Claims against each abstract that they cite, which supports them or does not (Wadden et al. 2020, "SciFact").

    An abstract without marked sentences, of a claim that has some elsewhere, has no label and is left out.
    """
    claims, abstracts = (_texts(folder / name) for name in ("queries.jsonl", "corpus.jsonl"))
    cited: dict[str, list[str]] = {}
    for line in (folder / "qrels" / "train.tsv").read_text("utf-8").split("\n")[1:]:
        if line:
            cited.setdefault(line.split("\t")[0], []).append(line.split("\t")[1])

    def read(row: Row, number: int) -> Labels:
        said: dict[str, set[str]] = {}
        for rationale in row["rationales"]:
            for sentence in rationale["sentences"]:
                said.setdefault(sentence["corpus_id"], set()).add(rationale["label"])
        for name in cited[row["_id"]]:
            if name in said or not said:
                yield Case(claims[row["_id"]], (abstracts[name],)), said.get(name) == {"SUPPORT"}, name

    return read


def _texts(path: Path) -> dict[str, str]:
    rows = (json.loads(line) for line in path.read_text("utf-8").split("\n") if line)
    return {row["_id"]: row["text"] for row in rows}


def _own(row: Row, number: int) -> Labels:
    contexts, label = row["contexts"], row["supported"]
    if not isinstance(row["text"], str) or not isinstance(contexts, list) or not all(isinstance(c, str) for c in contexts):
        raise TypeError("text is a text and contexts a list of texts")
    if not isinstance(label, bool):
        raise TypeError("supported is true or false")
    yield Case(row["text"], tuple(contexts), str(row.get("question", ""))), label, str(row.get("cluster", number))


KNOWN: Mapping[str, tuple[str, str, Callable[[Path], Read]]] = {
    "wice": ("wice-dev/claim.jsonl", CLAIM, lambda folder: _wice),
    "mtrag": ("mtrag-faithfulness-dev/answers.jsonl", ANSWER, lambda folder: _mtrag),
    "scifact": ("beir/scifact-train/supporting.jsonl", CLAIM, _scifact),
    "halueval": ("halueval-qa-500/qa_one_turn.jsonl", "short answer", lambda folder: _halueval),
}
"""The file of a set, the kind of its texts, and what reads its rows, given the folder that the file lies in."""
RIGHT: Mapping[str, tuple[str, str, Callable[[Path], Read]]] = {
    "halueval": ("halueval-qa-500/qa_one_turn.jsonl", "short answer", lambda folder: _right),
    "halueval-multi": ("halueval-qa-500/qa_multi_turn.jsonl", "short answer", lambda folder: _right),
    "mtrag": ("mtrag-faithfulness-dev/answers.jsonl", ANSWER, _complete),
}
"""The same for the task CORRECTNESS."""


def labelled(name: str, task: str = FAITHFULNESS) -> Labelled:
    """The set of that name, or at that path; DataError for what cannot be read or holds labels of one kind only."""
    sets = RIGHT if task == CORRECTNESS else KNOWN
    place, kind, reader = sets.get(name, (name, ANSWER, lambda folder: _own))
    path = Path(os.environ.get("RAG_DATA") or "$RAG_DATA", place) if name in sets else Path(place)
    try:
        content = path.read_bytes()
        text, read = content.decode("utf-8"), reader(path.parent)
    except (OSError, ValueError) as error:
        known = f"set RAG_DATA to the folder of public data, or data=<{'|'.join(sets)}|path.jsonl>"
        raise DataError(str(path), f"cannot be read ({getattr(error, 'strerror', None) or error})", known) from error
    found = list(_rows(text, path, read))
    if len({label for _, label, _ in found}) < 2:
        raise DataError(str(path), f"holds {len(found)} texts, not both supported and unsupported ones", "labels of both kinds")
    cases, labels, clusters = zip(*found, strict=True)
    title, digest = (name if name in sets else path.stem), hashlib.sha256(content).hexdigest()
    # Lines of an own file say what they call their texts; an answer where they do not.
    kinds = {kind} if name in sets else {str(json.loads(line).get("kind", ANSWER)) for line in text.split("\n") if line.strip()}
    return Labelled(title, digest, cases, labels, clusters, tuple(sorted(kinds)), task)


def _rows(text: str, path: Path, read: Read) -> Labels:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield from read(json.loads(line), number)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                what = f"has no {error}" if isinstance(error, KeyError) else f"does not fit: {error}"
                remedy = 'a line like {"text": …, "contexts": […], "supported": true}'
                raise DataError(f"{path}:{number}", what, remedy) from error


Weights = Mapping[str, float]


@runtime_checkable
class Fitted(Protocol):
    """A judge whose weights come from labels."""

    @property
    def weights(self) -> Weights:
        """The fitted weights."""
        ...

    @property
    def fitted_on(self) -> Mapping[str, Weights]:
        """The sha256 of every file of labels, and the weights that the other files give."""
        ...

    def measure(self, cases: Sequence[Case]) -> Floats:
        """The features of texts, one row per text."""
        ...

    def refitted(self, measures: Sequence[Floats], labels: Sequence[Sequence[bool]]) -> "Fitted":
        """The same judge with weights from the labels of several sets, which count alike."""
        ...

    def without(self, digest: str) -> Judge:
        """The judge with the weights of all files but this one."""
        ...


def fit(judge: Fitted, sets: Sequence[Labelled]) -> dict[str, Any]:
    """The `weights` of some sets together, and `fitted_on`, the weights without each set; empty for a single set."""
    measures = [judge.measure(one.cases) for one in sets]
    labels = [one.labels for one in sets]
    others = [[row for row in range(len(sets)) if row != own] for own in range(len(sets)) if len(sets) > 1]
    apart = [judge.refitted([measures[row] for row in rows], [labels[row] for row in rows]).weights for rows in others]
    fitted_on = {one.digest: dict(weights) for one, weights in zip(sets, apart or [{}], strict=True)}
    return {"weights": dict(judge.refitted(measures, labels).weights), "fitted_on": fitted_on}
