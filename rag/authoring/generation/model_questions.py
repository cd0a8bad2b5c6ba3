"""Questions that a model proposes about passages of the documents; code finds their evidence and refuses every other reply."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, islice, product
from pathlib import Path

from rag.authoring.candidates import Candidate
from rag.authoring.generation.model_passages import DOCUMENTS, Bounds, Passage, old_editions, pairs, passages, shuffled
from rag.authoring.generation.model_prompts import Kind, kinds, prompts
from rag.authoring.generation.model_replies import InvalidReplyError, ReplyReader, orders
from rag.authoring.generation.pages import Page
from rag.authoring.generation.proposals import Proposal, Refusal
from rag.core.errors import DataError, ServiceError
from rag.core.models.typed_reply import Typed, ask_typed
from rag.core.roles import Generator, fingerprint
from rag.core.text.templates import fill
from rag.core.types import Document, Message, Query, Request
from rag.documents.folder.json_rows import read_rows
from rag.documents.languages import language_of

ATTEMPTS = 2
"""Requests for one question: after a reply that is not valid the second one says what was wrong."""
BOUND = 12
"""After so many passages without a valid question a kind is given up, and the whole run if there is none of any kind."""
ROUNDS = 3
"""The most times that a passage is asked about for questions of one kind, each time by another person."""
PER_QUESTION = 4
"""The most passages that are asked about for one question, on average."""
HALF = 0.5
"""Below this overlap the words to avoid are named."""
LINKED, ALIKE, EDITIONS = Bounds(60, 0.0, 0.4, named=True), Bounds(50, 0.1, 0.9), Bounds(1000, 0.1, 0.98)
STYLE = 6
"""Questions that show a model how people ask."""
SHORTEST = 80
"""Characters of a passage that is worth a question."""
REFUSED = "was refused by the server of the model"


Drops = Callable[[Sequence[Candidate]], Sequence[str]]
"""The reason for which a filter drops each question, empty for one that passes."""


@dataclass
class Task:
    """A request for one question about passages, and the reasons why replies to it were not valid."""

    kind: Kind
    passages: Sequence[Passage]
    messages: tuple[Message, ...]
    wrong: list[str] = field(default_factory=list)

    def typed(self, reader: ReplyReader) -> Typed[Candidate]:
        """The request for a typed reply; its parser records why a reply is not valid."""

        def read(reply: str) -> Candidate:
            try:
                return reader.question(reply, self.kind, self.passages)
            except InvalidReplyError as error:
                self.wrong.append(error.reason)
                raise

        return Typed(Request(Query("", ""), (), self.messages), read)


class ModelQuestions:
    """Asks a generator for questions of the kinds of conf/generate.yaml.

    `style` are questions of the people who will ask; they replace the styles of the file. Requests depend on the documents, the
    file and the wanted numbers only, so that a run that is repeated finds its replies in the store. `drops` are the filters.
    """

    def __init__(
        self,
        documents: Mapping[str, Document],
        generator: Generator,
        language: str,
        style: Sequence[str] = (),
        drops: Drops = lambda found: [""] * len(found),
    ) -> None:
        self.generator, self.language, self.drops, self.prompts = generator, language, drops, prompts()
        self.kinds = kinds()
        self.reader = ReplyReader(language, self.prompts["speaks_of_passage"])
        self.styles = [fill(self.prompts["user_style"], {"examples": " / ".join(style)})] if style else self.prompts["styles"]
        self.author = fingerprint(generator).rpartition("@")[0] or fingerprint(generator)
        sampled = sorted(documents.values(), key=lambda document: sha256(document.doc_id.encode()).digest())[:DOCUMENTS]
        pages = [Page(document, language) for document in sampled]
        self.old = old_editions(pages)
        self.passages = [item for page in pages for item in passages(page)]

    @cached_property
    def in_force(self) -> list[Passage]:
        """The passages of all documents but old editions: a question about these would have two answers."""
        return [item for item in self.passages if item.doc_id not in self.old]

    def propose(self, wanted: Mapping[str, int]) -> Iterator[Proposal]:
        """Questions up to the wanted number of each kind that the file has, and a refusal for every reply that is none.

        ServiceError where no reply is valid. An error of the model's server and a spent budget end the run; the replies so far
        are in the store.
        """
        reasons, kept = Counter[str](), 0
        for name in (name for name in wanted if name in self.kinds):
            for made in self._of_kind(self.kinds[name], wanted[name]):
                kept += isinstance(made, Candidate)
                reasons.update([made.reason] if isinstance(made, Refusal) else [])
                if not kept and reasons.total() >= ATTEMPTS * BOUND:
                    raise _useless(reasons)
                yield made
        if reasons and not kept:
            raise _useless(reasons)

    def _of_kind(self, kind: Kind, count: int) -> Iterator[Proposal]:
        """The same passages are asked about for every size of a batch: as many as are missing, one batch after the other."""
        tasks = islice(self.tasks(kind), count * PER_QUESTION + BOUND)
        kept = tried = 0
        while kept < count and (batch := list(islice(tasks, min(count - kept, concurrency(self.generator))))):
            for made in self._asked(batch):
                kept += isinstance(made, Candidate)
                yield made
            tried += len(batch)
            if tried >= BOUND and not kept:
                return

    def _asked(self, tasks: Sequence[Task]) -> Iterator[Proposal]:
        asked = [task.typed(self.reader) for task in tasks]
        ask_typed(self.generator, asked, ATTEMPTS, self.prompts["again"], 0, falls_back=False)
        for task, each in zip(tasks, asked, strict=True):
            failed = [REFUSED] if each.failure else []
            yield from (Refusal(reason, f"model:{task.kind.name}") for reason in [*task.wrong, *failed])
        made = [replace(each.value, author=self.author) for each in asked if each.value]
        for question, reason in zip(made, self.drops(made), strict=True):
            yield Refusal(reason, question.method) if reason else question

    def tasks(self, kind: Kind) -> Iterator[Task]:
        """The requests for questions of a kind, in the order in which they are sent."""
        system = Message("system", fill(self.prompts["system"], {"ask": kind.ask}))
        example = (Message("user", kind.asks), Message("assistant", kind.replies))
        found = list(self._read_by(kind))
        for turn, (number, read) in product(range(ROUNDS), enumerate(found)):
            if any(each.action == "quarantine" for item in read for each in orders().findings(item.text)):
                continue
            targets = _targets(read[0]) if kind.names_unit else []
            if turn and turn >= len(targets):
                continue
            personas = self.prompts["personas"]
            values = {
                "passages": _numbered(read),
                "persona": personas[(number + turn) % len(personas)],
                "style": self.styles[(number // len(personas) + number + turn) % len(self.styles)],
                "language": language_of(read[0].page.document.text) or self.language,
                "target": self._target(kind, read[0], targets[turn]) if targets else "",
            }
            yield Task(kind, read, (system, *example, Message("user", fill(self.prompts["prompt"], values).strip())))

    def _target(self, kind: Kind, item: Passage, number: int) -> str:
        """The sentence that is asked about, and for a paraphrase the words to avoid: those of the sentence but for names."""
        words = dict.fromkeys(term for term in self.reader.stems.terms(item.quote(number)) if term.islower())
        values = {"number": str(number + 1), "words": ", ".join(words)}
        return fill(self.prompts["target_in_other_words" if kind.overlap < HALF and words else "target"], values)

    def _read_by(self, kind: Kind) -> Iterator[tuple[Passage, ...]]:
        """What a kind of question reads, in an order that takes turns between the documents."""
        if kind.reads in ("section", "table"):
            is_table = kind.reads == "table"
            long = (item for item in self.in_force if item.names or len(item.text) >= SHORTEST)
            fitting = [item for item in long if bool(item.names) == is_table]
            yield from ((item,) for item in shuffled(fitting, kind.name))
            return
        partners = {id(own): (own, other) for own, other in self._pairs(kind.reads)}
        yield from (partners[id(own)] for own in shuffled([own for own, _ in partners.values()], kind.name))

    def _pairs(self, relation: str) -> Iterator[tuple[Passage, Passage]]:
        """Passages with a partner: of a document that they name, of a similar section, or of the superseded edition."""
        found, language = self.in_force, self.language
        if relation == "linked":
            return pairs(found, language, lambda one, other: one.page is not other.page, LINKED)
        if relation == "alike":
            return pairs(found, language, lambda one, other: one.page is not other.page or one.path != other.path, ALIKE)
        found = [item for item in self.passages if item.doc_id in {*self.old, *self.old.values()}]
        return pairs(found, language, lambda one, other: self.old.get(other.doc_id) == one.doc_id, EDITIONS)


def style_of(path: Path) -> tuple[str, ...]:
    """Questions of a file in the native format that show how people ask, not more than STYLE; DataError without one."""
    texts = [row.name("text") for row in read_rows(path) if not row.rows("history")]
    if not texts:
        raise DataError(str(path), "has no questions", "name a questions.jsonl of the native format, or leave out --style-from")
    return tuple(texts[:: -(-len(texts) // STYLE)])


def concurrency(generator: Generator) -> int:
    """The requests that a generator sends at once: replies of a batch are stored together, so a batch is not larger."""
    return int(getattr(getattr(generator, "generator", generator), "concurrency", 1))


def _numbered(read: Sequence[Passage]) -> str:
    """The passages with their units numbered through."""
    starts = accumulate((len(item.units) for item in read), initial=1)
    return "\n\n".join(item.shown(first) for item, first in zip(read, starts, strict=False))


def _targets(item: Passage) -> list[int]:
    """The units that may be asked about, in an order that is the same every time: rows, and sentences of some length."""
    numbers = [number for number, (start, end) in enumerate(item.units) if item.names or end - start >= SHORTEST // 2]
    return sorted(numbers, key=lambda number: sha256(repr(item.span(number)).encode()).digest())


def _useless(reasons: Counter[str]) -> ServiceError:
    counts = ", ".join(f"{count} × {reason}" for reason, count in reasons.most_common())
    what = f"gave {reasons.total()} replies, and none is a question: {counts}"
    return ServiceError("generator", what, "name a stronger model: generator=…, or leave out --model; nothing is written")
