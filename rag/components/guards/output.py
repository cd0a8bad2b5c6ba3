"""Looks at replies for what only a hijacked model writes: links and images from nowhere, citations of nothing, its orders."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from rag.components.guards.leaks import leaks
from rag.components.guards.links import Held, held_by, is_held, whole, without_escapes
from rag.components.guards.patterns import compiled
from rag.core.errors import ConfigError, closest
from rag.core.records import Action, Finding, Reply, Request

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
Cut = Literal["flag", "remove", "refuse", "regenerate"]


@dataclass(frozen=True)
class Place:
    """The characters [start, end) of a reply, and what is wrong with them."""

    kind: str
    start: int
    end: int


class OutputGuard:
    """Cuts out of replies, or refuses, what `actions` says for each kind of finding.

    `patterns` find images, HTML, link definitions, links, bare addresses, citations and the marks of spotlighting. An address
    is held if it is, character by character and whole, one of those that the contexts and messages of the request hold: one
    that begins like it and goes on with something else is not. What a model was told is leaked where a reply repeats
    `leak_words` words of a system message in a row that neither the question nor a context holds and that no quotation marks
    enclose there: those are sentences that it is told to say.

    A reply that would hold a new link or image after cutting is refused: else two halves could be hidden around a third. So is
    one in which an address is written in entities or behind backslashes: a page may read them before it makes links.
    """

    def __init__(self, patterns: Mapping[str, str], actions: Mapping[str, str], leak_words: int = 12) -> None:
        for name in patterns:
            if name not in KINDS:
                raise ConfigError(f"guard.output.patterns.{name}", "is no kind of finding", closest(name, KINDS))
        for name, action in actions.items():
            if name not in SAYS:
                raise ConfigError(f"guard.output.actions.{name}", "is no kind of finding", closest(name, tuple(SAYS)))
            if action not in ("flag", "remove", "refuse", "regenerate"):
                raise ConfigError(f"guard.output.actions.{name}", f"is {action!r}", "flag, remove, refuse or regenerate")
        if leak_words < 4:
            raise ConfigError("guard.output.leak_words", f"is {leak_words}", "4 words or more: fewer stand in any text")
        self.patterns = {name: compiled(patterns[name], f"guard.output.patterns.{name}") for name in KINDS if name in patterns}
        self.actions = {name: cast(Action, actions.get(name, "remove")) for name in SAYS}
        self.leak_words = leak_words

    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        """Findings per reply in reading order, none of which overlap."""
        return [self._look(request, reply.text) for request, reply in zip(requests, replies, strict=True)]

    def _look(self, request: Request, text: str) -> list[Finding]:
        held = self._held(request)
        places = self._places(text, held, len(request.contexts))
        findings = [self._finding(place) for place in places]
        left = _cut(text, [one for one in findings if one.action == "remove"])
        if left != text and any(new.kind in LOADED for new in self._places(left, held, len(request.contexts))):
            findings.append(Finding("output", SAYS["again"], "refuse", 0, 0, len(text)))
        elif self._hides(left, held):
            findings.append(Finding("output", SAYS["escaped"], "refuse", 0, 0, len(text)))
        told = leaks(request, text, self.leak_words)
        return [*findings, *(self._finding(Place("leak", *span)) for span in told)]

    def _held(self, request: Request) -> Held:
        pattern = self.patterns.get("url")
        texts = [*(message.content for message in request.messages), *(chunk.text for chunk in request.contexts)]
        return held_by([request.query.text, *texts], pattern) if pattern else frozenset()

    def _finding(self, place: Place) -> Finding:
        return Finding("output", SAYS[place.kind], self.actions[place.kind], 0, place.start, place.end)

    def _places(self, text: str, held: Held, contexts: int) -> list[Place]:
        found = sorted(self._all(text, held, contexts), key=lambda place: (place.start, -place.end))
        kept: list[Place] = []
        for place in found:
            if not kept or place.start >= kept[-1].end:
                kept.append(place)
            elif place.end > kept[-1].end:
                kept.append(Place(place.kind, kept[-1].end, place.end))
        return kept

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
                    # What the link says stays, where it leads goes.
                    yield from (Place(kind, match.start(), match.start(1)), Place(kind, match.end(1), match.end()))
                elif self._wrong(kind, match, held, contexts):
                    yield Place(kind, match.start(), match.end())

    def _strange(self, text: str, held: Held) -> Iterator[Place]:
        """Addresses that are not held, but for those that links lead to: what stands right behind a link is no part of one."""
        links = self.patterns["link"].finditer(text) if "link" in self.patterns else ()
        for match in self.patterns["url"].finditer(_blank(text, [link.span(2) for link in links])):
            if not is_held(match.group(0), held):
                yield Place("url", match.start(), match.start() + len(whole(match.group(0))))

    def _wrong(self, kind: str, match: Any, held: Held, contexts: int) -> bool:
        if kind == "citation":
            return not any(1 <= int(number) <= contexts for number in _numbers(match.group(1)))
        if kind == "reference":
            return not _leads_to(match, 1, held)
        return kind in ("image", "html", "mark")


def _leads_to(match: Any, group: int, held: Held) -> bool:
    """Whether a link leads to a held address, and ends with it: between angle brackets anything may follow."""
    text, start, end = match.string, match.start(group), match.end(group)
    ends = ">" if text[start - 1 : start] == "<" else " \t\n)"
    return is_held(match.group(group), held) and (end == len(text) or text[end] in ends)


def _cut(text: str, findings: Sequence[Finding]) -> str:
    """A text without the places of some findings that do not overlap."""
    starts, ends = [one.start for one in findings], [one.end for one in findings]
    return "".join(text[start:end] for start, end in zip([0, *ends], [*starts, len(text)], strict=True))


def _blank(text: str, places: Sequence[tuple[int, int]]) -> str:
    """As many characters, blanks in some places that do not overlap."""
    kept = zip([0, *(end for _, end in places)], [*(start for start, _ in places), len(text)], strict=True)
    blanks = [*(" " * (end - start) for start, end in places), ""]
    return "".join(text[start:end] + blank for (start, end), blank in zip(kept, blanks, strict=True))


def _numbers(listed: str) -> Iterator[str]:
    return iter("".join(character if character.isdecimal() else " " for character in listed).split())
