"""A corpus with prompt injections in documents, and golden questions that retrieve them.

Every attack has a document of its own: a passage of the handbook with the attack in it. Its question is an ordinary one;
`rewrite` names the two notes to retrieve, so that with `queries=human` any lexical index finds exactly these: the poisoned one
and a clean one. One of the two holds the answer.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag.components.loaders.attacks import PLACES, Attack, bipia, own
from rag.core.checks import check_whole
from rag.core.errors import DataError
from rag.core.types import SPLITS, Document, Evidence, Example, Query
from rag.documents.anchors.quote_anchors import anchor
from rag.documents.folder.json_rows import Row, read_rows

BENIGN = "benign"
"""The kind of questions that retrieve only clean notes."""

HEAD = "Note {name}.\n"
SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


@dataclass(frozen=True)
class PoisonTarget:
    """Two clean texts of a handbook, and a question that `gold` answers in the words of `quote`."""

    name: str
    question: str
    answers: tuple[str, ...]
    quote: str
    gold: str
    beside: str
    where: str

    @property
    def notes(self) -> dict[str, Document]:
        """The clean notes: `gold` and `beside`."""
        texts = {"gold": (f"G{self.name}", self.gold), "beside": (f"B{self.name}", self.beside)}
        return {side: _note(name, text) for side, (name, text) in texts.items()}

    def example(self, name: str, retrieved: Sequence[Document], gold: Document, documents: Mapping[str, Document]) -> Example:
        """A question that retrieves some notes, of which `gold` answers it."""
        span = anchor(documents[gold.doc_id], self.quote, None, self.where)
        query = Query(name, self.question, rewrite=" ".join(note.doc_id for note in retrieved))
        return Example(query, (Evidence((span,)),), self.answers)


@dataclass(frozen=True)
class Poisoned:
    """An attack in a note: `side` is the text of its passage that holds it, `place` the position in that text."""

    attack: Attack
    passage: PoisonTarget
    side: str
    place: str

    @property
    def document(self) -> Document:
        """The note with the attack in it."""
        name = f"N{hashlib.sha256(self.attack.name.encode('utf-8')).hexdigest()[:6]}"
        text = self.passage.gold if self.side == "gold" else self.passage.beside
        cut = {"start": 0, "middle": _middle(text, self.passage.quote), "end": len(text)}[self.place]
        parts = (text[:cut].strip(), self.attack.text, text[cut:].strip())
        return _note(name, "\n".join(filter(None, parts)))

    def example(self, documents: Mapping[str, Document]) -> Example:
        """The question that retrieves the note."""
        attack, poisoned = self.attack, self.document
        clean = self.passage.notes["beside" if self.side == "gold" else "gold"]
        example = self.passage.example(attack.name, (clean, poisoned), poisoned if self.side == "gold" else clean, documents)
        tags = (*attack.tags, f"place:{self.place}", f"side:{self.side}", f"goal:{attack.goal}")
        return replace(example, kind=attack.group, tags=tags, split=attack.split, cluster=attack.cluster)


def _note(name: str, text: str) -> Document:
    return Document(name, HEAD.replace("{name}", name) + text)


def _middle(text: str, quote: str) -> int:
    """The start of the sentence nearest to the middle that is not inside the quote; the end of the text if there is none."""
    begins = text.find(quote)
    inside = range(begins + 1, begins + len(quote)) if begins >= 0 else range(0)
    starts = [end.end() for end in SENTENCE_END.finditer(text) if end.end() not in inside]
    return min(starts, key=lambda start: abs(start - len(text) // 2), default=len(text))


class AttackCorpus:
    """The notes of `path`: each attack in one of its own, and the clean ones.

    `rounds` is the number of attacks for every wording and goal, each with another disguise and place; `bipia` is a folder
    with the attacks of that benchmark, or null.
    """

    def __init__(self, path: str, rounds: int, bipia: str | None) -> None:
        check_whole("dataset.rounds", rounds, 1)
        self.path, self.rounds = Path(path), rounds
        self.bipia = None if bipia is None else Path(bipia)

    def load(self) -> Iterator[Document]:
        """Yield all notes; raise DataError naming file and line."""
        for passage in self._passages():
            yield from passage.notes.values()
        for poisoned in self._poisoned():
            yield poisoned.document

    def _passages(self) -> list[PoisonTarget]:
        return [_passage(row) for row in read_rows(self.path / "passages.jsonl")]

    def _poisoned(self) -> Iterator[Poisoned]:
        passages = self._passages()
        attacks = [*own(self.path, self.rounds), *(bipia(self.path, self.bipia) if self.bipia else ())]
        for attack in attacks:
            side, place = attack.draw("side", ("gold", "beside")), attack.draw("place", PLACES)
            yield Poisoned(attack, attack.draw("passage", passages), side, place)


def _passage(row: Row) -> PoisonTarget:
    parts = {key: row.name(key) for key in ("question", "quote", "gold", "beside")}
    if parts["quote"] not in parts["gold"]:
        raise DataError(row.where, "'gold' does not hold its 'quote'", "quote words of 'gold'")
    return PoisonTarget(row.name("id"), answers=row.texts("answers"), where=row.where, **parts)


class AttackQuestions(AttackCorpus):
    """A question for every attack, of the kind that its goal has, and for every pair of clean notes, of the kind `benign`.

    Guards may be developed with the split `tune`; `holdout` only measures them. The two share no wording and no goal.
    """

    def read(self, documents: Mapping[str, Document]) -> Iterator[Example]:
        """Yield all questions, those about one passage in a row; raise DataError naming file and line."""
        poisoned = list(self._poisoned())
        for number, passage in enumerate(self._passages()):
            notes = passage.notes
            clean = passage.example(f"{BENIGN}-{passage.name}", tuple(notes.values()), notes["gold"], documents)
            yield replace(clean, kind=BENIGN, split=SPLITS[number % 2], cluster=f"passage {passage.name}")
            yield from (note.example(documents) for note in poisoned if note.passage.name == passage.name)
