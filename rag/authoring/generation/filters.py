"""Filters of proposed questions. Each names the reason for which it drops a question."""

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from rag.authoring.candidates import Candidate, touches
from rag.authoring.generation.pages import Page
from rag.authoring.generation.probe import DEPTH, search_by_words
from rag.authoring.generation.proposals import MODEL
from rag.authoring.generation.titles import organisation, titles
from rag.authoring.generation.wording import Wording
from rag.core.roles import Searcher
from rag.core.text.stems import Stems
from rag.core.text.values.numbers import cardinal
from rag.core.types import Span
from rag.documents.anchors.quote_anchors import WORD
from rag.documents.anchors.rendered import occurrences
from rag.evaluation.data.validation import ALIKE

PER_PLACE = 2
"""The most questions about one sentence, row or list."""
COMPLETE = ("adversarial", "multi_hop", "unanswerable")
"""Kinds whose questions name what they need, or must not."""
NAMED = ("table", "comparison", "aggregation", "follow_up", "list")
"""Kinds whose questions, or whose first turns, name their document."""
WHOLE = ("rule:figure", "rule:change", "rule:no-period", "rule:attribute")
"""The rules whose questions name their subject themselves."""
STATED = ("factoid", "definition")
"""Kinds about one statement, which its document may hold again."""
SHORT = 5
"""The most words of a title in front of a colon."""
LONGEST, SHORTEST = 220, 8
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ufeff]|[{}<>|\\]|https?://|[*_#]{2}")
OPENS = re.compile(
    r"(?:Wh(?:at|o|en|ere|y|ich)|How|Is|Are|Do|Does|Did|Can|May|Must|Should|Will|Was|Were"
    r"|At|By|From|Until|Within|After|For|Below|Above|Up|To|Over|Under|Anything)\b"
)
NAME = re.compile(r"[A-Z][\w.&'’-]*[a-z\d](?: (?:of|de|von|van|the|and) | )[A-Z]\w+")
CODE = re.compile(r"\b[A-Z]{2,}[\w-]*|\b[A-Z]+[a-z]*\d[\w-]*|\d{4}")
"""Words that name a thing: two with a capital; letters in capitals, a code, a year."""
STUDIED = ("rule:number", "rule:measure", "rule:share", "rule:duration", "rule:frequency", "rule:relation")
"""Rules about what was counted: letters in capitals do not say in which study."""
PROPER = ("rule:role", "rule:body", "rule:based")
"""Rules whose questions name a person or an organisation: that of a filing is not added."""
FILED = tuple(f"rule:{name}" for name in ("date", "share", "number", "cost", "role", "body", "based", "place", "superlative"))
"""The rules about sentences of a filing that are asked; others ask for policies, or for a value of some period."""
TITLED = tuple(
    f"rule:{name}" for name in ("abbreviation", "reason", "condition", "known", "basis", "relation", "name", "defined")
)
"""Rules whose questions always name their document: without it readers accepted half of them or fewer."""


class Passages:
    """The passages of a corpus with the stems of each, and a search by words."""

    def __init__(self, pages: Sequence[Page], language: str) -> None:
        self.language, self._stems = language, Stems(language)
        self.spans = [span for page in pages for span in page.passages()]
        self.texts = {page.document.doc_id: page.document.text for page in pages}
        self._postings: dict[str, array[int]] = defaultdict(lambda: array("I"))
        for number, span in enumerate(self.spans):
            for stem in self.stems(self.text(span)):
                self._postings[stem].append(number)

    def text(self, span: Span) -> str:
        """The characters of a span."""
        return self.texts[span.doc_id][span.start : span.end]

    def stems(self, text: str) -> frozenset[str]:
        """The content stems of a text, numbers as digits."""
        return frozenset(cardinal(stem) or stem for stem in self._stems.of(text.replace("_", " ")))

    def holding(self, stems: Iterable[str]) -> set[int]:
        """The passages that hold all of the stems, of which there is at least one."""
        postings = sorted((self._postings.get(stem, array("I")) for stem in stems), key=len)
        found = set(postings[0]) if postings else set()
        for posting in postings[1:]:
            found = found & set(posting) if found else found
        return found

    @cached_property
    def _search(self) -> Searcher:
        return search_by_words([self.text(span) for span in self.spans], self.language)

    def found(self, text: str) -> list[Span]:
        """The first DEPTH passages of a search for a text."""
        return [self.spans[number] for number, _ in self._search.search([text], None, DEPTH).row(0)]


class Filters:
    """Decides about candidates one after the other, each compared with those that passed before."""

    def __init__(self, pages: Sequence[Page], passages: Passages, wording: Wording) -> None:
        self.pages = {page.document.doc_id: page for page in pages}
        self.passages, self.wording = passages, wording
        patterns = (str(wording.texts.get(name, "(?!)")) for name in ("exception", "goes_on"))
        self._exception, self._goes_on = (re.compile(pattern, re.IGNORECASE) for pattern in patterns)
        self._names = {page.document.doc_id: titles(page, wording) for page in pages}
        self._filings = {page.document.doc_id for page in pages if organisation(page, wording)}
        self.titles = Counter(title for each in self._names.values() for title in each)
        self._first: dict[str, list[frozenset[str]]] = defaultdict(list)
        self._places = Counter[Span]()

    def fitted(self, candidate: Candidate) -> Candidate | str:
        """A candidate that passes, with the name of its document where it needs one, or the reason for which it is dropped."""
        if reason := self._worded(candidate):
            return reason
        by_model = candidate.method.startswith(MODEL)  # Its words may all differ from those of the documents.
        if not by_model and candidate.kind not in COMPLETE and candidate.method not in WHOLE and self._needs_name(candidate):
            named = self._named(candidate)
            if named is None:
                return "no context"
            candidate = named
        if self.gives_away(candidate) and not candidate.expects:
            return "gives its answer away"
        if candidate.kind in STATED or candidate.method == "rule:figure":  # Other places that state the value are alternatives.
            own = candidate.documents if candidate.kind in STATED else self.pages
            alike = (span for span in self.elsewhere(candidate) if span.doc_id in own)
            candidate = replace(candidate, evidence=((*candidate.evidence[0], *alike),))
        reasons = (self._in_its_place, self._answered_elsewhere, self._twin)
        return next(filter(None, (reason(candidate) for reason in reasons)), candidate)

    def overlap(self, candidate: Candidate) -> float:
        """The share of its content stems that are in its evidence."""
        asked = self.passages.stems(candidate.text)
        return len(asked & self._evidence(candidate)) / len(asked) if asked else 0.0

    def gives_away(self, candidate: Candidate) -> bool:
        """True if the question holds its answer, or two thirds of one without a number of its own."""
        answer = self.passages.stems(candidate.answers[0]) if candidate.answers else frozenset()
        missing = answer - self.passages.stems(candidate.text)
        return bool(answer) and 3 * len(missing) <= len(answer) and not any(map(str.isdigit, missing))

    def elsewhere(self, candidate: Candidate) -> list[Span]:
        """Passages outside of the evidence with the answer and the words that question and evidence share."""
        if not candidate.answers or not candidate.evidence or candidate.expects:
            return []
        asked = self.passages.stems(candidate.text) & self._evidence(candidate)
        answer = self.passages.stems(candidate.answers[0])
        spans = [span for group in candidate.evidence for span in group]
        found = (self.passages.spans[number] for number in self.passages.holding(asked | answer)) if asked and answer else ()
        return [span for span in found if not any(touches(span, own) for own in spans)]

    def perhaps_elsewhere(self, candidate: Candidate, share: float = 0.4) -> bool:
        """True if one of the first passages of a search has the answer and a share of the question's words: a looser check."""
        if not candidate.answers or not candidate.evidence or candidate.expects:
            return False
        answer, asked = self.passages.stems(candidate.answers[0]), self.passages.stems(candidate.text)
        spans = [span for group in candidate.evidence for span in group]
        found = (span for span in self.passages.found(candidate.text) if not any(touches(span, own) for own in spans))
        held = (self.passages.stems(self.passages.text(span)) for span in found)
        return bool(answer) and any(answer <= stems and len(asked & stems) >= share * len(asked) for stems in held)

    def _evidence(self, candidate: Candidate) -> frozenset[str]:
        spans = [group[0] for group in candidate.evidence] or candidate.near
        return frozenset().union(*(self.passages.stems(self.passages.text(span)) for span in spans))

    def _worded(self, candidate: Candidate) -> str:
        shown = (candidate.text, *(candidate.answers if candidate.kind in ("definition", "factoid") else ()))
        is_long = not SHORTEST <= len(candidate.text) <= LONGEST
        if any(map(CONTROL.search, shown)) or is_long or not self.passages.stems(candidate.text):
            return "wording"
        for span in (span for group in candidate.evidence for span in group):
            text = self.passages.text(span)
            if not text.strip():
                return "wording"
            is_whole = candidate.kind in STATED or candidate.method in WHOLE
            if not is_whole and len(occurrences(self.passages.texts[span.doc_id], text, 2)) > 1:
                return "quote not unique"
        return ""

    def _needs_name(self, candidate: Candidate) -> bool:
        """True if the words of a question are in passages of other documents or sections, or name nothing in particular."""
        if candidate.method == "rule:definition" and len(candidate.text.split()) > 3:  # `What is Doom?` may be many things.
            return False
        if candidate.method in TITLED:
            return len(self.pages) > 1
        if candidate.documents[0] in self._filings and candidate.kind == "factoid" and candidate.method not in PROPER:
            return True
        if candidate.method in STUDIED and re.search(r"\b(?:was|were|did)\b", candidate.text):
            return True
        pattern = NAME if candidate.method in STUDIED else re.compile(f"{NAME.pattern}|{CODE.pattern}")
        has_name = bool(pattern.search(OPENS.sub("", candidate.text)))
        if len(self.pages) < 2 or candidate.kind in NAMED:
            return len(self.pages) > 1 or (candidate.kind == "factoid" and not re.search(r"\S [A-Z]\w\w", candidate.text))
        asked, own = self.passages.stems(candidate.text), set(candidate.documents)
        terms = asked & self._evidence(candidate)
        return not has_name or any(self.passages.spans[number].doc_id not in own for number in self.passages.holding(terms))

    def _named(self, candidate: Candidate) -> Candidate | None:
        """The question with the title of its document, None without a title in words that no other document has."""
        names = self._names[candidate.documents[0]]
        title = next((each for each in names if self.titles[each] <= 1), "")
        if not title or len(candidate.documents) > 1:
            return None
        question = candidate.history[0].text if candidate.history else candidate.text
        is_company = re.fullmatch(str(self.wording.texts.get("organisation", "(?!)")), title) is not None
        is_spoken = is_company and re.search(rf"\b{re.escape(title.split()[0].rstrip(',.'))}\b", question) is not None
        if is_spoken or self.passages.stems(title) <= self.passages.stems(question):
            return candidate
        if OPENS.match(question):
            question = question[:1].lower() + question[1:]
        is_long = (len(title.split()) > SHORT or ": " in title) and self.wording.has("context_long")
        text = self.wording.text("context_long" if is_long else "context", title=title, question=question)
        if candidate.history:
            return replace(candidate, history=(replace(candidate.history[0], text=text), *candidate.history[1:]))
        return replace(candidate, text=text)

    def _in_its_place(self, candidate: Candidate) -> str:
        """A question about a place that has enough, and a factoid whose sentence or the next one holds an exception."""
        if candidate.method.startswith(MODEL) or not candidate.evidence:
            return ""
        span = candidate.evidence[0][0]
        if span.doc_id in self._filings and candidate.kind == "factoid" and candidate.method not in FILED:
            return "no context"
        if self._places[span] >= PER_PLACE:
            return "enough about its place"
        if candidate.kind != "factoid":
            return ""
        text, whole = self.passages.text(span), self.passages.texts[span.doc_id]
        said = f"{candidate.text} {candidate.answers[0]}".casefold()
        is_told = all(word.casefold() in said for word in self._exception.findall(text))
        return "limited by its context" if self._goes_on.match(whole, span.end) or not is_told else ""

    def _answered_elsewhere(self, candidate: Candidate) -> str:
        return "answered elsewhere" if self.elsewhere(candidate) or self.perhaps_elsewhere(candidate) else ""

    def _twin(self, candidate: Candidate) -> str:
        """Remember the words of a question; a twin shares ALIKE of them, and its history, with an earlier one."""
        words = frozenset(WORD.findall(candidate.text.casefold())) | {turn.text for turn in candidate.history}
        ordered = sorted(words)
        near = {each for word in ordered for each in self._first[word]}
        if any(len(words & other) >= ALIKE * len(words | other) for other in near):
            return "twin"
        self._places.update(group[0] for group in candidate.evidence[:1])
        for word in ordered[: len(ordered) - math.ceil(ALIKE * len(ordered) - 1e-9) + 1]:
            self._first[word].append(words)
        return ""
