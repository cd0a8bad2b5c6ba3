"""What a run may spend on models, and what it spent: kept in the store, so that all its processes count together."""

import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rag.config.parameters import yaml_text
from rag.core.assessments import Spent
from rag.core.errors import BudgetError, ConfigError, closest
from rag.execution.store.store import Entry, Store

REPLAYS = ("use", "only")


@dataclass(frozen=True)
class Terms:
    """How a run deals with models.

    `replay` is `use`, which takes stored replies and asks for those that are missing, or `only`, which asks for none. `tokens`
    and `usd` (US dollars) are what one run may spend, None for no limit.
    """

    replay: str = "use"
    tokens: float | None = None
    usd: float | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Terms":
        """The terms that a config names; ConfigError for what are none. Configs of former times have no limits."""
        replay, budget = config.get("replay", "use"), config.get("budget") or {}
        if replay not in REPLAYS:
            raise ConfigError("replay", f"is {yaml_text(replay)}", closest(str(replay), REPLAYS))
        if not isinstance(budget, Mapping):
            raise ConfigError("budget", f"is {yaml_text(budget)}", "for example budget.usd=5 or budget.tokens=100000")
        for name, value in budget.items():
            if name not in ("tokens", "usd"):
                raise ConfigError(f"budget.{name}", "is no limit", closest(str(name), ("tokens", "usd")))
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0):
                raise ConfigError(f"budget.{name}", f"is {yaml_text(value)}", "a number from 0, or null for no limit")
        return cls(replay, budget.get("tokens"), budget.get("usd"))

    @property
    def limited(self) -> bool:
        """Whether anything is limited."""
        return self.tokens is not None or self.usd is not None

    @property
    def where(self) -> str:
        """The key of the config that limits, for people."""
        return "budget.tokens" if self.usd is None else "budget.usd" if self.tokens is None else "budget"


def common(configs: Iterable[Mapping[str, Any]]) -> Terms:
    """The terms that all trials of a sweep share; ConfigError where they differ."""
    found = list(dict.fromkeys(Terms.of(config) for config in configs))
    if len(found) > 1:
        raise ConfigError("budget, replay", "differ between trials", "set them once, for the whole sweep")
    return found[0] if found else Terms()


class Ledger:
    """What one run spends on models, written down in the store before and after every batch of requests."""

    def __init__(self, store: Store, terms: Terms) -> None:
        self.store, self.terms = store, terms
        self.space = f"ledger/{uuid.uuid4().hex}"
        self._settled: dict[str, Spent] = {}

    def spent(self) -> Spent:
        """Everything so far, what is under way as it was expected; what was seen once counts though the store be cleared."""
        return sum(self._entries(), Spent())

    def _entries(self) -> tuple[Spent, Spent]:
        """What was spent, and what is held for requests that are under way."""
        held = Spent()
        for key in self.store.keys(self.space):
            meta = None if key in self._settled else self.store.read_meta(key)
            if meta is None:
                continue
            found = Spent(meta["tokens"], math.nan if meta["usd"] is None else meta["usd"])
            if meta["open"]:
                held += found
            else:
                self._settled[key] = found
        return sum(self._settled.values(), Spent()), held

    @contextmanager
    def entered(self, expected: Sequence[Spent]) -> Iterator[tuple[int, Callable[[Spent], None]]]:
        """Write down as many requests, in their order, as still fit as they are expected; BudgetError if not even one does.

        Gives their number, and the function that writes down what they took; nothing stays of a batch that broke off. To look
        and to write is one step for all processes that share a folder. Where no lock holds, as behind a URL, who has written
        looks again: of processes that look at the same moment all may be refused, and no two get what fits one.
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
        for one in expected:
            total += one
            if not self._fits(total):
                break
            fitting += 1
        if not fitting:
            raise self._refused()
        return fitting

    def _refused(self) -> BudgetError:
        return BudgetError(self.terms.where, self._said(), "raise it, or run again: what is stored is not paid for twice")

    def _fits(self, total: Spent) -> bool:
        tokens, usd = self.terms.tokens, self.terms.usd
        # An unknown price fits no budget in money.
        return (tokens is None or total.tokens <= tokens) and (usd is None or total.cost <= usd)

    def _said(self) -> str:
        spent, held = self._entries()
        told = f"{_figures(spent)} are spent" if held.tokens else f"is spent: {_figures(spent)}"
        others = f", {_figures(held)} are held for requests that other processes wait for" if held.tokens else ""
        return f"{told}{others}, and the next request would not fit"

    def _write(self, key: str, spent: Spent, *, is_open: bool) -> None:
        usd = None if math.isnan(spent.cost) else spent.cost
        self.store.write(key, Entry(meta={"tokens": spent.tokens, "usd": usd, "open": is_open}))


def _figures(spent: Spent) -> str:
    return f"{spent.tokens:,.0f} tokens, {spent.cost:.4f} US dollars".replace(", nan US dollars", " at an unknown price")
