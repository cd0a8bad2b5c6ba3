"""Checks replies for signs of a hijacked model: unknown links and images, invalid citations, its own instructions."""

import html
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rag.components.guards.patterns import compiled
from rag.components.guards.views import ENTITY
from rag.core.checks import check_choice, check_whole
from rag.core.text.edits import Cut, Edited
from rag.core.types import Action, Finding, Reply, Request

Held = frozenset[str]

TRAILING = ".,;:!?'\"”’»*_`|)]}>"
"""Characters after an address: the end of a sentence, of a bracket or of a cell."""
CITED = re.compile(r"\[\d{1,4}(?:[,;-]\d{1,4}){0,40}")
"""A citation directly after an address, without its closing bracket."""
QUOTE_END = re.compile(r"[\s\"'`|]")
"""The end of a quoted address in a document. In a reply it ends none, because the rest can be part of the link."""
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
"""A character that Markdown escapes."""


def held_by(texts: Iterable[str], pattern: Any) -> Held:
    """The normal form of every address in some texts, with and without entities and backslashes."""
    forms = (form for text in texts for form in {text, without_escapes(text)})
    matches = (match.group(0) for text in forms for match in pattern.finditer(text))
    return frozenset(normal_form(part) for match in matches for part in (match, QUOTE_END.split(match, maxsplit=1)[0]))


def without_escapes(text: str) -> str:
    """A text without entities and backslashes, which may hide an address."""
    return ESCAPED.sub(r"\1", ENTITY.sub(lambda entity: html.unescape(entity[0]), text))


def is_held(address: str, held: Held) -> bool:
    """True if the whole address is one of `held`: a longer one could carry data."""
    return normal_form(address) in held


def normal_form(address: str) -> str:
    """An address without http(s)://, `www.` and a final slash, for comparison.

    The host is in lower case; the rest keeps its case, which could carry data.
    """
    bare = whole(address.strip().strip("<>"))
    for start in ("https://", "http://", "//"):
        if bare.lower().startswith(start):
            bare = bare[len(start) :]
            break
    end = next((place for place, character in enumerate(bare) if character in "/?#"), len(bare))
    return bare[:end].lower().removeprefix("www.") + bare[end:].rstrip("/")


def whole(address: str) -> str:
    """An address without the punctuation and the citations after it."""
    end = _before(address, len(address))
    while (start := address.rfind("[", 0, end)) > 0 and CITED.fullmatch(address, start, end):
        end = _before(address, start)
    return address[:end]


def _before(address: str, end: int) -> int:
    """The offset at which the punctuation before `end` begins."""
    while end and address[end - 1] in TRAILING:
        end -= 1
    return end


KINDS = ("image", "html", "reference", "link", "url", "citation", "mark")
LOADED = ("image", "html", "reference", "link", "url")
SAYS = {
    "image": "shows an image",
    "html": "holds HTML that loads or links something",
    "reference": "defines a link that no context holds",
    "link": "links to an address that no context holds",
    "url": "holds an address that no context holds",
    "citation": "cites a context that is not there",
    "mark": "copies a mark of the contexts",
    "leak": "repeats the instructions of the model",
    "again": "would hold a link or image once others are cut from it",
    "escaped": "hides an address that no context holds in entities or backslashes",
}


@dataclass(frozen=True)
class Place:
    """The characters [start, end) of a reply, and what is wrong with them."""

    kind: str
    start: int
    end: int


class OutputGuard:
    """Removes parts of replies, or refuses the replies, as `actions` says for each kind of finding.

    `patterns` match images, HTML, link definitions, links, bare addresses, citations and the marks of spotlighting. An address
    is known if it is equal to one in the contexts or messages of the request; a longer one is not. A leak is a run of
    `leak_words` words of a system message that neither the question nor a context contains. Quotations in the system message
    are no secret: they are sentences that the model is asked to say.

    A reply that would contain a new link or image after the removal is refused, because two halves could be hidden around a
    third. A reply with an address in entities or after backslashes is refused too, because a page may decode them into a link.
    """

    def __init__(self, patterns: Mapping[str, str], actions: Mapping[str, str], leak_words: int = 12) -> None:
        for name in patterns:
            check_choice(f"guard.output.patterns.{name}", name, KINDS)
        for name, action in actions.items():
            check_choice(f"guard.output.actions.{name}", name, SAYS)
            check_choice(f"guard.output.actions.{name}", action, ("flag", "remove", "refuse", "regenerate"))
        check_whole("guard.output.leak_words", leak_words, 4, hint="fewer words are common to many texts")
        self.patterns = {name: compiled(patterns[name], f"guard.output.patterns.{name}") for name in KINDS if name in patterns}
        self.actions = {name: cast(Action, actions.get(name, "remove")) for name in SAYS}
        self.leak_words = leak_words

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """The findings of each reply in reading order; they do not overlap."""
        return [self._look(request, reply.text) for request, reply in zip(requests, replies, strict=True)]

    def _look(self, request: Request, text: str) -> list[Finding]:
        held = self._held(request)
        places = self._places(text, held, len(request.contexts))
        findings = [self._finding(place) for place in places]
        left = Edited.of(text, [Cut(finding.start, finding.end) for finding in findings if finding.action == "remove"]).text
        if left != text and any(new.kind in LOADED for new in self._places(left, held, len(request.contexts))):
            findings.append(Finding("output", SAYS["again"], "refuse", 0, 0, len(text)))
        elif self._hides(left, held):
            findings.append(Finding("output", SAYS["escaped"], "refuse", 0, 0, len(text)))
        return [*findings, *(self._finding(Place("leak", *span)) for span in leaks(request, text, self.leak_words))]

    def _held(self, request: Request) -> Held:
        pattern = self.patterns.get("url")
        texts = [*(message.content for message in request.messages), *(chunk.text for chunk in request.contexts)]
        return held_by([request.query.text, *texts], pattern) if pattern else frozenset()

    def _finding(self, place: Place) -> Finding:
        return Finding("output", SAYS[place.kind], self.actions[place.kind], 0, place.start, place.end)

    def _places(self, text: str, held: Held, contexts: int) -> list[Place]:
        places: list[Place] = []
        for place in sorted(self._all(text, held, contexts), key=lambda place: (place.start, -place.end)):
            if not places or place.start >= places[-1].end:
                places.append(place)
            elif place.end > places[-1].end:
                places.append(Place(place.kind, places[-1].end, place.end))
        return places

    def _hides(self, text: str, held: Held) -> bool:
        pattern, read = self.patterns.get("url"), without_escapes(text)
        return pattern is not None and read != text and any(self._strange(read, held))

    def _all(self, text: str, held: Held, contexts: int) -> Iterator[Place]:
        for kind, pattern in self.patterns.items():
            if kind == "url":
                yield from self._strange(text, held)
                continue
            for match in pattern.finditer(text):
                if kind == "link" and not _leads_to(match, 2, held):
                    # The text of the link stays, its target is removed.
                    yield from (Place(kind, match.start(), match.start(1)), Place(kind, match.end(1), match.end()))
                elif self._wrong(kind, match, held, contexts):
                    yield Place(kind, match.start(), match.end())

    def _strange(self, text: str, held: Held) -> Iterator[Place]:
        """Unknown bare addresses. Targets of links are left out, and an address ends where a link ends."""
        links = self.patterns["link"].finditer(text) if "link" in self.patterns else ()
        blanks = [Cut(link.start(2), link.end(2), " " * len(link[2])) for link in links]
        for match in self.patterns["url"].finditer(Edited.of(text, blanks).text):
            if not is_held(match.group(0), held):
                yield Place("url", match.start(), match.start() + len(whole(match.group(0))))

    def _wrong(self, kind: str, match: Any, held: Held, contexts: int) -> bool:
        if kind == "citation":
            return not any(1 <= int(number) <= contexts for number in re.findall(r"\d+", match.group(1)))
        if kind == "reference":
            return not _leads_to(match, 1, held)
        return kind in ("image", "html", "mark")


def _leads_to(match: Any, group: int, held: Held) -> bool:
    """True if the target of a link is a known address and nothing more; angle brackets could enclose more."""
    text, start, end = match.string, match.start(group), match.end(group)
    ends = ">" if text[start - 1 : start] == "<" else " \t\n)"
    return is_held(match.group(group), held) and (end == len(text) or text[end] in ends)


WORD = re.compile(r"\w+")
QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|`[^`\n]{1,400}`")

Gram = tuple[str, ...]


def leaks(request: Request, text: str, length: int) -> list[tuple[int, int]]:
    """The places of `length` or more words in a row that a text repeats from a system message and from nothing else."""
    system = [QUOTED.sub("\n", message.content) for message in request.messages if message.role == "system"]
    public = [request.query.text, *(chunk.text for chunk in request.contexts)]
    secret = _grams(system, length) - _grams(public, length)
    words = [(match[0].casefold(), *match.span()) for match in WORD.finditer(text)]
    covered = [
        place
        for place in range(len(words) - length + 1)
        if secret and tuple(word for word, _, _ in words[place : place + length]) in secret
    ]
    return [(words[first][1], words[last + length - 1][2]) for first, last in _runs(covered, length)]


def _grams(texts: Iterable[str], length: int) -> set[Gram]:
    grams: set[Gram] = set()
    for text in texts:
        words = [match[0].casefold() for match in WORD.finditer(text)]
        grams |= set(zip(*(itertools.islice(words, first, None) for first in range(length)), strict=False))
    return grams


def _runs(places: list[int], length: int) -> list[tuple[int, int]]:
    """The first and last place of each run of places whose `length` words touch or overlap."""
    runs: list[tuple[int, int]] = []
    for place in places:
        if runs and place <= runs[-1][1] + length:
            runs[-1] = (runs[-1][0], place)
        else:
            runs.append((place, place))
    return runs
