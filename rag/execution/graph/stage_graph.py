"""Keyed stages. A key is a hash of everything that goes into a stage, so it is known before anything runs.

key = sha256(stage name, code of all stages, identities of its components, its values, keys of its inputs). The identity of a
component covers target, parameters, code, library versions and model (`rag.config.build`). One hash covers the code of all
stages: a change in it costs one recomputation, a gap in it would keep wrong results.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rag.config.build import Components
from rag.config.identity import code_identity, digest
from rag.evaluation.data.golden import Golden

CODE = ("rag.execution.graph.engine", "rag.execution.store.cached_replies")
"""Modules whose imports reach all our code that a stage can run, except components: every key holds a hash of it."""


def stage_code() -> str:
    """A hash of the code of all stages, except components."""
    return digest(*map(code_identity, CODE))


@dataclass(frozen=True)
class Stage:
    """One piece of work: its name, the nodes of its components, its values, and the keys of its inputs by name."""

    key: str
    name: str
    nodes: Mapping[str, Any]
    values: Mapping[str, Any]
    inputs: Mapping[str, str]

    @property
    def entry(self) -> str:
        """The key of its result in the store."""
        return f"stages/{self.key}"

    @property
    def label(self) -> str:
        """The name of the stage and of its classes, for people."""
        targets = [
            str(node.get("_target_", "")).rsplit(".", 1)[-1] for node in self.nodes.values() if isinstance(node, Mapping)
        ]
        return f"{self.name} {' '.join(dict.fromkeys(filter(None, targets)))}".strip()

    @property
    def rate_key(self) -> str:
        """The key of the rate of stages with this name and these classes, for all parameters."""
        return f"rates/{digest(self.label)}"


@dataclass
class Graph:
    """Stages by key, inputs before those that read them; several trials may share one graph."""

    components: Components
    stages: dict[str, Stage] = field(default_factory=dict)

    def add(self, name: str, nodes: Mapping[str, Any], values: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
        """Add a stage unless an equal one is there; its key."""
        identities = {role: self._identity(role, node) for role, node in nodes.items()}
        key = digest(name, stage_code(), list(identities.items()), values, list(inputs.items()))
        self.stages.setdefault(key, Stage(key, name, dict(nodes), dict(values), dict(inputs)))
        return key

    def _identity(self, role: str, node: Any) -> Any:
        if role == "metrics":
            return {name: self.components.identity(part, f"metric.{name}") for name, part in node.items()}
        if role in ("indexes", "enrich", "selectors", "screens", "framings", "inspections"):
            group = "index." if role == "indexes" else ""
            return [(name, self.components.identity(part, f"{group}{name}")) for name, part in node.items()]
        return self.components.identity(node, role)

    def ancestors(self, *keys: str) -> Iterator[str]:
        """Stages and all stages that they need, each once, inputs first."""
        seen: dict[str, None] = {}
        for key in keys:
            self._visit(key, seen)
        return iter(seen)

    def _visit(self, key: str, seen: dict[str, None]) -> None:
        if key in seen or key not in self.stages:
            return
        for source in self.stages[key].inputs.values():
            self._visit(source, seen)
        seen[key] = None


def golden_of(graph: Graph, stage: Stage, goldens: Mapping[str, Golden]) -> Golden:
    """The questions that a stage reads, with the documents of its chunks: parsers may differ where questions are the same."""
    nearest, corpus = _questions_of(graph, stage, goldens), _corpus_of(graph, stage, goldens)
    if corpus is None or corpus.documents is nearest.documents:
        return nearest
    return replace(nearest, documents=corpus.documents)


def _questions_of(graph: Graph, stage: Stage, goldens: Mapping[str, Golden]) -> Golden:
    """The golden set with the questions of a stage, or with the documents if it reads no questions."""
    nearest: Golden | None = None
    for key in stage.inputs.values():
        candidate = goldens[key] if key in goldens else _questions_of(graph, graph.stages[key], goldens)
        if nearest is None or key in goldens or len(candidate.examples) < len(nearest.examples):
            nearest = candidate
    if nearest is None:
        raise ValueError(f"stage {stage.name} reads nothing")
    return nearest


def _corpus_of(graph: Graph, stage: Stage, goldens: Mapping[str, Golden]) -> Golden | None:
    """A golden set with the documents that a stage or one before it reads; None if none reads documents."""
    for key in stage.inputs.values():
        found = goldens.get(key) or _corpus_of(graph, graph.stages[key], goldens)
        if found and (key not in goldens or found.corpus_digest == key):
            return found
    return None
