"""Filters of proposed questions. Each names the reason for which it drops a question."""

import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property

from rag.authoring.candidates import Candidate, touches
from rag.authoring.generation.pages import Page
from rag.authoring.generation.probe import DEPTH, search_by_words
from rag.authoring.generation.proposals import MODEL
from rag.authoring.generation.wording import Wording, head_title, short_title
from rag.core.roles import Searcher
from rag.core.text.stems import Stems
from rag.core.text.values.numbers import cardinal
from rag.core.types import Span
from rag.documents.anchors.quote_anchors import WORD
from rag.documents.anchors.rendered import occurrences
from rag.evaluation.data.validation import ALIKE

# What each bound drops of the proposals that are looked at for 100 questions, in the handbook, squad2-a and 500 texts of
# cranfield, is measured by taking it away.
OVERLAP = {"definition": 1.0, "comparison": 1.0, "aggregation": 1.0, "list": 1.0, "topic": 0.85, "paraphrase": 0.34}
"""The most that a question may share with its evidence: the share of its content stems. Others: MOST_SHARED."""
PARTICULAR = 4
"""A question without a name needs so many content stems that only its document holds together: drops 0, 0 and 12."""
FEW = 4
"""A question of so few content words copies no sentence: without it 57 more are dropped in the handbook, mostly of tables."""
MOST_SHARED = 0.85
"""People share up to this much in three of four questions of SQuAD 2.0 (.88) and mtRAG (.86)."""
COMPLETE = ("adversarial", "multi_hop", "unanswerable")
"""Kinds whose questions name what they need, or must not."""
NAMED = ("table", "comparison", "aggregation", "follow_up", "list", "topic")
"""Kinds whose questions, or whose first turns, name their document."""
TITLE = 0.75
"""The most of its content stems that may be in the title of its document: drops 4, 0 and 3."""
WORDS, LONG, MOST_WORDS = 5, 7, 0.75
"""A factoid has the words of its sentence if LONG are in the same order, or WORDS that are MOST_WORDS of it but its answer.

Drops 17, 33 and 20; WORDS and MOST_WORDS alone 6, 6 and 5.
"""
LONGEST, SHORTEST = 220, 8
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ufeff]|[{}<>|\\]|https?://|[*_#]{2}")
QUESTION = re.compile(
    r"(?:What|Who|When|Where|Why|How|Which|At|By|From|Until|Within|After|For|Below|Above|Up|To|Over|Under|Anything)\b"
)
VAGUE = re.compile(r"[A-Z]{2,}|\d{3,}|\B[A-Z]|(?<=[a-z,] )[A-Z][\w.]{2}")


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

    def words(self, text: str) -> list[str]:
        """The stems of all words of a text, in their order."""
        return self._stems.stems(WORD.findall(text))

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
    """Decides about candidates one after the other, each compared with those that passed before.

    With `must_find` a search by words must find the evidence among the first DEPTH passages.
    """

    def __init__(self, pages: Sequence[Page], passages: Passages, wording: Wording, must_find: bool = True) -> None:
        self.must_find = must_find
        self.pages = {page.document.doc_id: page for page in pages}
        self.passages, self.wording = passages, wording
        patterns = (str(wording.texts.get(name, "(?!)")) for name in ("exception", "goes_on", "further"))
        self._exception, self._goes_on, self._further = (re.compile(pattern, re.IGNORECASE) for pattern in patterns)
        titles = ({page.title, short_title(page.title), head_title(page.title)} for page in pages)
        self.titles = Counter(title for each in titles for title in each)
        self._first: dict[str, list[frozenset[str]]] = defaultdict(list)

    def fitted(self, candidate: Candidate) -> Candidate | str:
        """A candidate that passes, with the name of its document where it needs one, or the reason for which it is dropped."""
        if reason := self._worded(candidate):
            return reason
        by_model = candidate.method.startswith(MODEL)  # Its words may all differ from those of the documents.
        complete = by_model or candidate.kind in COMPLETE
        named = None if complete else self._named(candidate)
        if named is not None and (self._needs_name(candidate) or self.overlap(candidate) > MOST_SHARED):
            candidate = named
        elif not complete and self._needs_name(candidate):
            return "no context"
        if self.gives_away(candidate) and not candidate.expects:
            return "gives its answer away"
        found = () if by_model or not self.must_find else (self._lost,)
        reasons = (self._overlaps, self._in_its_place, self._answered_elsewhere, *found, self._twin)
        return next(filter(None, (reason(candidate) for reason in reasons)), candidate)

    def overlap(self, candidate: Candidate) -> float:
        """The share of its content stems that are in its evidence."""
        asked = self.passages.stems(candidate.text)
        return len(asked & self._evidence(candidate)) / len(asked) if asked else 0.0

    def gives_away(self, candidate: Candidate) -> bool:
        """True if the question holds its answer."""
        answer = self.passages.stems(candidate.answers[0]) if candidate.answers else frozenset()
        return bool(answer) and answer <= self.passages.stems(candidate.text)

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
            if len(occurrences(self.passages.texts[span.doc_id], text, 2)) > 1 or not text.strip():
                return "quote not unique"
        return ""

    def _needs_name(self, candidate: Candidate) -> bool:
        """True if the words of a question are in passages of other documents or sections, or name nothing in particular."""
        has_name = bool(VAGUE.search(candidate.text))
        if len(self.pages) < 2 or candidate.kind in NAMED:
            return len(self.pages) > 1 or (candidate.kind == "factoid" and not has_name)
        asked, own = self.passages.stems(candidate.text), set(candidate.documents)
        terms = asked & self._evidence(candidate)
        return len(terms) < (1 if has_name else PARTICULAR) or any(
            self.passages.spans[number].doc_id not in own for number in self.passages.holding(terms)
        )

    def _named(self, candidate: Candidate) -> Candidate | None:
        """The question with the title of its document, None without a short title that no other document has."""
        whole = self.pages[candidate.documents[0]].title
        titles = [head_title(whole), short_title(whole), whole]
        title = next((title for title in titles if self.titles[title] <= 1 and any(map(str.isalpha, title))), "")
        if not title or len(title.split()) > 8 or len(candidate.documents) > 1:
            return None
        question = candidate.history[0].text if candidate.history else candidate.text
        if self.passages.stems(title) <= self.passages.stems(question):
            return candidate
        if QUESTION.match(question):
            question = question[:1].lower() + question[1:]
        is_last = ": " in title + question and self.wording.has("context_after")
        text = self.wording.text("context_after" if is_last else "context", title=title, question=question)
        if candidate.history:
            return replace(candidate, history=(replace(candidate.history[0], text=text), *candidate.history[1:]))
        return replace(candidate, text=text)

    def _overlaps(self, candidate: Candidate) -> str:
        asked = self.passages.stems(candidate.text)
        if len(asked) > FEW and self.overlap(candidate) > OVERLAP.get(candidate.kind, MOST_SHARED):
            return "words of its evidence"
        title = self.passages.stems(self.pages[candidate.documents[0]].title)
        return "words of the title" if asked and len(asked & title) / len(asked) > TITLE else ""

    def _in_its_place(self, candidate: Candidate) -> str:
        """A factoid of a rule that copies its sentence, or whose sentence or the next one holds an exception."""
        if candidate.kind != "factoid" or candidate.method.startswith(MODEL):
            return ""
        span = candidate.evidence[0][0]
        text, whole = self.passages.text(span), self.passages.texts[span.doc_id]
        told, asked = (self.passages.words(each) for each in (text.replace(candidate.answers[0], " "), candidate.text))
        same = sum(block.size for block in SequenceMatcher(None, asked, told, autojunk=False).get_matching_blocks())
        if same >= LONG or same >= max(WORDS, MOST_WORDS * len(told)):
            return "words of its evidence"
        said = f"{candidate.text} {candidate.answers[0]}".casefold()
        is_told = all(word.casefold() in said for word in self._exception.findall(text))
        goes_on = self._goes_on.match(whole, span.end) or (" need?" in said and self._further.match(whole, span.end))
        return "limited by its context" if goes_on or not is_told else ""

    def _answered_elsewhere(self, candidate: Candidate) -> str:
        return "answered elsewhere" if self.elsewhere(candidate) or self.perhaps_elsewhere(candidate) else ""

    def _lost(self, candidate: Candidate) -> str:
        """A question whose own passage a search by words does not find; what a history says belongs to it."""
        if not candidate.evidence:
            return ""
        found = self.passages.found(candidate.conversation)
        is_found = all(any(touches(span, place) for span in group for place in found) for group in candidate.evidence)
        return "" if is_found else "not found by its words"

    def _twin(self, candidate: Candidate) -> str:
        """Remember the words of a question; a twin shares ALIKE of them, and its history, with an earlier one."""
        words = frozenset(WORD.findall(candidate.text.casefold())) | {turn.text for turn in candidate.history}
        ordered = sorted(words)
        near = {each for word in ordered for each in self._first[word]}
        if any(len(words & other) >= ALIKE * len(words | other) for other in near):
            return "twin"
        for word in ordered[: len(ordered) - math.ceil(ALIKE * len(ordered) - 1e-9) + 1]:
            self._first[word].append(words)
        return ""
