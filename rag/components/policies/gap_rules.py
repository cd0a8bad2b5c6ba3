"""A gap loop without a model: parts of a question by its words, further searches by the names that its passages bring up."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

from rag.components.policies.gap_loop import WORD, GapLoop, Texts, names
from rag.components.policies.trail import Trail
from rag.core.checks import check_whole
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.core.text.languages import check_language
from rag.core.text.stems import Stems
from rag.core.types import Query

LINKED = 2.0
"""Factor of the weight of a name that other chunks begin with: a document about it, or a section."""
MOST_LINKED = 3
"""A name that more chunks begin with points nowhere."""


@dataclass(frozen=True)
class Bridge:
    """A name in a passage that the question does not have: `position` is that of the passage."""

    weight: float
    name: str
    position: int


@dataclass(frozen=True, kw_only=True)
class RuleGapLoop(GapLoop):
    """Takes comparisons and double questions apart, and follows names from passages to other passages.

    A question with one of the words of `comparing` and several names becomes one search per name, without the other names. A
    question with one of `joining` before one of `asking` is cut there; a part without a name gets those of the part before it.

    The first `passages` bring up names that the question does not have. The weight of a name is the rarity of its words, by
    the number of chunks that have them, divided by the square root of their number and of the rank of the passage; it is
    doubled for a name that other chunks begin with. The best names are searched for with the question, and with those words of
    the question that the passage does not have. Nothing is missing if the best passage has all words of the question.
    """

    comparing: str = ""
    joining: str = ""
    asking: str = ""
    connecting: str = ""
    passages: int = 3
    language: str = "english"
    languages: Sequence[str] = ("english",)
    reads: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_language("policy.language", self.language)
        check_whole("policy.passages", self.passages, 1)

    @cached_property
    def _connecting(self) -> frozenset[str]:
        return frozenset(self.connecting.split())

    def parts(self, query: Query, trail: Trail) -> Sequence[Texts]:
        """The question once per thing that it compares, or its clauses."""
        question = trail.tools.sought.question
        words = [word[0].lower() for word in WORD.finditer(question)]
        named = names(question, self._connecting - set(self.joining.split()), Stems(self.language).light)
        compared = len(named) > 1 and set(words) & set(self.comparing.split())
        found = list(self._compared(question, named)) if compared else list(self._clauses(question, named))
        if found:
            trail.note("decompose", question, " | ".join(found))
        return [(text,) for text in found]

    def _compared(self, question: str, named: Sequence[str]) -> Iterator[str]:
        for kept in named:
            text = question
            for name in named:
                if name != kept and name in text and name not in kept:
                    before, _, after = text.partition(name)
                    text = self._unjoined(before.split(), after.split())
            yield text

    def _unjoined(self, before: list[str], after: list[str]) -> str:
        """The words around a name that is taken out, without the joining word before or after it."""
        joining = self.joining.split()
        if before and before[-1].lower() in joining:
            before = before[:-1]
        elif after and after[0].lower() in joining:
            after = after[1:]
        return " ".join((*before, *after))

    def _clauses(self, question: str, named: Sequence[str]) -> Iterator[str]:
        words = list(WORD.finditer(question))
        joining, asking = set(self.joining.split()), set(self.asking.split())
        pairs = pairwise(words)
        cuts = [first for first, second in pairs if first[0].lower() in joining and second[0].lower() in asking]
        if not cuts:
            return
        starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(question)]
        before = ""
        for start, end in zip(starts, ends, strict=True):
            clause = question[start:end].strip(" ,;?")
            own = [name for name in named if name in clause]
            yield clause if own else f"{clause} {before}".strip()
            before = " ".join(own) or before

    def missing(self, query: Query, best: Rankings, trail: Trail) -> Sequence[Texts]:
        """Searches for the names that the best passages bring up."""
        corpus, question, stems = trail.tools.corpus, trail.tools.sought.question, Stems(self.language)
        asked = stems.of(question)
        first = [position for position, _ in best.first(self.passages).row(0)]
        if not first or asked <= stems.of(corpus.index_text(first[0])):
            trail.note("gap", question, "nothing is missing")
            return ()
        known = {position for position, _ in best.first(trail.tools.k).row(0)}
        best_of = dict[str, Bridge]()
        for each in self._bridges(first, known, asked, corpus, stems):
            if each.name not in best_of or each.weight > best_of[each.name].weight:
                best_of[each.name] = each
        chosen = sorted(best_of.values(), key=lambda each: (-each.weight, each.name))
        texts = [self._texts(each, question, corpus, stems) for each in chosen]
        trail.note("gap", question, " | ".join(each.name for each in chosen[:5]) or "no name leads further")
        return texts

    def _bridges(
        self, first: Sequence[int], known: set[int], asked: frozenset[str], corpus: Corpus, stems: Stems
    ) -> Iterator[Bridge]:
        for rank, position in enumerate(first, 1):
            for name in names(corpus.text(position), self._connecting, stems.light):
                terms = [term for term in stems.terms(name) if stems.stems([term])[0] not in asked]
                linked = [other for other in corpus.opening(name) if other != position]
                if not terms or known & set(linked):
                    continue
                rarity = sum(math.log((len(corpus) + 1) / (corpus.frequency(term) + 0.5)) for term in terms)
                factor = LINKED if 0 < len(linked) <= MOST_LINKED else 1.0
                yield Bridge(factor * rarity / math.sqrt(len(terms) * rank), name, position)

    def _texts(self, bridge: Bridge, question: str, corpus: Corpus, stems: Stems) -> Texts:
        covered = stems.of(corpus.index_text(bridge.position))
        open_words = [term for term in stems.terms(question) if stems.stems([term])[0] not in covered]
        return tuple(dict.fromkeys((f"{bridge.name} {question}", " ".join((bridge.name, *open_words)))))
