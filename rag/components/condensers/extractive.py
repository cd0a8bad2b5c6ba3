"""Condenses by quoting: the sentences that answer the question, those that limit the answer, and what no passage has."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rag.core.checks import check_number, check_whole
from rag.core.look_checks import ITEMS, TEXT
from rag.core.looks import Condensed, Item
from rag.core.roles.looking import Condensation, Kept
from rag.core.text.languages import check_language
from rag.core.text.sentence_worth import Scored, SentenceWorth
from rag.core.text.stems import Stems
from rag.core.text.templates import check_template, fill


@dataclass(frozen=True, kw_only=True)
class ExtractiveCondenser:
    """Facts are the best sentences by `SentenceWorth`, word for word, each worth at least `share` of the best.

    Constraints are further sentences with one of the words `limiting` and at least the share `floor` of the question's weight.
    The open issue names the words of the question that are in no passage and in no heading, in `missing` with {words}. `item`
    lays out a sentence with {above}, its headings and the header of its table, and {text}.
    """

    weights: Mapping[str, float]
    facts: int = 6
    constraints: int = 3
    share: float = 0.4
    floor: float = 0.2
    limiting: Sequence[str] = ()
    item: str = "{above}: {text}"
    missing: str = "{words}"
    language: str = "english"
    superseded: Sequence[str] = ()
    languages: Sequence[str] = ("english",)
    reads: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in ("facts", "constraints"):
            check_whole(f"condense.{name}", getattr(self, name), name == "facts", ITEMS)
        for name in ("share", "floor"):
            check_number(f"condense.{name}", getattr(self, name), 0, 1)
        check_template("condense.item", self.item, ("text",), ("text", "above"))
        check_template("condense.missing", self.missing, ("words",), ("words",))
        check_language("condense.language", self.language)

    def condense(self, kept: Sequence[Kept]) -> list[Condensation]:
        """The quotes of each question."""
        worth, stems = SentenceWorth(self.language, self.superseded, self.weights), Stems(self.language)
        return [self._condensed(one, worth.ranked(one.question, one.passages), stems) for one in kept]

    def _condensed(self, kept: Kept, ranked: Sequence[Scored], stems: Stems) -> Condensation:
        ranked = [quote for quote in ranked if quote.worth > 0 and len(self._text(quote)) <= TEXT]
        if not ranked:
            return Condensation(None, "no sentence shares a word with the question")
        facts = [quote for quote in ranked if quote.worth >= self.share * ranked[0].worth][: self.facts]
        words = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, self.limiting)) or '(?!)'})(?!\w)", re.IGNORECASE)
        limits = [quote for quote in ranked if words.search(quote.statement.text)]
        limits = [quote for quote in limits if quote.measures["own"] + quote.measures["above"] >= self.floor]
        others = [quote for quote in limits if quote not in facts][: self.constraints]
        whole = (" ".join((one.text, *(part.path for part in one.sections))) for one in kept.passages)
        read = frozenset[str]().union(*map(stems.of, whole))
        lacking = [term for term in dict.fromkeys(stems.terms(kept.question)) if not stems.of(term) <= read]
        issues = (Item(fill(self.missing, {"words": ", ".join(lacking)})[:TEXT]),) if lacking else ()
        return Condensation(Condensed(self._items(facts), self._items(others), issues))

    def _items(self, quotes: Sequence[Scored]) -> tuple[Item, ...]:
        """Quotes in the order of the passages; those of superseded editions last."""
        ordered = sorted(quotes, key=lambda quote: (quote.late, quote.place))
        return tuple(Item(self._text(quote), (quote.number,)) for quote in ordered)

    def _text(self, quote: Scored) -> str:
        above = " > ".join(filter(None, (quote.statement.path, quote.statement.caption, quote.statement.header)))
        return fill(self.item, {"above": above, "text": quote.statement.text}) if above else quote.statement.text
