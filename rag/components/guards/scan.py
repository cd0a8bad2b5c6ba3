"""Looks through what was found for texts that give orders, before a model reads them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.components.guards.encodings import decoded
from rag.components.guards.off_topic_requests import StrangerRule
from rag.components.guards.patterns import NO_GAP, alternatives, bounded_matches
from rag.components.guards.views import APART, View, as_it_is, disguises, in_plain_letters, normal
from rag.core.errors import ConfigError, closest
from rag.core.records import Action, Finding, Query, Ranking
from rag.core.roles import Embedder

NOBODY = Query("", "")
KEYS = ("what", "severity", "patterns", "raw")


@dataclass(frozen=True)
class Rule:
    """What one kind of sign is called, how much it weighs in [0, 1], and what finds it.

    `raw` rules look at the text as it is, the others at what it reads as, in whatever disguise.
    """

    name: str
    what: str
    severity: float
    pattern: Any
    apart: Any
    raw: bool


@dataclass(frozen=True)
class Sign:
    """A rule that matched the characters [start, end) of a text, and in what disguise."""

    rule: Rule
    start: int
    end: int
    how: str


class ScanGuard:
    """Weighs the signs in each context, and quarantines the worst.

    The weight of a context is 1 - prod(1 - severity) over the different rules that match it, a disguise counting as a rule of
    its own: several doubtful signs make a bad one, the same sign twice does not. From `flag` on signs are reported, from
    `quarantine` on the context is taken out. At most `most` places per rule and context are looked at. `stranger` is a rule
    that compares sentences by `embedder`; without either it is left out.
    """

    def __init__(
        self,
        rules: Mapping[str, Mapping[str, Any]],
        flag: float,
        quarantine: float,
        disguise: float,
        most: int = 3,
        stranger: Mapping[str, Any] | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        for name, value in {"flag": flag, "quarantine": quarantine, "disguise": disguise}.items():
            if not 0 <= value <= 1:
                raise ConfigError(f"guard.scan.{name}", f"is {value}", "a severity lies between 0 and 1")
        if most < 1:
            raise ConfigError("guard.scan.most", f"is {most}", "look for one place or more")
        self.flag, self.quarantine, self.disguise, self.most = flag, quarantine, disguise, most
        self.rules = tuple(_rule(name, rule, f"guard.scan.rules.{name}") for name, rule in rules.items())
        self.stranger = StrangerRule(stranger, embedder, "guard.scan.stranger") if stranger and embedder else None

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """What is found in each context, which depends on nothing but its text and the question."""
        known: dict[str, list[Sign]] = {}
        for text in {hit.chunk.text for ranking in contexts for hit in ranking}:
            known[text] = list(self._signs(text))
        rows = zip(queries, contexts, strict=True)
        return [
            [
                one
                for number, hit in enumerate(row, 1)
                for one in self._told(query, hit.chunk.text, known[hit.chunk.text], number)
            ]
            for query, row in rows
        ]

    def findings(self, text: str, query: Query = NOBODY) -> list[Finding]:
        """What is found in one text; places count its own characters."""
        return self._told(query, text, list(self._signs(text)), 1)

    def _told(self, query: Query, text: str, signs: Sequence[Sign], number: int) -> list[Finding]:
        signs = [*signs, *self._strangers(query, text)]
        weight = self.weight(signs)
        if weight < self.flag or not signs:
            return []
        action: Action = "quarantine" if weight >= self.quarantine else "flag"
        return [Finding("scan", _said(sign), action, number, sign.start, sign.end) for sign in signs]

    def _strangers(self, query: Query, text: str) -> list[Sign]:
        rule = self.stranger
        if rule is None:
            return []
        places = rule.places(in_plain_letters(as_it_is(text)), query)[: self.most]
        return [Sign(Rule("stranger", rule.what, rule.severity, None, None, False), start, end, "") for start, end in places]

    def weight(self, signs: Sequence[Sign]) -> float:
        """How much some signs in one text weigh together, in [0, 1]."""
        weights = {sign.rule.name: sign.rule.severity for sign in signs}
        hidden = {f"in {sign.how}": self.disguise for sign in signs if sign.how}
        return 1 - math.prod(1 - weight for weight in [*weights.values(), *hidden.values()])

    def _signs(self, text: str) -> Iterator[Sign]:
        whole = as_it_is(text)
        yield from (sign for rule in self.rules if rule.raw for sign in self._places(rule, whole))
        known: set[tuple[str, str]] = set()
        for view in _views(whole):
            for rule in self.rules:
                # What anybody sees needs no second mention because it is also there in look-alike letters.
                if rule.raw or not known.isdisjoint({(rule.name, ""), (rule.name, view.how)}):
                    continue
                signs = self._places(rule, view)
                known |= {(rule.name, view.how)} if signs else set()
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
        yield from (View(one.text, one.starts, one.ends, part.how) for one in disguises(part) if one.how != "rot13")


def _rule(name: str, given: Mapping[str, Any], where: str) -> Rule:
    for key in given:
        if key not in KEYS:
            raise ConfigError(f"{where}.{key}", "is no part of a rule", closest(str(key), KEYS))
    severity = given.get("severity")
    if not isinstance(severity, int | float) or not 0 <= severity < 1:
        raise ConfigError(f"{where}.severity", f"is {severity!r}", "a number from 0 on and below 1")
    patterns = given.get("patterns") or []
    pattern = alternatives(patterns, f"{where}.patterns")
    apart = alternatives(patterns, f"{where}.patterns", NO_GAP)
    return Rule(name, str(given.get("what", name)), float(severity), pattern, apart, bool(given.get("raw", False)))


def _said(sign: Sign) -> str:
    return f"{sign.rule.what}, written in {sign.how}" if sign.how else sign.rule.what
