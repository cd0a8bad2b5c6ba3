"""What models are expected to take, before anything is asked of them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag.config.build import TARGET, Components
from rag.config.identity import digest
from rag.core.assessments import Spent
from rag.core.errors import ConfigError
from rag.core.roles import CostEstimate, fingerprint
from rag.evaluation.data.golden import Golden
from rag.execution.graph.stage_graph import Graph, Stage
from rag.execution.store.budget import Terms
from rag.execution.store.cached_replies import CHARACTERS, typical
from rag.execution.store.store import Store

JUDGED = 5
"""Passages that a judge is taken to read beside an answer."""
TWICE = 2
"""Times that a question is asked when it is timed."""
PASSAGE = 200
"""Tokens that a passage is taken for before chunks are stored, and a question with its instructions always."""
REPLY = 100
"""Tokens that a reply is taken for before one is stored."""


@dataclass(frozen=True)
class Outlook:
    """What models may take: `likely` by what is stored, `most` if every reply is as long as it may be and none is there yet."""

    likely: Spent = field(default_factory=Spent)
    most: Spent = field(default_factory=Spent)

    def __add__(self, other: "Outlook") -> "Outlook":
        """Both."""
        return Outlook(self.likely + other.likely, self.most + other.most)


@dataclass
class Forecast:
    """What the stages of a graph may take, one after the other: it knows what those before have asked."""

    graph: Graph
    store: Store
    _asked: set[str] = field(default_factory=set)
    _replies: dict[str, int] = field(default_factory=dict)
    _passages: dict[str, float] = field(default_factory=dict)

    def of(self, stage: Stage, golden: Golden) -> Outlook:
        """One request per question, and what a judge is asked of an answer each."""
        times, k, questions, fresh = 1, int(stage.values.get("k", 0)), len(golden.examples), self.fresh(stage, golden)
        if stage.name == "assess":
            times, k = len(stage.values["needs"]), JUDGED
        elif stage.name == "latency":
            questions, times = min(questions, int(stage.values["latency"])), TWICE
        elif stage.name not in ("rewrite", "generate", "converse"):
            return Outlook()  # What is checked is asked again only where a check fails.
        found = Outlook()
        for role, node in stage.nodes.items():
            for component in spenders(self.graph.components, node, role):
                prompt = PASSAGE + (self._read(stage, golden, k) if role in ("generator", "judge") else 0)
                likely = component.spending(min(questions, fresh) * times, prompt, self._reply(component))
                found += Outlook(Spent(*likely), Spent(*component.spending(questions * times, prompt, None)))
        return found

    def fresh(self, stage: Stage, golden: Golden) -> int:
        """Questions of a stage that no stage before it asks in the same words.

        Stages that differ in their memory alone ask the same where nothing was said before, those that differ in their screens
        alone ask the same or nothing.
        """
        if stage.name != "generate":
            return len(golden.examples)
        nodes = {role: node for role, node in stage.nodes.items() if role not in ("memory", "screens")}
        inputs = {name: key for name, key in stage.inputs.items() if name != "screen"}
        alike = digest(nodes, dict(stage.values), inputs)
        recalled = digest(alike, stage.nodes["memory"])
        later = sum(1 for example in golden.examples if example.query.history)
        found = (0 if recalled in self._asked else later) + (0 if alike in self._asked else len(golden.examples) - later)
        self._asked |= {alike, recalled}
        return found

    def _read(self, stage: Stage, golden: Golden, k: int) -> int:
        """Tokens of what stands in a prompt beside question and instructions."""
        limit = stage.values.get("context_tokens")
        pinned = set(stage.values.get("pinned") or ())
        whole = sum(len(document.text) for document in golden.documents if document.doc_id in pinned)
        contexts = k * self._passage(stage.inputs.get("corpus", ""))
        return round(contexts if limit is None else min(contexts, limit)) + whole // CHARACTERS

    def _passage(self, corpus: str) -> float:
        if corpus not in self._passages:
            stage = self.graph.stages.get(corpus)
            entry = self.store.read(stage.entry) if stage else None
            count = len(entry.arrays.get("end", ())) if entry else 0
            characters = float((entry.arrays["end"] - entry.arrays["start"]).mean()) if entry and count else 0.0
            self._passages[corpus] = characters / CHARACTERS or PASSAGE
        return self._passages[corpus]

    def _reply(self, component: Any) -> int:
        model = fingerprint(component)
        if model not in self._replies:
            self._replies[model] = typical(self.store, component) or REPLY
        return self._replies[model]


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
        if terms.usd is not None and isinstance(component, CostEstimate) and math.isnan(component.spending(1, 1, None)[1]):
            what = f"cannot be kept: the price of {fingerprint(component)} is not known"
            raise ConfigError("budget.usd", what, "write it into conf/prices.yaml or runtime.price, or limit budget.tokens")
    return {**config, "latency": 0} if asked else config
