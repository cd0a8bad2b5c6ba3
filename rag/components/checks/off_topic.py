"""Whether a message is a question on the topic of the documents, before a model is asked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rag.components.checks.failure_action import check_before_model, finding_before_model
from rag.components.checks.message_kinds import MessageKinds
from rag.components.checks.nearness import Near, nearest, question_vectors, wordings
from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.roles import Embedder, Scaled
from rag.core.text.languages import check_language
from rag.core.text.stems import Stems
from rag.core.types import Finding, Query, Ranking, Turn

SAYS = {"pleasantry": "this is a pleasantry", "conversation": "this is about the conversation"}


@dataclass(frozen=True)
class OffTopicCheck(Near):
    """Replies to messages that are no question, and abstains for those that share neither words nor meaning with the passages.

    `kinds` recognises pleasantries and questions about the conversation by their words, and replies to them; nothing is
    searched for then. A first message without any content word is off topic. Any other question is off topic if at most the
    share `words` of its stems is in the passages and their headings, and the cosine of its nearest passage is below `floor`, by
    default the floor of the embedder (`Scaled`). Without a floor, only questions that share no stem at all are off topic.

    Without passages the check passes. A follow-up of at most `short` stems, or with a word of `leaning`, is also tried
    together with the last turn of the user without such a word; another one names its own topic, and the words of that turn
    would let it pass.
    Questions that share more words need no vectors; passages are embedded in the order of their rank until one reaches the
    floor, and the vectors of recent passages are reused. `on_failure` is refuse or flag.
    """

    embedder: Embedder
    words: float = 0.67
    floor: float | None = None
    short: int = 2
    leaning: str = ""
    kinds: MessageKinds = field(default_factory=MessageKinds)
    language: str = "english"
    languages: Sequence[str] = ("english",)
    on_failure: str = "refuse"

    def __post_init__(self) -> None:
        check_before_model("off_topic", self.on_failure)
        check_number("check.off_topic.words", self.words, 0, 1)
        check_whole("check.off_topic.short", self.short, 0)
        if self.floor is not None:
            check_number("check.off_topic.floor", self.floor, -1, 1, "a cosine, or null")
        check_language("check.off_topic.language", self.language)
        if not isinstance(self.kinds, MessageKinds):
            raise ConfigError("check.off_topic.kinds", f"is {self.kinds!r}", "write it as in conf/check/off_topic.yaml")

    def reply(self, query: Query) -> Finding | None:
        """The finding on a pleasantry or a question about the conversation, with its reply; None for other messages."""
        found = self._kind(query)
        return found if found and found.reply else None

    def screen(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[list[Finding]]:
        """One finding for a message that is declined, or replied to."""
        reader, known = Stems(self.language), list(map(self._kind, queries))
        reasons = ["" if query.history or reader.terms(query.text) else "this asks nothing" for query in queries]
        queries = [replace(query, history=self._before(query, reader)) for query in queries]
        shares = [_share(query, ranking, reader) for query, ranking in zip(queries, contexts, strict=True)]
        doubtful = [
            number for number, share in enumerate(shares) if not (known[number] or reasons[number]) and share <= self.words
        ]
        cosines = self._cosines([queries[number] for number in doubtful], [contexts[number] for number in doubtful])
        for number, cosine in zip(doubtful, cosines, strict=True):
            reasons[number] = self._reason(shares[number], cosine)
        rows = zip(known, reasons, strict=True)
        return [[each] if each else [self._finding(reason, "off_topic")] if reason else [] for each, reason in rows]

    def _before(self, query: Query, reader: Stems) -> tuple[Turn, ...]:
        """The turns of the user up to the last that names a topic; none for a question that does not depend on them."""
        asked = [turn for turn in query.history if turn.role == "user"]
        while len(asked) > 1 and self._refers(asked[-1].text):
            asked.pop()
        return tuple(asked) if len(reader.of(query.text)) <= self.short or self._refers(query.text) else ()

    def _refers(self, text: str) -> bool:
        return not set(self.leaning.split()).isdisjoint(re.findall(r"\w+", text.lower()))

    def _kind(self, query: Query) -> Finding | None:
        kind, reply = self.kinds.kind(query)
        return self._finding(SAYS[kind], kind, reply) if kind else None

    def _finding(self, what: str, kind: str, reply: str = "") -> Finding:
        found = finding_before_model("off_topic", what, self.on_failure)
        return replace(found, input=kind, reply=reply if found.action == "abstain" else "")

    @property
    def _floor(self) -> float | None:
        if self.floor is not None:
            return self.floor
        return self.embedder.unrelated() if isinstance(self.embedder, Scaled) else None

    def _cosines(self, queries: Sequence[Query], contexts: Sequence[Ranking]) -> list[float]:
        """The cosine of the nearest passage, or of the first that reaches the floor; 1 without a floor."""
        floor = self._floor
        if floor is None:
            return [1.0] * len(queries)
        best, questions = [-1.0] * len(queries), question_vectors(self.embedder, queries)
        for rank in range(max(map(len, contexts), default=0)):
            rest = [number for number, ranking in enumerate(contexts) if best[number] < floor and rank < len(ranking)]
            passages = self.passages([contexts[number][rank].chunk.text for number in rest])
            for number, passage in zip(rest, passages, strict=True):
                best[number] = max(best[number], float(nearest(questions[number], passage[None]).max()))
        return best

    def _reason(self, share: float, cosine: float) -> str:
        floor, common = self._floor, f"{share:.0%} of its words are in the passages"
        if floor is None:
            return "" if share else "no word of the question is in a passage"
        return f"{common}, and the nearest has a cosine of {cosine:.3f}, below {floor}" if cosine < floor else ""


def _share(query: Query, ranking: Ranking, reader: Stems) -> float:
    """The share of a question's stems in passages and their headings; 1 without stems or passages."""
    asked = [stems for stems in map(reader.of, wordings(query)) if stems]
    if not asked or not ranking:
        return 1.0
    texts = {text for hit in ranking for text in (hit.chunk.text, *(section.path for section in hit.chunk.sections))}
    held = frozenset[str]().union(*map(reader.of, texts))
    return max(len(stems & held) / len(stems) for stems in asked)
