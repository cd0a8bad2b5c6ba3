"""The tokens and cost that models are expected to take, before any request."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag.config.build import TARGET, Components
from rag.config.identity import digest
from rag.core.assessments import REFERENCE, Spent
from rag.core.errors import ConfigError
from rag.core.models.chat import CHARACTERS
from rag.core.roles import Batched, CappedPolicy, CostEstimate, changes_nothing, fingerprint
from rag.evaluation.data.golden import Golden
from rag.execution.graph.stage_graph import Graph, Stage
from rag.execution.store.budget import Terms
from rag.execution.store.cached_replies import typical
from rag.execution.store.store import Store

JUDGED = 5
"""Assumed number of passages that a judge reads with an answer."""
TWICE = 2
"""Requests for every question that is timed, and the most for a document whose fields a model reads."""
PASSAGE = 200
"""Assumed tokens of a question with its instructions, and of a passage before chunks are stored."""
REPLY = 100
"""Assumed tokens of a reply before one is stored."""


ASKING: Mapping[str, tuple[str, ...]] = {
    "rewrite": ("queries",),
    "shape": ("shape", "memory"),
    "route": ("route",),
    "policy": ("policy",),
    "condense": ("condense",),
    "audit": ("shape", "policy", "condense"),
}
"""Stages of links → their roles that may ask a model; an audit shapes again, and may look and condense once more."""
READING = ("generator", "judge", "passage", "enrich", "policy", "shape", "condense")
"""Roles whose requests have passages."""


@dataclass(frozen=True)
class Cap:
    """The most requests and tokens of a policy for one question; `grows`: a request repeats the passages of earlier ones."""

    calls: int = 1
    tokens: int | None = None
    grows: bool = False

    @property
    def reread(self) -> float:
        """How often the passages of one search are in a request, in the mean."""
        return (self.calls + 1) / 2 if self.grows else 1


NO_CAP = Cap()


@dataclass(frozen=True)
class Outlook:
    """Expected spending: `likely` by stored replies, `most` if no reply is stored and every reply has its greatest length."""

    likely: Spent = field(default_factory=Spent)
    most: Spent = field(default_factory=Spent)

    def __add__(self, other: "Outlook") -> "Outlook":
        return Outlook(self.likely + other.likely, self.most + other.most)


@dataclass
class Forecast:
    """Expected spending of the stages of a graph, one after the other: requests of earlier stages are not counted again."""

    graph: Graph
    store: Store
    _asked: set[str] = field(default_factory=set)
    _replies: dict[str, int] = field(default_factory=dict)
    _passages: dict[str, tuple[float, int]] = field(default_factory=dict)

    def of(self, stage: Stage, golden: Golden) -> Outlook:
        """The spending of a stage: requests per question, chunk or document, per part of an answer, or up to a cap."""
        times, k, questions, fresh = 1, int(stage.values.get("k", 0)), len(golden.examples), self.fresh(stage, golden)
        if stage.name == "assess":
            needs = stage.values["needs"]
            times, k = len(needs) + (REFERENCE in needs), JUDGED  # a reference is compared in both directions
        elif stage.name == "latency":
            questions, times = min(questions, int(stage.values["latency"])), TWICE
        elif stage.name == "passage":
            size, count = self._passage(stage.inputs["corpus"])
            questions = fresh = count or round(golden.characters / CHARACTERS / size)
        elif stage.name == "enrich":
            questions = fresh = len(golden.documents)
            questions *= TWICE  # A reply with a problem is answered once.
        elif stage.name not in (*ASKING, "generate", "converse"):
            return Outlook()  # A check repeats a request only where it fails.
        whole, total = stage.name in ("converse", "latency"), Outlook()
        shaped = whole and not changes_nothing(self._built(stage.nodes["shape"], "shape"))
        for role, node in stage.nodes.items():
            if role not in ASKING.get(stage.name, (role,)):
                continue
            policy = self._built(node, role) if role == "policy" else None
            cap = Cap(policy.most_calls, policy.tokens, policy.grows) if isinstance(policy, CappedPolicy) else NO_CAP
            # In a whole pipeline a shaper is asked before and after the search, and may have the middle part run once more.
            again = TWICE if shaped and role in ("shape", "policy", "condense") else 1
            for component in spenders(self.graph.components.without_inner, node, role):
                prompt = PASSAGE + (round(self._read(stage, golden, k) * cap.reread) if role in READING else 0)
                if prompt > (window := getattr(component, "priced", {}).get("window", math.inf)):
                    what = f"reads prompts of about {prompt:,} tokens, more than {fingerprint(component)} takes: {window:,}"
                    raise ConfigError(role, what, f"lower k, or context_tokens={max(1, int(window) - 2 * PASSAGE)}")
                calls = times * cap.calls * again
                likely = component.spending(min(questions, fresh) * calls, prompt, self._reply(component))
                most = component.spending(questions * calls, prompt, None)
                share = component.share if stage.name == "generate" and isinstance(component, Batched) else 1
                both = (Spent(tokens, cost * share) for tokens, cost in (likely, most))
                total += Outlook(*(_within(each, cap.tokens, questions * times * again) for each in both))
        return total

    def _built(self, node: Any, role: str) -> Any:
        return self.graph.components.without_inner.build(node, role)

    def fresh(self, stage: Stage, golden: Golden) -> int:
        """The number of questions that no earlier stage asks in the same words.

        Stages that differ only in their memory ask the same where a question has no history; stages that differ only in their
        screens ask the same or nothing.
        """
        if stage.name != "generate":
            return len(golden.examples)
        nodes = {role: node for role, node in stage.nodes.items() if role not in ("memory", "screens")}
        inputs = {name: key for name, key in stage.inputs.items() if name != "screen"}
        alike = digest(nodes, dict(stage.values), inputs)
        recalled = digest(alike, stage.nodes["memory"])
        later = sum(1 for example in golden.examples if example.query.history)
        count = (0 if recalled in self._asked else later) + (0 if alike in self._asked else len(golden.examples) - later)
        self._asked |= {alike, recalled}
        return count

    def _read(self, stage: Stage, golden: Golden, k: int) -> int:
        """Tokens of the passages and pinned documents of a prompt."""
        if stage.name in ("passage", "enrich"):  # Each chunk is read with its document, and each document is read.
            lengths = [len(document.text) for document in golden.documents]
            mean = round(sum(length * length for length in lengths) / max(sum(lengths), 1))
            nodes = stage.nodes["enrich"].values() if stage.name == "enrich" else [stage.nodes["passage"]]
            return int(min(mean, max(each.get("document_chars", 0) for each in nodes) or mean)) // CHARACTERS
        limit = stage.values.get("context_tokens")
        pinned = set(stage.values.get("pinned") or ())
        whole = sum(len(document.text) for document in golden.documents if document.doc_id in pinned)
        contexts = k * self._passage(stage.inputs.get("corpus", ""))[0]
        return round(contexts if limit is None else min(contexts, limit)) + whole // CHARACTERS

    def _passage(self, corpus: str) -> tuple[float, int]:
        """Mean tokens and number of stored chunks; PASSAGE and 0 where none are stored."""
        if corpus not in self._passages:
            stage = self.graph.stages.get(corpus)
            if stage and stage.name == "passage":  # It has the chunks of its input.
                return self._passage(stage.inputs["corpus"])
            entry = self.store.read(stage.entry) if stage else None
            count = len(entry.arrays.get("end", ())) if entry else 0
            characters = float((entry.arrays["end"] - entry.arrays["start"]).mean()) if entry and count else 0.0
            self._passages[corpus] = characters / CHARACTERS or PASSAGE, count
        return self._passages[corpus]

    def _reply(self, component: Any) -> int:
        model = fingerprint(component)
        if model not in self._replies:
            self._replies[model] = typical(self.store, component) or REPLY
        return self._replies[model]


def _within(spent: Spent, tokens: int | None, questions: int) -> Spent:
    """The spending under a limit of tokens for each question."""
    if tokens is None or spent.tokens <= tokens * questions:
        return spent
    return Spent(tokens * questions, spent.cost * tokens * questions / spent.tokens)


def spenders(components: Components, node: Any, where: str) -> Iterator[Any]:
    """The components of a config with an estimate of their spending; it includes the components inside them."""
    if not isinstance(node, Mapping):
        return
    if TARGET in node and hasattr(component := components.build(node, where), "spending"):
        yield component
        return
    for name, part in node.items():
        yield from spenders(components, part, f"{where}.{name}")


def within(components: Components, config: Mapping[str, Any], terms: Terms) -> Mapping[str, Any]:
    """The config of a trial under some terms; ConfigError for a budget in money and a model of unknown price.

    Timed requests are always sent and never stored, so models are not timed where requests are limited or not allowed.
    """
    if not terms.limited and terms.replay == "use":
        return config
    asked = [part for name, node in config.items() for part in spenders(components.without_inner, node, name)]
    for component in asked:
        if terms.usd is not None and isinstance(component, CostEstimate) and math.isnan(component.spending(1, 1, None)[1]):
            what = f"cannot be kept: the price of {fingerprint(component)} is not known"
            raise ConfigError("budget.usd", what, "write it into conf/prices.yaml or runtime.price, or limit budget.tokens")
    return {**config, "latency": 0} if asked else config
