"""Scans retrieved contexts for instructions, before a model reads them."""

import base64
import binascii
import math
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import re2

from rag.components.guards.off_topic_requests import StrangerRule
from rag.components.guards.patterns import NO_GAP, alternatives, bounded_matches
from rag.components.guards.views import APART, View, as_it_is, disguises, in_plain_letters, normal, pieced
from rag.core.checks import check_choice, check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.types import Action, Finding, Query, Ranking

DEPTH = 2
"""The number of nested encodings that are decoded."""

LEAST = 12
"""The fewest characters of a decoded text: almost any word decodes to a few."""

READABLE = 0.9
"""The least share of letters, digits, punctuation and spaces in bytes that count as text."""


def _from_base64(run: str) -> bytes:
    joined = "".join(run.split()).translate(str.maketrans("-_", "+/")).rstrip("=")
    return base64.b64decode(joined + "=" * (-len(joined) % 4), validate=True)


def _from_hex(run: str) -> bytes:
    return bytes.fromhex(re.sub(r"0x|\\x|[^0-9A-Fa-f]", "", run))


ENCODINGS: tuple[tuple[str, Any, Callable[[str], bytes]], ...] = (
    ("base64", re2.compile(r"[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}"), _from_base64),
    ("hexadecimal", re2.compile(r"(?:(?:0x|\\x)?[0-9A-Fa-f]{2}[ :,]{0,2}){11,}(?:0x|\\x)?[0-9A-Fa-f]{2}"), _from_hex),
    ("percent signs", re2.compile(r"(?:%[0-9A-Fa-f]{2}[\w.~+-]{0,40}){3,}"), urllib.parse.unquote_to_bytes),
)


def decoded(view: View, depth: int = DEPTH) -> Iterator[View]:
    """The decoded runs of a text that are text themselves."""
    for how, pattern, decode in ENCODINGS:
        for match in pattern.finditer(view.text):
            # The next line may begin with a word that looks like more of the encoding.
            text = _text(match[0], decode) or _text(match[0].partition("\n")[0], decode)
            if text:
                inner = pieced(text, *view.span(*match.span()), how)
                yield inner
                if depth > 1:
                    yield from decoded(inner, depth - 1)


def _text(run: str, decode: Callable[[str], bytes]) -> str:
    try:
        text = decode(run).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""
    good = sum(character.isascii() and (character.isalnum() or character in " \n.,:;!?'\"()-/") for character in text)
    return text if len(text) >= LEAST and good >= READABLE * len(text) else ""


NO_QUESTION = Query("", "")
KEYS = ("what", "severity", "patterns", "raw")


@dataclass(frozen=True)
class Rule:
    """The name of a kind of sign, its severity in [0, 1], and its pattern.

    `raw` rules read the text as it is, the others read it with disguises undone. `apart` is the pattern for spelled words.
    """

    name: str
    what: str
    severity: float
    pattern: Any
    apart: Any
    raw: bool


@dataclass(frozen=True)
class Sign:
    """A match of a rule in the characters [start, end) of a text; `how` names the disguise."""

    rule: Rule
    start: int
    end: int
    how: str


class ScanGuard:
    """Weighs the signs of instructions in each context, and quarantines the worst contexts.

    The weight of a context is 1 - prod(1 - severity) over the different rules that match it; each disguise counts as a rule.
    So several weak signs add up, and the same sign twice does not. From the weight `flag` on signs are reported, from
    `quarantine` on the context is removed. At most `most` places per rule and context are read. `stranger` is a further rule,
    which finds requests off the topic of their text.
    """

    languages: ClassVar[tuple[str, ...]] = ("english",)

    def __init__(
        self,
        rules: Mapping[str, Mapping[str, Any]],
        flag: float,
        quarantine: float,
        disguise: float,
        most: int = 3,
        stranger: StrangerRule | None = None,
    ) -> None:
        for name, value in {"flag": flag, "quarantine": quarantine, "disguise": disguise}.items():
            check_number(f"guard.scan.{name}", value, 0, 1)
        check_whole("guard.scan.most", most, 1)
        self.flag, self.quarantine, self.disguise, self.most = flag, quarantine, disguise, most
        self.rules = tuple(_rule(name, rule, f"guard.scan.rules.{name}") for name, rule in rules.items())
        self.stranger = stranger

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """The findings in each context, which depend on its text and the question only."""
        signs = {text: list(self._signs(text)) for text in {hit.chunk.text for ranking in contexts for hit in ranking}}
        findings = []
        for query, ranking in zip(queries, contexts, strict=True):
            numbered = enumerate((hit.chunk.text for hit in ranking), 1)
            findings.append([one for number, text in numbered for one in self._weighed(query, text, signs[text], number)])
        return findings

    def findings(self, text: str, query: Query = NO_QUESTION) -> list[Finding]:
        """The findings in one text."""
        return self._weighed(query, text, list(self._signs(text)), 1)

    def _weighed(self, query: Query, text: str, signs: Sequence[Sign], number: int) -> list[Finding]:
        signs = [*signs, *self._strangers(query, text)]
        weight = self.weight(signs)
        if weight < self.flag or not signs:
            return []
        action: Action = "quarantine" if weight >= self.quarantine else "flag"
        said = [f"{sign.rule.what}, written in {sign.how}" if sign.how else sign.rule.what for sign in signs]
        return [Finding("scan", what, action, number, sign.start, sign.end) for what, sign in zip(said, signs, strict=True)]

    def _strangers(self, query: Query, text: str) -> list[Sign]:
        rule = self.stranger
        if rule is None:
            return []
        places = rule.places(in_plain_letters(as_it_is(text)), query)[: self.most]
        return [Sign(Rule("stranger", rule.what, rule.severity, None, None, False), start, end, "") for start, end in places]

    def weight(self, signs: Sequence[Sign]) -> float:
        """The common weight of signs in one text, in [0, 1]."""
        weights = {sign.rule.name: sign.rule.severity for sign in signs}
        hidden = {f"in {sign.how}": self.disguise for sign in signs if sign.how}
        return 1 - math.prod(1 - weight for weight in [*weights.values(), *hidden.values()])

    def _signs(self, text: str) -> Iterator[Sign]:
        whole = as_it_is(text)
        yield from (sign for rule in self.rules if rule.raw for sign in self._places(rule, whole))
        matched: set[tuple[str, str]] = set()
        for view in _views(whole):
            for rule in self.rules:
                # A visible sign is not reported again for its view in look-alike letters.
                if rule.raw or not matched.isdisjoint({(rule.name, ""), (rule.name, view.how)}):
                    continue
                signs = self._places(rule, view)
                matched |= {(rule.name, view.how)} if signs else set()
                yield from signs

    def _places(self, rule: Rule, view: View) -> list[Sign]:
        pattern = rule.apart if view.how == APART else rule.pattern
        return [Sign(rule, *view.span(*place), view.how) for place in bounded_matches(pattern, view.text, self.most)]


def _views(whole: View) -> Iterator[View]:
    seen = normal(whole)
    yield seen
    yield from disguises(whole)
    for part in decoded(seen):
        yield part
        yield from (replace(view, how=part.how) for view in disguises(part) if view.how != "rot13")


def _rule(name: str, given: Mapping[str, Any], where: str) -> Rule:
    for key in given:
        check_choice(f"{where}.{key}", key, KEYS)
    severity = given.get("severity")
    if not isinstance(severity, int | float) or not 0 <= severity < 1:
        raise ConfigError(f"{where}.severity", f"is {severity!r}", "a number from 0 on and below 1")
    patterns = given.get("patterns") or []
    pattern = alternatives(patterns, f"{where}.patterns")
    apart = alternatives(patterns, f"{where}.patterns", NO_GAP)
    return Rule(name, str(given.get("what", name)), float(severity), pattern, apart, bool(given.get("raw", False)))
