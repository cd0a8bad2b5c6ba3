"""Whether a message asks something that these documents could answer, before a model is asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.components.checks.failure_action import action_of
from rag.components.checks.nearness import similarity, worded
from rag.core.errors import ConfigError
from rag.core.records import Action, Finding, Query, Ranking
from rag.core.roles import Embedder, Scaled
from rag.core.text.stems import Stems, check_language


@dataclass(frozen=True)
class OffTopicCheck:
    """Abstains for pleasantries, and for questions that share neither words nor sense with the passages that were found.

    A pleasantry has one of `pleasantries`, no other word that means something but `fillers`, and no question mark. A first
    question without any word that means something asks nothing either. Of other questions, those are off topic of whose stems
    the passages and their headings hold a share of `words` at most, and whose nearest passage has a cosine below `floor`, by
    default that of the embedder (`Scaled`). Where none is known, only questions that share no stem at all are off topic.

    Where nothing was found nothing is said. A question with turns before it is also tried together with the person's last one,
    as in `retrieval_floor`. Nothing is embedded for a question that shares more words, and no passage behind one that reaches
    the floor. `on_failure` is refuse or flag.
    """

    embedder: Embedder
    words: float = 0.67
    floor: float | None = None
    pleasantries: str = ""
    fillers: str = ""
    language: str = "english"
    on_failure: str = "refuse"

    def __post_init__(self) -> None:
        action_of("off_topic", self.on_failure, "needs none")
        if self.on_failure == "regenerate":
            what = "is 'regenerate', and there is nothing to ask again before a model is asked"
            raise ConfigError("check.off_topic.on_failure", what, "refuse or flag")
        if not 0 <= self.words <= 1:
            raise ConfigError("check.off_topic.words", f"is {self.words}", "a share, from 0 to 1")
        if self.floor is not None and not -1 <= self.floor <= 1:
            raise ConfigError("check.off_topic.floor", f"is {self.floor}", "a cosine, from -1 to 1, or null")
        check_language("check.off_topic.language", self.language)

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """One finding for a message that is declined."""
        reader = Stems(self.language)
        told = ["" if self._asks(query, reader) else "this asks nothing" for query in queries]
        shares = [_share(query, found, reader) for query, found in zip(queries, contexts, strict=True)]
        doubtful = [number for number, share in enumerate(shares) if not told[number] and share <= self.words]
        cosines = self._cosines([queries[number] for number in doubtful], [contexts[number] for number in doubtful])
        for number, cosine in zip(doubtful, cosines, strict=True):
            told[number] = self._told(shares[number], cosine)
        action: Action = "flag" if self.on_failure == "flag" else "abstain"
        return [[Finding("off_topic", what, action)] if what else [] for what in told]

    @property
    def _floor(self) -> float | None:
        if self.floor is not None:
            return self.floor
        return self.embedder.unrelated() if isinstance(self.embedder, Scaled) else None

    def _cosines(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[float]:
        """The cosine of the nearest passage, or of the first that reaches the floor; 1 where no floor is known.

        Passages are embedded one rank after the other: most questions need the first of them only.
        """
        floor = self._floor
        if floor is None:
            return [1.0] * len(queries)
        best = [-1.0] * len(queries)
        for rank in range(max(map(len, contexts), default=0)):
            rest = [number for number, found in enumerate(contexts) if best[number] < floor and rank < len(found)]
            ranked = [contexts[number][rank : rank + 1] for number in rest]
            for number, cosine in zip(rest, similarity(self.embedder, [queries[one] for one in rest], ranked), strict=True):
                best[number] = max(best[number], cosine)
        return best

    def _told(self, share: float, cosine: float) -> str:
        floor, common = self._floor, f"{share:.0%} of its words stand in the passages"
        if floor is None:
            return "" if share else "no word of the question stands in a passage"
        return f"{common}, and the nearest has a cosine of {cosine:.3f}, below {floor}" if cosine < floor else ""

    def _asks(self, query: Query, reader: Stems) -> bool:
        """Whether a message is a question: it says something, and is no pleasantry."""
        said = {word.lower().replace("’", "'") for word in reader.terms(query.text)}
        polite = set(self.pleasantries.split())
        if "?" not in query.text and said & polite and said <= polite | set(self.fillers.split()):
            return False
        return bool(said or query.history)


def _share(query: Query, found: Ranking, reader: Stems) -> float:
    """The share of a question's stems that passages and their headings hold; 1 where there are no stems or no passages."""
    asked = [stems for stems in map(reader.of, worded(query)) if stems]
    if not asked or not found:
        return 1.0
    texts = {text for hit in found for text in (hit.chunk.text, *(section.path for section in hit.chunk.sections))}
    held = frozenset[str]().union(*map(reader.of, texts))
    return max(len(stems & held) / len(stems) for stems in asked)
