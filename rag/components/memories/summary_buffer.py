"""The last turns as they were said, and a running summary of what stands before them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag.components.memories.statements import Exchange, exchanges
from rag.components.memories.summaries import Older, Summarizer, Summary
from rag.core.errors import ConfigError
from rag.core.records import Query, Recalled
from rag.core.roles import fingerprint
from rag.core.text.tokens import count


@dataclass
class _Fold:
    """A conversation on the way through its exchanges: what is summed up, what is verbatim, and what comes next.

    `last` is what the newest exchange took; earlier summaries were paid for by earlier questions.
    """

    coming: list[Exchange]
    verbatim: list[Exchange] = field(default_factory=list)
    last: Summary = field(default_factory=lambda: Summary(""))
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SummaryBufferMemory:
    """Keeps up to `turns` messages and `tokens` tokens as they were said; None sets no limit, 0 sums everything up.

    A conversation is folded exchange by exchange (a question with its answer). One that overflows a limit has its oldest
    exchanges added to the summary until at most `keep` of the limit is left, so that not every turn needs a new summary. What
    is recalled depends on the history alone, and the summaries of a growing conversation are made once if the summarizer's
    replies are stored. `summary_tokens` is the longest summary.
    """

    summarizer: Summarizer
    turns: int | None = 8
    tokens: int | None = None
    keep: float = 0.5
    summary_tokens: int = 200

    def __post_init__(self) -> None:
        if not isinstance(self.summarizer, Summarizer):
            raise ConfigError(
                "memory.summarizer", f"{self.summarizer!r} sums nothing up", "a class of rag.components.memories.summaries"
            )
        for name in ("turns", "tokens"):
            if (limit := getattr(self, name)) is not None and limit < 0:
                raise ConfigError(f"memory.{name}", f"is {limit}", "0 or more, or null for no limit")
        if self.turns is None and self.tokens is None:
            raise ConfigError("memory.turns", "has no limit, and memory.tokens has none", "a limit, or memory=buffer")
        if not 0 <= self.keep <= 1:
            raise ConfigError("memory.keep", f"is {self.keep}", "a share of the limits from 0 to 1")
        if self.summary_tokens < 1:
            raise ConfigError("memory.summary_tokens", f"is {self.summary_tokens}", "1 or more")

    def fingerprint(self) -> str:
        """The summarizer's."""
        return fingerprint(self.summarizer)

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """A summary and the last turns of every history."""
        folds = [_Fold(exchanges(query.history)) for query in queries]
        known: dict[Older, Summary] = {}
        while any(fold.coming for fold in folds):
            self._step([fold for fold in folds if fold.coming], known)
        return [_recalled(fold) for fold in folds]

    def _step(self, folds: Sequence[_Fold], known: dict[Older, Summary]) -> None:
        """Add one exchange to each conversation, and sum up where it overflows."""
        wanted: list[tuple[_Fold, Older]] = []
        for fold in folds:
            fold.verbatim.append(fold.coming.pop(0))
            fold.last = Summary(fold.last.text)
            if leaving := self._leaving(fold.verbatim):
                wanted.append((fold, Older(fold.last.text, tuple(turn for one in leaving for turn in one))))
                del fold.verbatim[: len(leaving)]
        new = [older for older in dict.fromkeys(older for _, older in wanted) if older not in known]
        known.update(zip(new, self.summarizer.summarise(new, self.summary_tokens) if new else (), strict=True))
        for fold, older in wanted:
            fold.last = known[older]
            fold.notes += [fold.last.note] if fold.last.note else []

    def _leaving(self, verbatim: Sequence[Exchange]) -> Sequence[Exchange]:
        """The oldest exchanges that must go into the summary; none where nothing overflows."""
        if self._fits(verbatim, 1.0):
            return ()
        stop = next(stop for stop in range(1, len(verbatim) + 1) if self._fits(verbatim[stop:], self.keep))
        return verbatim[:stop]

    def _fits(self, verbatim: Sequence[Exchange], share: float) -> bool:
        turns = [turn for exchange in verbatim for turn in exchange]
        if self.turns is not None and len(turns) > self.turns * share:
            return False
        return self.tokens is None or sum(count(turn.text) for turn in turns) <= self.tokens * share


def _recalled(fold: _Fold) -> Recalled:
    turns = tuple(turn for exchange in fold.verbatim for turn in exchange)
    note = "; ".join(dict.fromkeys(fold.notes))
    return Recalled(turns, fold.last.text, fold.last.tokens, fold.last.cost, note)
