"""What models are expected to take, before anything is asked of them."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rag.budget import Terms
from rag.build import TARGET, Components
from rag.claims import Spent
from rag.errors import ConfigError
from rag.graph import Stage
from rag.roles import Generator, fingerprint

JUDGED = 5
"""Passages that a judge is taken to read beside an answer."""
TWICE = 2
"""Times that a question is asked when it is timed."""


def of(components: Components, stage: Stage, questions: int) -> Spent:
    """Tokens and US dollars that a stage may take: one request per question, and what a judge is asked of an answer each."""
    times, k = 1, int(stage.values.get("k", 0))
    if stage.name == "assess":
        times, k = len(stage.values["needs"]), JUDGED
    elif stage.name == "latency":
        questions, times = min(questions, int(stage.values["latency"])), TWICE
    elif stage.name not in ("rewrite", "generate", "converse"):
        return Spent()  # What is checked is asked again only where a check fails.
    spent = Spent()
    for role, node in stage.nodes.items():
        read = k if role in ("generator", "judge") else 0
        for component in spenders(components, node, role):
            spent += Spent(*component.spending(questions * times, read))
    return spent


def spenders(components: Components, node: Any, where: str) -> Iterator[Any]:
    """The components of a config, at any depth, that say what they spend; what stands inside of one speaks through it."""
    if not isinstance(node, Mapping):
        return
    if TARGET in node and hasattr(component := components.build(node, where), "spending"):
        yield component
        return
    for name, part in node.items():
        yield from spenders(components, part, f"{where}.{name}")


def within(components: Components, config: Mapping[str, Any], terms: Terms) -> Mapping[str, Any]:
    """The config of a trial under some terms; ConfigError where a budget in money meets a model of unknown price.

    What is timed is asked anew and kept nowhere, so models are not timed where requests are counted or not allowed.
    """
    if not terms.limited and terms.replay == "use":
        return config
    asked = [component for name, node in config.items() for component in spenders(components, node, name)]
    for component in asked:
        if terms.usd is not None and isinstance(component, Generator) and math.isnan(component.spending(1, 1)[1]):  # type: ignore[attr-defined]
            what = f"cannot be kept: nobody knows the price of {fingerprint(component)}"
            raise ConfigError("budget.usd", what, "write it into conf/prices.yaml or runtime.price, or limit budget.tokens")
    return {**config, "latency": 0} if asked else config
