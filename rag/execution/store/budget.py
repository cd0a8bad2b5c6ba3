"""The budget of a run for models, and its spending: in the store, so that all processes of the run count together."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rag.config.parameters import yaml_text
from rag.core.assessments import Spent
from rag.core.checks import check_choice
from rag.core.errors import BudgetError, ConfigError
from rag.execution.store.store import Entry, Store

REPLAYS = ("use", "only")


@dataclass(frozen=True)
class Terms:
    """The terms on which a run may ask models.

    `replay` is `use` (stored replies are used, missing ones are requested) or `only` (nothing is requested). `tokens` and `usd`
    (US dollars) are the budget of one run, None for no limit.
    """

    replay: str = "use"
    tokens: float | None = None
    usd: float | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Terms":
        """The terms that a config names; ConfigError where they are not valid. Old configs have no limits."""
        replay, budget = config.get("replay", "use"), config.get("budget") or {}
        check_choice("replay", replay, REPLAYS)
        if not isinstance(budget, Mapping):
            raise ConfigError("budget", f"is {yaml_text(budget)}", "for example budget.usd=5 or budget.tokens=100000")
        for name, value in budget.items():
            check_choice("budget", name, ("tokens", "usd"))
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
                raise ConfigError(f"budget.{name}", f"is {yaml_text(value)}", "a number from 0, or null for no limit")
        return cls(replay, budget.get("tokens"), budget.get("usd"))

    @property
    def limited(self) -> bool:
        """Whether anything is limited."""
        return self.tokens is not None or self.usd is not None

    @property
    def where(self) -> str:
        """The config key of the limit, for error messages."""
        return "budget.tokens" if self.usd is None else "budget.usd" if self.tokens is None else "budget"


def common(configs: Iterable[Mapping[str, Any]]) -> Terms:
    """The terms that all trials of a sweep share; ConfigError where they differ."""
    terms = list(dict.fromkeys(Terms.of(config) for config in configs))
    if len(terms) > 1:
        raise ConfigError("budget, replay", "differ between trials", "set them once, for the whole sweep")
    return terms[0] if terms else Terms()


class Ledger:
    """The spending of one run on models, written to the store before and after every batch of requests."""

    def __init__(self, store: Store, terms: Terms) -> None:
        self.store, self.terms = store, terms
        self.space = f"ledger/{uuid.uuid4().hex}"
        self._settled: dict[str, Spent] = {}

    def spent(self) -> Spent:
        """Spending so far, open requests at their expected spending. Entries that are deleted meanwhile still count."""
        return sum(self._entries(), Spent())

    def _entries(self) -> tuple[Spent, Spent]:
        """Settled spending, and the expected spending of open requests."""
        held = Spent()
        for key in self.store.keys(self.space):
            meta = None if key in self._settled else self.store.read_meta(key)
            if meta is None:
                continue
            spent = Spent(meta["tokens"], meta["usd"])
            if meta["open"]:
                held += spent
            else:
                self._settled[key] = spent
        return sum(self._settled.values(), Spent()), held

    @contextmanager
    def entered(self, expected: Sequence[Spent]) -> Iterator[tuple[int, Callable[[Spent], None]]]:
        """Reserve the expected spending of as many requests, in their order, as fit; BudgetError if not even one does.

        Gives their number, and the function that records their real spending; the reservation of a batch that raised is
        removed. Processes that share a folder reserve one after the other. Behind a URL there is no lock, so every process
        checks again after writing: processes that reserve at the same moment may all be refused, and never exceed the budget.
        """
        key = f"{self.space}/{uuid.uuid4().hex}"
        done = False

        def settle(spent: Spent) -> None:
            nonlocal done
            self._write(key, spent, is_open=False)
            self._settled[key] = spent
            done = True

        if not self.terms.limited:
            yield len(expected), settle
            return
        with self.store.claim(self.space):
            count = self._fitting(expected)
            self._write(key, sum(expected[:count], Spent()), is_open=True)
            if not self._fits(self.spent()):
                self.store.remove(key)
                raise self._refused()
        try:
            yield count, settle
        finally:
            if not done:
                self.store.remove(key)

    def _fitting(self, expected: Sequence[Spent]) -> int:
        total, fitting = self.spent(), 0
        for spent in expected:
            total += spent
            if not self._fits(total):
                break
            fitting += 1
        if not fitting:
            raise self._refused()
        return fitting

    def _refused(self) -> BudgetError:
        return BudgetError(self.terms.where, self._reason(), "raise it, or run again: what is stored is not paid for twice")

    def _fits(self, total: Spent) -> bool:
        tokens, usd = self.terms.tokens, self.terms.usd
        # An unknown cost is NaN, which no budget in money admits.
        return (tokens is None or total.tokens <= tokens) and (usd is None or total.cost <= usd)

    def _reason(self) -> str:
        spent, held = self._entries()
        settled = f"{_figures(spent)} are spent" if held.tokens else f"is spent: {_figures(spent)}"
        others = f", {_figures(held)} are held for requests that other processes wait for" if held.tokens else ""
        return f"{settled}{others}, and the next request would not fit"

    def _write(self, key: str, spent: Spent, *, is_open: bool) -> None:
        self.store.write(key, Entry(meta={"tokens": spent.tokens, "usd": spent.cost, "open": is_open}))


def _figures(spent: Spent) -> str:
    return f"{spent.tokens:,.0f} tokens, {spent.cost:.4f} US dollars".replace(", nan US dollars", " at an unknown price")
