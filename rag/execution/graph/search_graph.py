"""The stages between the questions of a trial and their ranking: one for each link, with the key of what it really reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.core.roles import reads
from rag.evaluation.data.golden import Golden
from rag.execution.graph.open_pipeline import TrialParts, encoded
from rag.execution.graph.stage_graph import Graph
from rag.pipeline.prompt.excerpts import GUARD
from rag.pipeline.search.locked_files import locks_whole

DOCUMENTS, QUESTIONS, GOLD, RECORDS = "documents", "questions", "gold answers", "records"
LINKS = ("route", "policy", "reuse", "shape", "condense")
"""Roles of links that a trial may leave out."""
PLACE = "place"
"""The stage with the passages of another system."""
LOOKS = ("look", "policy", "reuse", "condense", "audit")
"""Stages with the rankings and the looks of questions; the last of them is the ranking of a trial with links."""

MOST_ENCODED = 8_000_000
"""Characters of the largest corpus whose tokens are encoded for all questions: about 800 MB. Results are the same without."""

Read = tuple[dict[str, Any], dict[str, Any]]
"""The nodes and the values that a link reads."""


def encode(graph: Graph, parts: TrialParts, golden: Golden, corpus: str, *roles: str) -> dict[str, str]:
    """Add the stages that encode the passages which components of roles compare; their keys as inputs."""
    stages = {"vectors": "embed"} | ({"tokens": "embed tokens"} if golden.characters <= MOST_ENCODED else {})
    found = {name: (stages[what], node) for name, (what, node) in parts.compared(*roles).items() if what in stages}
    return {
        encoded(name): graph.add(stage, {"embedder": node}, {}, {"corpus": corpus}) for name, (stage, node) in found.items()
    }


@dataclass
class SearchGraph:
    """Adds these stages to a graph; `questions`, `corpus`, `records` and `indexes` are keys of stages before them."""

    graph: Graph
    parts: TrialParts
    golden: Golden
    questions: str
    corpus: str
    records: Mapping[str, str]
    indexes: Mapping[str, str]

    def __post_init__(self) -> None:
        self.config = self.parts.config
        whole = locks_whole(self.config, self.golden.documents)
        self.locked, self.whole = whole is not None, bool(whole)
        # Searched for as typed, a question is the same in any conversation.
        self.own = self.queries = self.golden.queries_digest
        self.looked: dict[str, str] = {}

    def add(self) -> str:
        """Add the stages; the key of the ranking."""
        if not self.whole and not self.parts.is_none("queries"):
            self.own = self.queries = self._add("rewrite", {"queries": self.config["queries"]}, {}, {QUESTIONS: self.questions})
        if (gate := self.parts.gate) and not self.locked:
            nodes = {name: node for name, node in self._indexed().items() if name != "reranker"}
            nodes |= {"screens": gate, "route": self.config["route"]}
            values = {"depth": self.config["depth"], "k": self.config["k"], **self.parts.files}
            self.looked["topic"] = self._add("topic", nodes, values, self._inputs() | {**self.records, **self.indexes})
        if self._has("shape"):
            self.queries = self._add("shape", *self._shape(), self._inputs() | self.looked)
            self.looked["shape"] = self.queries
        if self._has("route"):
            self.looked["route"] = self._route()
        ranking = self._policy() if self._has("policy") else self._search()
        ranking = self._select(ranking)
        for name in ("reuse", "condense", "audit"):
            if self._has("shape" if name == "audit" else name):
                inputs = self._inputs() | {"ranking": ranking} | self.looked
                if name == "audit":
                    again = {} if self.locked else {**self.indexes, **self._encoded(), **self._policy_records()}
                    inputs |= {"own": self.own} | again
                ranking = self._add(name, *self._read(name), inputs)
                self.looked = {"looked": ranking}
        if self.looked and ranking not in self.looked.values():
            inputs = {QUESTIONS: self.questions, "queries": self.queries, "ranking": ranking}
            return self._add("look", {}, {}, inputs | self.looked)
        return ranking

    def _add(self, name: str, nodes: Mapping[str, Any], values: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
        return self.graph.add(name, nodes, values, inputs)

    def _has(self, role: str) -> bool:
        return not self.parts.is_none(role) and not (self.locked and role in ("route", "policy", "reuse"))

    def _encoded(self, *roles: str) -> dict[str, str]:
        return encode(self.graph, self.parts, self.golden, self.corpus, *roles)

    def _inputs(self) -> dict[str, str]:
        return {"corpus": self.corpus, QUESTIONS: self.questions, "queries": self.queries}

    def _route(self) -> str:
        topic = {name: key for name, key in self.looked.items() if name == "topic"}
        inputs, values = {QUESTIONS: self.questions, "queries": self.own, **topic}, dict[str, Any]()
        if self.records:
            inputs |= {"corpus": self.corpus, **self.records}
            values = {"depth": self.config["depth"], **self.parts.files}
        inputs |= {"corpus": self.corpus} if topic else {}
        return self._add("route", {"route": self.config["route"]}, values, inputs)

    def _narrowing(self) -> dict[str, str]:
        """The inputs that narrow the search for a question to the documents of its records."""
        return {"route": self.looked["route"], **self.records} if "route" in self.looked and self.records else {}

    def _policy_records(self) -> dict[str, str]:
        return dict(self.records) if self._has("policy") and reads(self.parts.role("policy"), RECORDS) else {}

    def _policy(self) -> str:
        inputs = self._inputs() | self.looked | self._narrowing() | self._policy_records() | dict(self.indexes)
        inputs |= self._encoded("reranker")
        key = self._add("policy", *self._read("policy"), inputs)
        self.looked = {"looked": key}
        return key

    def _search(self) -> str:
        """Add the plain search; an empty key where files are read whole."""
        if self.whole:
            return ""
        config, vectors = self.config, ""
        searches = {}
        for name, index in self.indexes.items():
            inputs = {"index": index, "queries": self.queries}
            if self.parts.indexes[name].uses_vectors:
                node = {"embedder": config["embedder"]}
                vectors = vectors or self._add("embed queries", node, {}, {"queries": self.queries})
                inputs["vectors"] = vectors
            if self.parts.files or self._narrowing():
                inputs |= {"corpus": self.corpus, **self._narrowing()}
            values = {"depth": config["depth"], **self.parts.files}
            searches[name] = self._add("search", {"index": config["index"][name]}, values, inputs)
        values = {"depth": config["depth"], "names": list(searches)}
        ranking = self._add("fuse", {"fusion": config["fusion"]}, values, searches)
        if self.parts.is_none("reranker"):
            return ranking
        inputs = {"ranking": ranking, "corpus": self.corpus, "queries": self.queries} | self._encoded("reranker")
        return self._add("rerank", {"reranker": config["reranker"]}, {"rerank_depth": config["rerank_depth"]}, inputs)

    def _select(self, ranking: str) -> str:
        selectors = self.parts.selectors
        if not selectors and not self.locked:
            return ranking
        inputs = {"corpus": self.corpus} | ({"ranking": ranking} if ranking else {})
        if self.parts.selects_by_question or not ranking:
            inputs["queries"] = self.queries
        nodes = {} if self.locked else {"selectors": selectors}
        inputs |= {} if self.locked else self._encoded("selector")
        return self._add("select", nodes, self.parts.files, inputs | self._narrowing())

    def _read(self, name: str) -> Read:
        config, component = self.config, self.parts.role("shape" if name == "audit" else name)
        nodes: dict[str, Any] = {} if name == "audit" else {name: config[name]}
        values = dict[str, Any](self.parts.files)
        if name == "policy":
            nodes, values = nodes | self._indexed(), values | self._depths() | {"k": config["k"]}
        elif name == "reuse":
            self.parts.role("embedder")
            return nodes | {"embedder": config["embedder"]}, values | {"k": config["k"]}
        if name != "policy" or reads(component, "passages"):
            nodes |= {"screens": self.parts.layers["screens"]}
            values |= {"k": config["k"], "context_tokens": config.get("context_tokens")}
        if reads(component, "passages"):
            nodes |= {"framings": self.parts.layers["framings"]} | (
                {"quoting": quoting} if (quoting := self.parts.quoting) else {}
            )
        return self._again(nodes, values) if name == "audit" else (nodes, values)

    def _again(self, nodes: dict[str, Any], values: dict[str, Any]) -> Read:
        """What an audit reads, with the links of one more search."""
        shape = self._shape()
        nodes, values = {**shape[0], **nodes}, {**shape[1], **values}
        if self.locked:
            return nodes, values
        for role in ("policy", "condense"):
            own, more = self._read(role) if self._has(role) else ({role: self.config[role]}, {})
            nodes, values = nodes | own, values | more
        return nodes | self._indexed() | {"selectors": self.parts.selectors}, values | self._depths()

    def _shape(self) -> Read:
        """What a shaper reads before the search; guards read what it writes."""
        shaper, config = self.parts.role("shape"), self.config
        guards = {name: node for name, node in self.parts.layers["screens"].items() if name.startswith(GUARD)}
        nodes = {"shape": config["shape"], "screens": guards}
        if reads(shaper, "conversation"):
            self.parts.role("memory")
            nodes["memory"] = config["memory"]
        project = str(getattr(self.parts.role("prompt"), "project", "")) if reads(shaper, "project") else None
        return nodes, self.parts.files | ({} if project is None else {"project": project})

    def _indexed(self) -> dict[str, Any]:
        embeds = any(index.uses_vectors for index in self.parts.indexes.values())
        roles = ("embedder", "fusion", "reranker") if embeds else ("fusion", "reranker")
        return {"indexes": self.config["index"], **{role: self.config[role] for role in roles}}

    def _depths(self) -> dict[str, Any]:
        return {name: self.config[name] for name in ("depth", "rerank_depth")}
