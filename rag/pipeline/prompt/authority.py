"""Statements of a conversation that a file in the prompt, or another statement, overrules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rag.components.prompts.authority import AuthorityOrder
from rag.core.editions import editions_of
from rag.core.text.statements import Statement, pieces, read_statement
from rag.core.types import Document, Finding, Recalled

LEAST = 3
"""The fewest words of a statement that can be compared."""
GONE = "…"
"""The text of a turn whose statements were all dropped: chat models need alternating turns."""
Relation = Literal["", "repeats", "contradicts"]


Said = tuple[str, Statement]
"""The origin of a statement, and what it says."""


def settled(rules: AuthorityOrder, recalled: Recalled, files: Sequence[Document]) -> tuple[Recalled, tuple[Finding, ...]]:
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


def _stronger(rules: AuthorityOrder, told: Sequence[Sequence[Said]], place: int) -> list[Said]:
    """The statements by the same speaker that overrule those of a turn."""
    ranks = [rules.order.index(kind) for kind in ("newer", "older") if kind in rules.order]
    others = told[place + 1 :] if ranks == sorted(ranks) else told[:place]
    same = [said for turn in others for origin, said in turn if origin == told[place][0][0]] if told[place] else []
    return [("", said) for said in same] if len(ranks) > 1 else []


def _left(own: Sequence[Said], others: Sequence[Said], rules: AuthorityOrder, findings: list[Finding]) -> str | None:
    """The statements of a text that no other overrules; None if that is all of them."""
    kept = list[str]()
    for _, said in own:
        related = [(relation(said, other, rules), origin, other.text) for origin, other in others]
        # A file that says the same elsewhere is not contradicted.
        held = [each for each in related if each[0] == "contradicts" or (each[0] and each[1])]
        found = min(held, key=lambda each: each[0] == "contradicts", default=None)
        if found is None:
            kept.append(said.text)
        else:
            other = f"{found[1] or 'a statement that stands above it'}: {found[2]!r}"
            findings.append(Finding("authority", f"left out of the conversation: {said.text!r} {found[0]} {other}"))
    return None if len(kept) == len(own) else " ".join(kept)


def relation(own: Statement, theirs: Statement, rules: AuthorityOrder) -> Relation:
    """How a statement relates to a stronger one; empty for another matter and for what says more."""
    ours, stems = own.stems | own.names, theirs.stems | theirs.names
    fewest, common = min(len(ours), len(stems)), len(ours & stems)
    elsewhere = own.names - theirs.names and theirs.names - own.names
    if own.asks or theirs.asks or fewest < LEAST or common < rules.same * fewest or elsewhere:
        return ""
    if own.contradicts(theirs):
        return "contradicts"
    more = own.names - theirs.names or not all(number.among(theirs.known) for number in own.numbers)
    return "" if more or common < rules.copy * len(ours) else "repeats"


def read(text: str, origin: str, rules: AuthorityOrder) -> list[Said]:
    """The statements of a text, one for each sentence."""
    denying = frozenset(rules.negations.get(rules.language, ()))
    return [(origin, read_statement(piece, rules.language, denying)) for piece in pieces(text, rules.language)]
