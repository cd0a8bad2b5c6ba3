"""Keyed stages. A key is known before anything runs: it is a hash of what goes in.

key = sha256(stage name, code of all stages, identities of its components, its values, keys of its inputs). Component identity
covers target, parameters, code, library versions and model (`rag.config.build`). One hash covers the code of all stages: a
change in it costs one recomputation, a gap in it would keep wrong results.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag.config.build import Components, Inner
from rag.config.identity import code_identity, digest
from rag.core.memo import Once
from rag.evaluation.data.golden import Golden

CODE = ("rag.execution.graph.engine", "rag.execution.store.cached_replies")
"""Modules that reach all code of ours that a stage can run, except components: it stands in the key of every stage."""


@dataclass(frozen=True)
class Stage:
    """One piece of work: what it is called, what it is made of, what it reads."""

    key: str
    name: str
    nodes: Mapping[str, Any]
    values: Mapping[str, Any]
    inputs: Mapping[str, str]

    @property
    def entry(self) -> str:
        """Where the store keeps its result."""
        return f"stages/{self.key}"

    @property
    def label(self) -> str:
        """The stage and the classes it runs, for people."""
        targets = [
            str(node.get("_target_", "")).rsplit(".", 1)[-1] for node in self.nodes.values() if isinstance(node, Mapping)
        ]
        return f"{self.name} {' '.join(dict.fromkeys(filter(None, targets)))}".strip()


class SharedComponents(Components):
    """A builder that looks at a node once, however many trials hold the same object."""

    def __init__(self, trusted: tuple[str, ...] = (), inner: Inner | None = None) -> None:
        super().__init__(trusted, inner)
        self._once = Once()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_once": Once()}

    def role(self, role: str, node: Any, where: str = "") -> Any:
        """As `Components.role`."""
        return self._once(node, lambda: Components.role(self, role, node, where), "role", role)

    def identity(self, node: Any, where: str) -> str:
        """As `Components.identity`."""
        return self._once(node, lambda: Components.identity(self, node, where), "identity")


@dataclass
class Graph:
    """Stages by key, inputs before those that read them; several trials may share one graph."""

    components: Components
    stages: dict[str, Stage] = field(default_factory=dict)

    def add(self, name: str, nodes: Mapping[str, Any], values: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
        """Add a stage, or find the one that does the same; its key."""
        identities = {role: self._identity(role, node) for role, node in nodes.items()}
        key = digest(name, list(map(code_identity, CODE)), list(identities.items()), values, list(inputs.items()))
        self.stages.setdefault(key, Stage(key, name, dict(nodes), dict(values), dict(inputs)))
        return key

    def _identity(self, role: str, node: Any) -> Any:
        if role == "metrics":
            return {name: self.components.identity(part, f"metric.{name}") for name, part in node.items()}
        if role in ("indexes", "selectors", "screens", "framings", "inspections"):
            group = "index." if role == "indexes" else ""
            return [(name, self.components.identity(part, f"{group}{name}")) for name, part in node.items()]
        return self.components.identity(node, role)

    def ancestors(self, *keys: str) -> Iterator[str]:
        """Stages and everything they rest on, each once, inputs first."""
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
    """The golden set that a stage works on: the questions where it reads them, else the documents."""
    found: Golden | None = None
    for key in stage.inputs.values():
        candidate = goldens[key] if key in goldens else golden_of(graph, graph.stages[key], goldens)
        found = candidate if found is None or key in goldens or len(candidate.examples) < len(found.examples) else found
    if found is None:
        raise ValueError(f"stage {stage.name} reads nothing")
    return found
