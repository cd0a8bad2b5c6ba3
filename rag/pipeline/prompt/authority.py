"""Statements of a conversation that a file in the prompt, or another statement, overrules."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Protocol

from rag.core.editions import editions_of
from rag.core.text.numerals import Number, numbers, values
from rag.core.text.statements import pieces, read_statement
from rag.core.types import Document, Finding, Recalled

LEAST = 3
"""The fewest words of a statement that can be compared."""
GONE = "…"
"""The text of a turn whose statements were all dropped: chat models need alternating turns."""
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
Relation = Literal["", "repeats", "contradicts"]


class AuthorityRules(Protocol):
    """The rules of `rag.components.prompts.authority.AuthorityOrder`, which a prompt may have."""

    @property
    def order(self) -> Sequence[str]:
        """The kinds of statements, the strongest first."""
        ...

    @property
    def same(self) -> float:
        """The share of words in common from which two statements are about the same matter."""
        ...

    @property
    def copy(self) -> float:
        """The share of words in a file from which a statement repeats it."""
        ...

    @property
    def language(self) -> str:
        """The language of the statements."""
        ...

    @property
    def negations(self) -> Mapping[str, Sequence[str]]:
        """Words that deny, by language."""
        ...


@dataclass(frozen=True)
class Said:
    """A statement with its origin: `stems` of its words and names, `names`, numbers, and whether it denies or asks."""

    text: str
    origin: str
    stems: frozenset[str]
    names: frozenset[str]
    numbers: tuple[Number, ...]
    values: frozenset[str]
    negated: bool
    asks: bool


def settled(rules: AuthorityRules, recalled: Recalled, files: Sequence[Document]) -> tuple[Recalled, tuple[Finding, ...]]:
    """What is recalled without the statements that files or stronger statements overrule, and a finding for each of these.

    Of several editions of a file only the newest counts.
    """
    if not rules.order or not (recalled.turns or recalled.summary):
        return recalled, ()
    old = editions_of(files).old if "files" in rules.order else range(len(files))
    known = [said for row, file in enumerate(files) if row not in old for said in read(file.text, file.doc_id, rules)]
    told = [read(turn.text, turn.role, rules) for turn in recalled.turns]
    findings, turns = list[Finding](), list(recalled.turns)
    for place, own in enumerate(told):
        if (text := _left(own, [*known, *_stronger(rules, told, place)], rules, findings)) is not None:
            turns[place] = replace(turns[place], text=text or GONE)
    lines = recalled.summary.splitlines()
    left = [_left(read(line, "", rules), known, rules, findings) for line in lines]
    kept = [line if text is None else text for line, text in zip(lines, left, strict=True)]
    return replace(recalled, turns=tuple(turns), summary="\n".join(filter(None, kept))), tuple(findings)


def _stronger(rules: AuthorityRules, told: Sequence[Sequence[Said]], place: int) -> list[Said]:
    """The statements by the same speaker that overrule those of a turn."""
    ranks = [rules.order.index(kind) for kind in ("newer", "older") if kind in rules.order]
    others = told[place + 1 :] if ranks == sorted(ranks) else told[:place]
    same = (said for turn in others for said in turn if said.origin == told[place][0].origin) if told[place] else ()
    return [replace(said, origin="") for said in same] if len(ranks) > 1 else []


def _left(own: Sequence[Said], others: Sequence[Said], rules: AuthorityRules, findings: list[Finding]) -> str | None:
    """The statements of a text that no other overrules; None if that is all of them."""
    kept = list[str]()
    for said in own:
        related = [
            (other, how) for other in others if (how := relation(said, other, rules)) and (other.origin or how == "contradicts")
        ]
        # A file that says the same elsewhere is not contradicted.
        found = min(related, key=lambda each: each[1] == "contradicts", default=None)
        if found is None:
            kept.append(said.text)
        else:
            other = f"{found[0].origin or 'a statement that stands above it'}: {found[0].text!r}"
            findings.append(Finding("authority", f"left out of the conversation: {said.text!r} {found[1]} {other}"))
    return None if len(kept) == len(own) else " ".join(kept)


def relation(said: Said, other: Said, rules: AuthorityRules) -> Relation:
    """How a statement relates to a stronger one; empty for another matter and for what says more."""
    fewest, common = min(len(said.stems), len(other.stems)), len(said.stems & other.stems)
    elsewhere = said.names - other.names and other.names - said.names
    if said.asks or other.asks or fewest < LEAST or common < rules.same * fewest or elsewhere:
        return ""
    own = [number for number in said.numbers if not number.among(other.values)]
    theirs = [number for number in other.numbers if not number.among(said.values)]
    if said.negated != other.negated or (own and theirs):
        return "contradicts"
    whole = common >= rules.copy * len(said.stems) and not own and said.names <= other.names
    return "repeats" if whole else ""


def read(text: str, origin: str, rules: AuthorityRules) -> list[Said]:
    """The statements of a text, one for each sentence."""
    return [
        _said(piece, origin, rules.language, frozenset(rules.negations.get(rules.language, ())))
        for piece in pieces(text, rules.language)
    ]


@lru_cache(maxsize=1 << 14)
def _said(text: str, origin: str, language: str, negations: frozenset[str]) -> Said:
    known, bare = numbers(text), text
    for number in known:
        bare = bare[: number.start] + " " * (number.end - number.start) + bare[number.end :]
    content = read_statement(bare, language)
    names = frozenset(value for value in content.values if not any(map(str.isdigit, value)))
    words = {word.lower().replace("’", "'") for word in WORD.findall(text)}
    stems = (content.stems | names) - negations
    return Said(text, origin, stems, names, tuple(known), values(text), bool(words & negations), content.asks)
