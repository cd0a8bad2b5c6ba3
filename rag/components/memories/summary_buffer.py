"""The last turns word for word, and a running summary of the turns before them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rag.components.memories.summaries import Older, Summarizer, Summary
from rag.core.checks import check_number, check_whole
from rag.core.errors import ConfigError
from rag.core.text.statements import Exchange, exchanges
from rag.core.text.tokens import count
from rag.core.types import Query, Recalled


@dataclass
class _Fold:
    """A conversation that is read exchange by exchange: those still to read, those kept word for word, the latest summary.

    `last` holds the tokens and cost of the newest exchange alone; earlier questions paid for earlier summaries.
    """

    coming: list[Exchange]
    verbatim: list[Exchange] = field(default_factory=list)
    last: Summary = field(default_factory=lambda: Summary(""))
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SummaryBufferMemory:
    """Keeps up to `turns` messages and `tokens` tokens word for word; None sets no limit, 0 summarises everything.

    A conversation is read exchange by exchange (a question with its answer). When a limit is exceeded, the oldest exchanges go
    into the summary until at most the share `keep` of the limit is left, so that not every turn needs a new summary. The result
    depends on the history alone; with stored replies, the summaries of a growing conversation are made once. A summary has at
    most `summary_tokens` tokens.
    """

    summarizer: Summarizer
    turns: int | None = 8
    tokens: int | None = None
    keep: float = 0.5
    summary_tokens: int = 200

    def __post_init__(self) -> None:
        for name in ("turns", "tokens"):
            if (limit := getattr(self, name)) is not None:
                check_whole(f"memory.{name}", limit, 0, hint="null for no limit")
        if self.turns is None and self.tokens is None:
            raise ConfigError("memory.turns", "has no limit, and memory.tokens has none", "a limit, or memory=buffer")
        check_number("memory.keep", self.keep, 0, 1)
        check_whole("memory.summary_tokens", self.summary_tokens, 1)

    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        """The summary and the last turns of every history."""
        folds = [_Fold(exchanges(query.history)) for query in queries]
        known: dict[Older, Summary] = {}
        while any(fold.coming for fold in folds):
            self._step([fold for fold in folds if fold.coming], known)
        return [_recalled(fold) for fold in folds]

    def _step(self, folds: Sequence[_Fold], known: dict[Older, Summary]) -> None:
        """Add one exchange to each conversation, and summarise those that exceed a limit."""
        wanted: list[tuple[_Fold, Older]] = []
        for fold in folds:
            fold.verbatim.append(fold.coming.pop(0))
            fold.last = Summary(fold.last.text)
            if leaving := self._leaving(fold.verbatim):
                wanted.append((fold, Older(fold.last.text, tuple(turn for exchange in leaving for turn in exchange))))
                del fold.verbatim[: len(leaving)]
        new = [older for older in dict.fromkeys(older for _, older in wanted) if older not in known]
        known.update(zip(new, self.summarizer.summarise(new, self.summary_tokens) if new else (), strict=True))
        for fold, older in wanted:
            fold.last = known[older]
            fold.notes += [fold.last.note] if fold.last.note else []

    def _leaving(self, verbatim: Sequence[Exchange]) -> Sequence[Exchange]:
        """The oldest exchanges that must go into the summary; none within the limits."""
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
