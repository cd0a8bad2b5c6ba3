"""The shape of a question by its first words and by the titles of documents; no model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from rag.core.checks import check_number
from rag.core.errors import ConfigError
from rag.core.look_checks import HEADERS, LABEL
from rag.core.looks import Shape
from rag.core.roles.looking import Anchors, Shaped, Viewed
from rag.core.text.languages import check_language
from rag.core.text.stems import Stems
from rag.core.text.templates import check_template, fill

NAMED = 2
"""The fewest words of a title that a question or the turn before it shares with the title."""


@dataclass(frozen=True, kw_only=True)
class RulesShaper:
    """The intent is that of the longest phrase that begins the question (`begins`), or of one that it has anywhere (`holds`).

    The domain is the title of a document. Before the search it is the only title that shares most words with the question, or
    else with the last turn of the user, and at least two or all of its words. In the audit it is the title with the share
    `share` of the passages, each weighted by 1 / rank; without one the domain stays. A question is also searched for with the
    words of its domain in `search`, unless it has them all.

    `headers` are lines of the prompt by intent, with the placeholder {domain}; those of `any` come with every domain.
    """

    begins: Mapping[str, Sequence[str]]
    holds: Mapping[str, Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    search: str = "{question} {domain}"
    share: float = 0.5
    language: str = "english"
    languages: Sequence[str] = ("english",)

    def __post_init__(self) -> None:
        check_number("shape.share", self.share, 0, 1)
        check_language("shape.language", self.language)
        check_template("shape.search", self.search, ("question", "domain"), ("question", "domain"))
        for intent, lines in self.headers.items():
            if intent not in ("any", *self.intents) or not {*lines} <= {*HEADERS}:
                known = f"intents: any, {', '.join(self.intents)}; names: {', '.join(HEADERS)}"
                raise ConfigError(f"shape.headers.{intent}", f"has the lines {', '.join(lines)}", known)
            for name, text in lines.items():
                check_template(f"shape.headers.{intent}.{name}", text, known=("domain",))

    @cached_property
    def intents(self) -> tuple[str, ...]:
        """The names of all intents."""
        return tuple(dict.fromkeys((*self.holds, *self.begins)))

    def shape(self, asked: Sequence[Anchors]) -> list[Shaped]:
        """The shapes before the search."""
        return [self._shaped(one, self._intent(one.question), self._guess(one)) for one in asked]

    def audit(self, asked: Sequence[Anchors], viewed: Sequence[Viewed]) -> list[Shaped]:
        """The same intents, with the documents in which most of the passages lie."""
        rows = zip(asked, viewed, strict=True)
        return [self._shaped(one, view.shape.intent, self._found(view.titles) or view.shape.domain) for one, view in rows]

    def _shaped(self, asked: Anchors, intent: str, domain: str) -> Shaped:
        lines = {**(self.headers.get("any", {}) if domain else {}), **self.headers.get(intent, {})}
        headers = tuple((name, fill(text, {"domain": domain})) for name, text in lines.items())
        stems = Stems(self.language)
        new = domain and stems.of(domain) - stems.of(asked.question)
        text = fill(self.search, {"question": asked.question, "domain": domain}) if new else ""
        return Shaped(Shape(intent, domain, headers), text)

    def _intent(self, question: str) -> str:
        words = f"{' '.join(question.casefold().split())} ".replace("?", " ?")
        held = [intent for intent, phrases in self.holds.items() if any(f" {phrase} " in f" {words}" for phrase in phrases)]
        begun = [
            (len(phrase), intent) for intent, some in self.begins.items() for phrase in some if words.startswith(f"{phrase} ")
        ]
        return held[0] if held else max(begun, default=(0, ""))[1]

    def _guess(self, asked: Anchors) -> str:
        said = [turn.text for turn in asked.recalled.turns if turn.role == "user"]
        known = _stems_of(asked.titles, self.language)
        for text in (asked.question, *said[-1:]):
            own = Stems(self.language).of(text)
            shared = {title: len(stems & own) for title, stems in known.items()}
            best = max(shared.values(), default=0)
            titles = [title for title, count in shared.items() if count == best and count >= min(NAMED, len(known[title])) > 0]
            if len(titles) == 1:
                return _label(titles[0])
        return ""

    def _found(self, titles: Sequence[str]) -> str:
        weights = Counter[str]()
        for rank, title in enumerate(titles, 1):
            weights[title] += 1 / rank  # type: ignore[assignment]
        (title, most), *_ = weights.most_common(1) or [("", 0)]
        return _label(title) if most and most >= self.share * sum(weights.values()) else ""


@lru_cache(maxsize=8)
def _stems_of(titles: tuple[str, ...], language: str) -> Mapping[str, frozenset[str]]:
    stems = Stems(language)
    return {title: stems.of(title) for title in titles}


def _label(title: str) -> str:
    """A title on one line, cut to the length of a label."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in title).split())[:LABEL].strip()
