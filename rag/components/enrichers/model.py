"""One record per document, whose fields a chat model reads in the document; its replies are checked against the document."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any, ClassVar

from rag.components.enrichers.fields import Draft, declared, drafts, records_of
from rag.core.assessments import Spent
from rag.core.checks import check_whole
from rag.core.models.typed_reply import Typed, ask_typed, json_object
from rag.core.records.sets import Cell, Field, RecordSet
from rag.core.roles import Framing, Generator, Screen
from rag.core.text.cells import DATE, date
from rag.core.text.field_values import UnfitError, fitted, shown
from rag.core.text.templates import check_template, fill
from rag.core.text.values.numbers import values
from rag.core.types import Chunk, Document, Hit, Message, Query, Request, Span

BATCH = 64
"""Documents whose requests are held in memory at a time."""
TRIES = 2
"""Requests for a document: the second one says what is wrong with the first reply."""
REPEATED = 2000
"""Characters of a reply that the second request repeats."""
PLACES = ("schema", "document")


@dataclass
class ModelEnricher:
    """Fills declared fields by a chat model, where the sources of a field state no value.

    A request asks for the JSON schema of the fields that are left; `source: roster` is never among them. A text, a date or a
    number must stand in the document, and a field with allowed values takes these only. A field that is `inferred` takes a line
    of text, or words that need not stand there. A reply with a problem is answered once with `again`, {problem} filled in. What
    is wrong then is None and a failure.

    The model reads the first `document_chars` characters of a document, up to the end of a line. A field that it does not find
    in a cut document is a failure that says so. `framing` puts the document between marks. Documents in which `screen` finds
    orders to a model are not sent to it.
    """

    generator: Generator
    fields: Sequence[Mapping[str, Any]]
    instruction: str
    prompt: str
    again: str
    framing: Framing
    screen: Screen | None = None
    document_chars: int = 8000
    table: str = "documents"
    title: str = ""
    costly: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_template("enrich.prompt", self.prompt, PLACES, PLACES)
        check_template("enrich.again", self.again, ("problem",), ("problem",))
        check_whole("enrich.document_chars", self.document_chars, 100)
        self.declared = declared(self.fields)

    def enrich(self, documents: Sequence[Document]) -> RecordSet:
        """One record per document, in their order; its id is that of the document."""
        took: list[Spent] = []
        made = records_of(self._drafts(documents, took), self.declared, self.table, self.title)
        cost = sum(took, Spent())
        return RecordSet(made.tables, made.failures, (), cost.tokens, cost.cost)

    def _drafts(self, documents: Sequence[Document], took: list[Spent]) -> Iterator[Draft]:
        """The finished drafts; `took` gets what each reply took."""
        made = drafts(documents, self.declared)
        while batch := [*islice(made, BATCH)]:
            asked = [each for each in map(self._asked, batch) if each]
            requests = [Typed(each.request, each.read) for each in asked]
            replies = ask_typed(self.generator, requests, TRIES, self.again, REPEATED)
            for each, reply in zip(asked, replies, strict=True):
                each.list_failures(reply.failure)
                took.append(reply.spent)
            yield from batch

    def _asked(self, draft: Draft) -> "_Asked | None":
        """The request for the fields that a draft lacks; None if there are none, and if the document gives orders."""
        left = [each.field for each in self.declared if not each.of_roster and each.field.name not in draft.values]
        text = draft.document.text
        if len(text) > self.document_chars:
            end = text.rfind("\n", self.document_chars // 2, self.document_chars)
            text = text[: end if end > 0 else self.document_chars]
        if not left or not text.strip():
            return None
        query, chunk = Query(draft.document.doc_id, ""), Chunk(Span(draft.document.doc_id, 0, len(text)), text)
        found = self.screen.screen([query], [(Hit(chunk, 1.0),)])[0] if self.screen else []
        if orders := next((finding.what for finding in found if finding.action in ("quarantine", "abstain")), ""):
            draft.failures |= {each.name: f"no model was asked, because of the document: {orders}" for each in left}
            return None
        framed = self.framing.frame(query, [text])
        wanted = json.dumps(schema(left), ensure_ascii=False)
        asked = fill(self.prompt, {"schema": wanted, "document": framed.contexts[0]})
        system, user = (
            "\n\n".join(filter(None, parts)) for parts in ((self.instruction, framed.before), (asked, framed.after))
        )
        return _Asked(draft, left, text, Request(query, (), (Message("system", system), Message("user", user))))


@dataclass
class _Asked:
    """A document of which a model is asked for some fields, by the text that it reads."""

    draft: Draft
    fields: Sequence[Field]
    text: str
    request: Request
    unstated: set[str] = field(default_factory=set)
    wrong: dict[str, str] = field(default_factory=dict)

    def read(self, reply: str) -> None:
        """Fill the draft with what a reply states; ValueError if something is wrong with it."""
        unstated, self.wrong = read(reply, self.fields, self.text, self.draft)
        self.unstated |= unstated
        if self.wrong:
            raise ValueError("; ".join(f"{name} {why}" for name, why in self.wrong.items()))

    def list_failures(self, failure: str) -> None:
        """List the fields that are not filled, and those that the model invented; `failure` is why there was no reply."""
        if failure:
            self.wrong = {each.name: f"the model gave no reply: {failure}" for each in self.fields}
        size, read = len(self.draft.document.text), len(self.text)
        cut = f"does not stand in the first {read:,} of {size:,} characters, which is all that was read"
        said = (dict.fromkeys(self.unstated, cut) if read < size else {}) | self.wrong
        self.draft.failures |= {name: why for name, why in said.items() if name not in self.draft.values}


TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "text": ("string", (str,)),
    "date": ("string", (str,)),
    "number": ("number", (int, float)),
    "boolean": ("boolean", (bool,)),
    "list": ("array", (list,)),
}
"""Type of a field → its type in JSON schema and in Python."""
INFERRED = re.compile(r"[^\[\]<>{}|`]{1,300}"), re.compile(r"[\w&'’-]+(?: [\w&'’-]+){0,3}")
"""The form of inferred values: one line of text, and an item of a list, which is a word or a few."""


def schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The JSON schema of a reply: an object with each field and no others, null for what a document does not state."""
    properties = {each.name: _property(each) for each in fields}
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _property(each: Field) -> dict[str, Any]:
    made: dict[str, Any] = {"type": [TYPES[each.type][0], "null"]}
    if each.type == "list":
        made["items"] = {"enum": [*each.allowed]} if each.allowed else {"type": "string"}
    elif each.allowed:
        made["enum"] = [*each.allowed, None]
    said = " in ".join(filter(None, (each.description, each.unit)))
    return made | ({"description": said} if said else {})


def read(reply: str, fields: Sequence[Field], text: str, draft: Draft) -> tuple[set[str], dict[str, str]]:
    """Fill a draft with a reply about a text; return the fields that are null, and by field what is wrong.

    A value of another type, one that is not allowed, and a text, date or number that does not stand in the text are wrong.
    """
    try:
        content = json_object(reply)
    except ValueError as error:
        return set(), {each.name: f"the reply {error}"[:200] for each in fields}
    known = {each.name for each in fields}
    wrong = {name[:60]: "is in the reply, and is no field that was asked for" for name in content if name not in known}
    wrong |= {name: "is missing in the reply" for name in known - content.keys()}
    unstated = {name for name in known & content.keys() if content[name] in (None, "")}
    for each in fields:
        if each.name not in wrong and each.name not in unstated:
            try:
                place = _checked(each, content[each.name], text)
            except UnfitError as error:
                wrong[each.name] = str(error)
            else:
                draft.take(each, content[each.name], place)
    return unstated, wrong


def _checked(each: Field, value: Any, text: str) -> tuple[int, int] | None:
    """The characters of a text that state a value, where they are known; UnfitError for a value that is wrong."""
    items = value if isinstance(value, list) else [value]
    is_typed = isinstance(value, TYPES[each.type][1]) and (each.type == "boolean" or not isinstance(value, bool))
    if not is_typed or (each.type == "list" and any(not isinstance(item, str) for item in items)):
        raise UnfitError(f"is {shown(value)}, which is no {each.type}{' of texts' * (each.type == 'list')}")
    cell = fitted(each, value)
    found = cell if isinstance(cell, tuple) else (cell,)
    if each.inferred and not all(INFERRED[each.type == "list"].fullmatch(str(item)) for item in found):
        raise UnfitError(f"is {shown(value)}, which is too long, or holds other signs than a {each.type} has here")
    if each.allowed or each.type == "boolean" or each.inferred:
        return None
    places = [_place(each, item, text) for item in found]
    if None in places:
        raise UnfitError(f"is {shown(value)}, which does not stand in the document")
    return places[0] or None


def _place(each: Field, cell: Cell, text: str) -> tuple[int, int] | tuple[()] | None:
    """The characters of a text that state a value; () if they are not known, None if it does not stand there."""
    if each.type == "number":
        return () if f"{Decimal(str(cell)).copy_abs().normalize():f}" in values(text) else None
    if each.type == "date":
        stated = (match.span() for match in DATE.finditer(text) if (date(match[0]) or "").startswith(str(cell)))
        return next(stated, () if str(cell) in re.split(r"\W+", text) else None)
    words = r"\s+".join(map(re.escape, str(cell).split()))
    found = re.search(rf"(?:(?<!\w)|(?=\W)){words}(?:(?!\w)|(?<=\W))", text, re.IGNORECASE)
    return found.span() if found else None
