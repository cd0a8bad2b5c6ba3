"""One record per document, whose fields a chat model reads in the document; its replies are checked against the document."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rag.components.enrichers.drafts import Draft
from rag.components.enrichers.fields import declared
from rag.components.enrichers.replies import read, schema
from rag.components.enrichers.rules import filled, records_of
from rag.core.assessments import Spent
from rag.core.checks import check_whole
from rag.core.models.chat import Given, ask, spent
from rag.core.record_sets import Field, RecordSet
from rag.core.records import Chunk, Document, Hit, Message, Query, Request, Span
from rag.core.roles import Framing, Generator, Screen, fingerprint
from rag.core.text.templates import check_template, fill

BATCH = 64
"""Requests that are held in memory at a time."""
REPEATED = 2000
"""Characters of a reply that the second request repeats."""
PLACES = ("schema", "document")


class ModelEnricher:
    """Fills declared fields by a chat model, where the sources of a field state no value.

    A request asks for the JSON schema of the fields that are left; `source: roster` is never among them. A text, a date or a
    number must stand in the document, and a field with allowed values takes these only. A reply with a problem is answered once
    with `again`, {problem} filled in. What is wrong then is None and a failure.

    The model reads the first `document_chars` characters of a document, up to the end of a line. A field that it does not find
    in a cut document is a failure that says so. `framing` puts the document between marks. Documents in which `screen` finds
    orders to a model are not sent to it.
    """

    costly: ClassVar[bool] = True

    def __init__(
        self,
        generator: Generator,
        fields: Sequence[Mapping[str, Any]],
        instruction: str,
        prompt: str,
        again: str,
        framing: Framing,
        screen: Screen | None = None,
        document_chars: int = 8000,
        table: str = "documents",
        title: str = "",
    ) -> None:
        check_template("enrich.prompt", prompt, PLACES, PLACES)
        check_template("enrich.again", again, ("problem",), ("problem",))
        check_whole("enrich.document_chars", document_chars, 100)
        self.generator, self.fields, self.framing, self.screen = generator, declared(fields), framing, screen
        self.instruction, self.prompt, self.again, self.document_chars = instruction, prompt, again, document_chars
        self.table, self.title = table, title

    def fingerprint(self) -> str:
        """The fingerprint of the generator."""
        return fingerprint(self.generator)

    def enrich(self, documents: Sequence[Document]) -> RecordSet:
        """One record per document, in their order; its id is that of the document."""
        drafts = [filled(document, self.fields) for document in documents]
        cost = Spent()
        asked = [draft for draft in drafts if self._is_asked(draft)]
        for at in range(0, len(asked), BATCH):
            some = asked[at : at + BATCH]
            cost += self._ask([_Asked(draft, self._left(draft), self._shown(draft.document)) for draft in some])
        made = records_of(drafts, self.fields, self.table, self.title)
        return RecordSet(made.tables, made.failures, (), cost.tokens, cost.cost)

    def _left(self, draft: Draft) -> list[Field]:
        return [each.field for each in self.fields if not each.of_roster and each.field.name not in draft.values]

    def _is_asked(self, draft: Draft) -> bool:
        """True if a model may read the document of a draft for the fields that it lacks."""
        left = self._left(draft)
        if not left or not draft.document.text.strip():
            return False
        shown = self._shown(draft.document)
        hit = Hit(Chunk(Span(draft.document.doc_id, 0, len(shown)), shown), 1.0)
        found = self.screen.screen([Query("enrich", "")], [(hit,)])[0] if self.screen else []
        orders = [finding.what for finding in found if finding.action in ("quarantine", "abstain")]
        if orders:
            draft.failures |= {each.name: f"no model was asked, because of the document: {orders[0]}" for each in left}
        return not orders

    def _shown(self, document: Document) -> str:
        """The beginning of a document that a model reads."""
        text = document.text
        if len(text) <= self.document_chars:
            return text
        end = text.rfind("\n", self.document_chars // 2, self.document_chars)
        return text[: end if end > 0 else self.document_chars]

    def _ask(self, asked: Sequence["_Asked"]) -> Spent:
        """Fill the drafts by one request each, and a second one for those whose reply has a problem."""
        requests = [self._request(each) for each in asked]
        replies = ask(self.generator, requests)
        cost = sum((Spent(*spent(reply)) for reply in replies), Spent())
        retried: list[tuple[_Asked, Request]] = []
        for each, request, reply in zip(asked, requests, replies, strict=True):
            problems = each.take(reply)
            if problems and not isinstance(reply, str):
                said = "; ".join(f"{name} {why}" for name, why in problems.items())
                correction = Message("user", fill(self.again, {"problem": said[:REPEATED]}))
                turns = (*request.messages, Message("assistant", reply.text[:REPEATED]), correction)
                retried.append((each, Request(request.query, (), turns)))
        for (each, _), reply in zip(retried, ask(self.generator, [request for _, request in retried]), strict=True):
            each.take(reply)
            cost += Spent(*spent(reply))
        for each in asked:
            each.end()
        return cost

    def _request(self, asked: "_Asked") -> Request:
        query = Query(asked.draft.document.doc_id, "")
        framed = self.framing.frame(query, [asked.text])
        wanted = json.dumps(schema(asked.fields), ensure_ascii=False)
        parts = [fill(self.prompt, {"schema": wanted, "document": framed.contexts[0]}), framed.after]
        system = Message("system", "\n\n".join(filter(None, (self.instruction, framed.before))))
        return Request(query, (), (system, Message("user", "\n\n".join(filter(None, parts)))))


class _Asked:
    """A document of which a model is asked for some fields, by the text that it reads."""

    def __init__(self, draft: Draft, fields: Sequence[Field], text: str) -> None:
        self.draft, self.fields, self.text = draft, fields, text
        self.unstated: set[str] = set()
        self.problems: dict[str, str] = {}

    def take(self, reply: Given) -> dict[str, str]:
        """Fill the draft with what a reply states; return what is wrong with the reply, by field."""
        if isinstance(reply, str):
            self.problems = self.problems or {each.name: f"the model gave no reply: {reply}" for each in self.fields}
            return self.problems
        found = read(reply.text, self.fields, self.text)
        for name, (value, place) in found.values.items():
            if name not in self.draft.values:
                self.draft.state(name, value, place)
        self.unstated |= found.unstated
        self.problems = found.problems
        return found.problems

    def end(self) -> None:
        """List the failures of the fields that are not filled, and those that the model invented."""
        size, read = len(self.draft.document.text), len(self.text)
        cut = f"does not stand in the first {read:,} of {size:,} characters, which is all that was read"
        said = dict.fromkeys(self.unstated, cut) if read < size else {}
        self.draft.failures |= {name: why for name, why in (said | self.problems).items() if name not in self.draft.values}
