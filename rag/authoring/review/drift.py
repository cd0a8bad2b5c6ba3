"""Drift of a golden set: the questions that a changed document touches, and where their quotes could be anchored again."""

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from rag.authoring.candidates import Row, digests, place_row
from rag.components.judges.opposites import OPPOSITES
from rag.components.loaders.native_questions import NativeQuestions
from rag.core.errors import DataError, UserError
from rag.core.roles import Loader
from rag.core.text.values.words import Word, words
from rag.core.types import Document, Span, spans_of
from rag.documents.anchors.lost_quotes import Quoted
from rag.documents.anchors.quote_anchors import WORD, nearest, place_of, places_in, whole_sentences
from rag.documents.folder.file_tree import SkippedWarning
from rag.documents.folder.json_rows import as_row, read_rows
from rag.evaluation.data.golden import documents_of

State = Literal["there", "moved", "reworded", "changed", "gone"]
ALIKE = 0.6
"""Least similarity of a quote and its new words in one document, chosen on edits of two sets (`sets.drift` of tests/bench)."""
SURE = 0.85
"""The same for another document, and where two facts or more are missing: such sentences are often about another matter."""
TRIES = 3
"""Stretches of a document that are compared with a quote: the one that shares most words may have them in another order."""
LETTERS = 4
"""Letters from which a word of an answer is a fact, and a word of a quote is searched: shorter ones are mostly articles."""
SPACE = re.compile(r"\s|\Z")
FACTS = ("number", "month", "name", "negation")


@dataclass(frozen=True, slots=True)
class Drift:
    """What became of a quote, or of a document without one, since its question was made.

    `there`: the document has changed and still has the quote. `moved`: the quote is in other documents, `to`. `reworded`: `new`
    are the most similar whole sentences, in the document `to`. `changed`: so are these, and `facts` differ: numbers, names,
    negations or words of the answer, old and new. `gone`: no sentence is similar enough. `alike` is a similarity from 0 to 1.
    """

    query_id: str
    state: State
    doc_id: str
    quote: str = ""
    to: tuple[str, ...] = ()
    new: str = ""
    span: tuple[int, int] = (0, 0)
    alike: float = 1.0
    facts: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    def anchored(self, place: Row, documents: Mapping[str, Document]) -> Row:
        """A place with the new words if its quote was only reworded, else the place itself."""
        if self.state != "reworded":
            return place
        kept = {key: value for key, value in place.items() if key not in ("start", "end", "page")}
        return kept | place_row(documents[self.to[0]], Span(self.to[0], *self.span))


def drifts(rows: Iterable[Row], documents: Mapping[str, Document]) -> Iterator[Drift]:
    """The drift of every quote that is lost or whose document is not the one that the provenance of its question names."""
    now: dict[str, str] = {}
    for row in rows:
        before = recorded(row)
        for name in (name for name in before if name in documents and name not in now):
            now |= digests([name], documents)
        touched = {name for name, digest in before.items() if now.get(name) != digest}
        places = list(quoted_places(row))
        for place in places:
            found = drift_of(row, place, documents)
            if found or place["doc"] in touched:
                yield found or Drift(str(row.get("id")), "there", place["doc"], place["quote"])
        for name in sorted(touched - {place["doc"] for place in places}):
            yield Drift(str(row.get("id")), "there" if name in documents else "gone", name)


def drift_of_set(loader: Loader, questions: NativeQuestions, broken: bool) -> tuple[list[Drift], dict[str, int]]:
    """The drift of a set, also of one that cannot be loaded, and the number of questions that wait for a review by method.

    Documents are read only if a question names their digests, or if the set is `broken`.
    """
    paths, found = [path for name in questions.questions if (path := questions.path / name).is_file()], list[Drift]()
    rows = [dict(row.fields) for path in paths for row in read_rows(path, [])]
    waiting = Counter(str(row["provenance"].get("method", "")) for row in rows if waits(row))
    if broken or any(map(recorded, rows)):
        with warnings.catch_warnings(), suppress(UserError):
            warnings.simplefilter("ignore", SkippedWarning)
            found = list(drifts(rows, documents_of(loader)))
    return found, dict(sorted(waiting.items()))


def waits(row: Mapping[str, Any]) -> bool:
    """Whether a question has a provenance that does not say who accepted it."""
    made = row.get("provenance")
    return isinstance(made, dict) and not made.get("accepted")


def recorded(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The digests of documents in the provenance of a question, by name; empty if there are none."""
    made = row.get("provenance")
    found = made.get("documents") if isinstance(made, dict) else None
    return found if isinstance(found, dict) else {}


def quoted_places(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The places with a quote in a line of a file of questions; other parts of the line may be invalid."""
    groups = row.get("evidence")
    for group in groups if isinstance(groups, list) else ():
        yield from (place for place in places_of(group) if isinstance(place.get("quote"), str))


def places_of(group: Any) -> Iterator[dict[str, Any]]:
    """The places of a group of evidence that name a document."""
    places = group.get("any") if isinstance(group, dict) else None
    for place in places if isinstance(places, list) else ():
        if isinstance(place, dict) and isinstance(place.get("doc"), str):
            yield place


def span_at(place: Row, documents: Mapping[str, Document]) -> Span:
    """The characters of a quote, from its first piece to its last; DataError if it has no place."""
    row = as_row(place, "evidence")
    offsets = (row.whole("start"), row.whole("end")) if row.has("start") and row.has("end") else None
    found = place_of(place["doc"], Quoted(row.name("quote"), offsets, row.whole("page", 0)), row.where, documents)
    if not (spans := spans_of(found)):
        raise DataError(row.where, f"{place['doc']}: {getattr(found, 'rule', '')}", "correct the quote")
    return Span(place["doc"], spans[0].start, spans[-1].end)


def drift_of(row: Row, place: Row, documents: Mapping[str, Document]) -> Drift | None:
    """What became of a quote; None if it has its place, and if it holds a value that is redacted: that is no drift."""
    name, quote = place["doc"], place["quote"]
    redactor = getattr(documents, "redactor", None)
    try:
        span_at(place, documents)
    except DataError:
        pass
    else:
        return None
    if redactor and redactor.find(quote):
        return None
    lost = Drift(str(row.get("id")), "gone", name, quote, alike=0.0)
    if elsewhere := dict(places_in(documents, quote)) if quote.split() else {}:
        if name in elsewhere:
            return None  # It has several places: an error of the set, and no drift.
        only = next(iter(elsewhere.values()))[0] if len(elsewhere) == 1 else (0, 0)
        return Drift(lost.query_id, "moved", name, quote, tuple(elsewhere), span=only)
    own = _nearest(documents[name], quote) if name in documents else None
    best = own if own and own[1] >= ALIKE else None
    if best is None:
        wanted = {word for word in WORD.findall(quote) if len(word) >= LETTERS}
        likely = (each for each in documents.values() if sum(word in each.text for word in wanted) >= ALIKE * len(wanted))
        others = [near for each in likely if each.doc_id != name and (near := _nearest(each, quote))]
        best = max((near for near in others if near[1] >= SURE), key=lambda near: near[1], default=None)
    return _proposed(row, lost, *best, documents) if best else lost


def _nearest(document: Document, quote: str) -> tuple[Span, float] | None:
    """The stretch of a document that is most similar to a quote, and its similarity."""
    text, found = document.text, list[tuple[float, Span]]()
    for _ in range(TRIES):
        if not (near := nearest(text, quote)):
            break
        begin, stop = near[0], next(space.start() for space in SPACE.finditer(text, near[1]))
        start, end = _aligned(text[begin:stop], quote)
        span = Span(document.doc_id, begin + start, begin + end)
        found.append((SequenceMatcher(None, quote, text[span.start : span.end], autojunk=False).ratio(), span))
        text = f"{text[:begin]}{' ' * (stop - begin)}{text[stop:]}"
    return max(found)[::-1] if found else None


def _aligned(text: str, quote: str) -> tuple[int, int]:
    """The part of a stretch between the first and the last two words in a row that it shares with a quote, and their sides."""
    ours, theirs = [match.span() for match in re.finditer(r"\S+", text)], quote.split()
    matched = SequenceMatcher(None, text.split(), theirs, autojunk=False).get_matching_blocks()
    blocks = [block for block in matched if block.size > 1]
    if not blocks:
        return 0, len(text)
    first, last = blocks[0], blocks[-1]
    behind = len(theirs) - last.b - last.size
    return ours[max(0, first.a - first.b)][0], ours[min(len(ours), last.a + last.size + behind) - 1][1]


def _proposed(row: Row, lost: Drift, window: Span, alike: float, documents: Mapping[str, Document]) -> Drift:
    text = documents[window.doc_id].text
    start, end = whole_sentences(text, window.start, window.end)
    old, new, given = words(lost.quote), words(text[start:end]), row.get("answers")
    said = (word for answer in (given if isinstance(given, list) else ()) for word in words(str(answer)))
    answers = {word.stem for word in said if word.end - word.start >= LETTERS}
    missing = _apart(old, new, answers)
    if len(missing) > 1 and alike < SURE:
        return lost
    facts = missing, _apart(words(text[window.start : window.end]), old)
    state: State = "changed" if any(facts) else "reworded"
    return Drift(
        lost.query_id, state, lost.doc_id, lost.quote, (window.doc_id,), text[start:end], (start, end), round(alike, 3), facts
    )


def _apart(ours: Sequence[Word], theirs: Sequence[Word], answers: Collection[str] = ()) -> tuple[str, ...]:
    """The facts of a text that another lacks, with words of `answers`, and the words that have their opposite there."""
    known = {word.stem for word in theirs}
    facts = Counter(word.stem for word in ours if word.kind in FACTS or word.stem in answers)
    facts -= Counter(word.stem for word in theirs)
    opposed = (word.stem for word in ours if word.stem not in known and OPPOSITES.get(word.stem, frozenset()) & known)
    return tuple(stem.removeprefix("#") for stem in dict.fromkeys([*facts, *opposed]))
