"""A trial as a graph of keyed stages. A key is known before anything runs: it is a hash of what goes in.

key = sha256(stage name, its code, identities of its components, its values, keys of its inputs). Component identity covers
target, parameters, code, library versions and model (`rag.build`). A component that changes nothing has no stage: its key is
its input's. The cut `k` and the metric cut-offs read prefixes, so they stand in no key above the cut.
"""

import ast
import inspect
import platform
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from rag import runners
from rag.build import Components
from rag.errors import ConfigError
from rag.evaluate import check_column, parse_column
from rag.golden import Golden
from rag.identity import code_identity, digest
from rag.parameters import shown
from rag.roles import changes_nothing

DOCUMENTS, QUESTIONS, GOLD = "documents", "questions", "gold answers"


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


@dataclass
class Graph:
    """Stages by key, inputs before those that read them; several trials may share one graph."""

    components: Components
    stages: dict[str, Stage] = field(default_factory=dict)

    def add(self, name: str, nodes: Mapping[str, Any], values: Mapping[str, Any], inputs: Mapping[str, str]) -> str:
        """Add a stage, or find the one that does the same; its key."""
        identities = {role: self._identity(role, node) for role, node in nodes.items()}
        key = digest(name, stage_code(name), list(identities.items()), values, list(inputs.items()))
        self.stages.setdefault(key, Stage(key, name, dict(nodes), dict(values), dict(inputs)))
        return key

    def _identity(self, role: str, node: Any) -> Any:
        if role == "metrics":
            return {name: self.components.identity(part, f"metric.{name}") for name, part in node.items()}
        if role == "indexes":
            return [(name, self.components.identity(part, f"index.{name}")) for name, part in node.items()]
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


@lru_cache(maxsize=64)
def stage_code(name: str) -> str:
    """Hash of the code that a stage runs: its runner, and the modules of the steps that the runner calls."""
    runner = runners.RUNNERS[name]
    source = ast.dump(ast.parse(textwrap.dedent(inspect.getsource(runner))))
    step = "rag.evaluate" if name in ("gold", "judge", "score") else "rag.pipeline"
    return digest(source, code_identity(step))


def machine() -> str:
    """What a timing was taken on."""
    return f"{platform.node()} {platform.machine()} {platform.processor()}"


@dataclass(frozen=True)
class Ends:
    """The last stages of a trial: what its row in a leaderboard is read from."""

    score: str
    judge: str
    ranking: str
    corpus: str
    indexes: Mapping[str, str]
    generate: str | None
    latency: str | None


def add_trial(graph: Graph, config: Mapping[str, Any], golden: Golden) -> Ends:
    """Add all stages of one resolved config; ConfigError for whatever in it cannot be built."""
    check(config)
    made = graph.components
    roles = {role: made.role(role, config[role]) for role in ("fusion", "reranker", "selector", "memory", "generator")}
    check_fusion(made, config)
    corpus, indexes = add_corpus(graph, config, golden)
    queries = golden.queries_digest
    if not changes_nothing(roles["memory"]):
        queries = graph.add("remember", {"memory": config["memory"]}, {}, {QUESTIONS: queries})
    searches = {name: _search(graph, config, name, key, queries) for name, key in indexes.items()}
    values = {"depth": config["depth"], "names": list(searches)}
    ranking = graph.add("fuse", {"fusion": config["fusion"]}, values, searches)
    if not changes_nothing(roles["reranker"]):
        inputs = {"ranking": ranking, "corpus": corpus, "queries": queries}
        ranking = graph.add("rerank", {"reranker": config["reranker"]}, {"rerank_depth": config["rerank_depth"]}, inputs)
    if not changes_nothing(roles["selector"]):
        ranking = graph.add("select", {"selector": config["selector"]}, {}, {"ranking": ranking, "corpus": corpus})
    generate = None
    if not changes_nothing(roles["generator"]):
        generate = _generate(graph, config, golden, corpus, ranking)
    judge = _judge(graph, config, golden, corpus, ranking)
    score = _score(graph, config, golden, judge, generate)
    latency = _latency(graph, config, golden, corpus, indexes) if config["latency"] else None
    return Ends(score, judge, ranking, corpus, indexes, generate, latency)


def check_fusion(components: Components, config: Mapping[str, Any]) -> None:
    """Raise ConfigError for indexes that the fusion cannot put together, before they are built."""
    fits = getattr(components.role("fusion", config["fusion"]), "check", None)
    if fits:
        fits(list(config["index"]))


def add_corpus(graph: Graph, config: Mapping[str, Any], golden: Golden) -> tuple[str, dict[str, str]]:
    """Add what stands before any question: chunks, and indexes over them; their keys."""
    graph.components.role("chunker", config["chunker"])
    corpus = graph.add("chunk", {"chunker": config["chunker"]}, {}, {DOCUMENTS: golden.corpus_digest})
    return corpus, {name: _index(graph, config, name, corpus) for name in config["index"]}


def _vectors(graph: Graph, config: Mapping[str, Any], corpus: str) -> str:
    graph.components.role("embedder", config["embedder"])
    return graph.add("embed", {"embedder": config["embedder"]}, {}, {"corpus": corpus})


def _index(graph: Graph, config: Mapping[str, Any], name: str, corpus: str) -> str:
    node = config["index"][name]
    index = graph.components.role("index", node, f"index.{name}")
    inputs = {"vectors": _vectors(graph, config, corpus)} if index.uses_vectors else {"corpus": corpus}
    return graph.add("index", {"index": node}, {}, inputs)


def _search(graph: Graph, config: Mapping[str, Any], name: str, index: str, queries: str) -> str:
    node = config["index"][name]
    inputs = {"index": index, "queries": queries}
    if graph.components.role("index", node).uses_vectors:
        inputs["vectors"] = graph.add("embed queries", {"embedder": config["embedder"]}, {}, {"queries": queries})
    return graph.add("search", {"index": node}, {"depth": config["depth"]}, inputs)


def _generate(graph: Graph, config: Mapping[str, Any], golden: Golden, corpus: str, ranking: str) -> str:
    nodes = {"prompt": config["prompt"], "generator": config["generator"]}
    graph.components.role("prompt", config["prompt"])
    # A generator may read the reference answers (an upper bound does), so the gold stands in its key.
    inputs = {"ranking": ranking, "corpus": corpus, QUESTIONS: golden.queries_digest}
    return graph.add("generate", nodes, {"k": config["k"]}, inputs)


def _judge(graph: Graph, config: Mapping[str, Any], golden: Golden, corpus: str, ranking: str) -> str:
    table = graph.add("gold", {}, {"coverage": config["coverage"]}, {"corpus": corpus, GOLD: golden.golden_digest})
    return graph.add("judge", {}, {}, {"ranking": ranking, "gold": table, "corpus": corpus, GOLD: golden.golden_digest})


def _score(graph: Graph, config: Mapping[str, Any], golden: Golden, judge: str, generate: str | None) -> str:
    columns = [parse_column(column, config["k"], config["metric"]) for column in config["metrics"]]
    nodes = {column.metric: config["metric"][column.metric] for column in columns}
    for column in columns:
        check_column(column, graph.components.role("metric", nodes[column.metric], f"metric.{column.metric}"))
    values = {"columns": list(config["metrics"])}
    if any(column.endswith("@k") for column in config["metrics"]):
        values["k"] = config["k"]
    inputs = {"judge": judge, GOLD: golden.golden_digest} | ({"generate": generate} if generate else {})
    return graph.add("score", {"metrics": nodes}, values, inputs)


def _latency(graph: Graph, config: Mapping[str, Any], golden: Golden, corpus: str, indexes: Mapping[str, str]) -> str:
    roles = ("memory", "embedder", "fusion", "reranker", "selector", "prompt", "generator")
    nodes = {role: config[role] for role in roles} | {"indexes": config["index"]}
    values = {name: config[name] for name in ("depth", "rerank_depth", "k", "latency")} | {"machine": machine()}
    return graph.add("latency", nodes, values, {"corpus": corpus, QUESTIONS: golden.queries_digest, **indexes})


def check(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for values of the wiring itself that make no pipeline."""
    for name in ("depth", "rerank_depth", "k"):
        if not isinstance(config[name], int) or isinstance(config[name], bool) or config[name] < 1:
            raise ConfigError(name, f"is {shown(config[name])}", "a whole number from 1")
    if not isinstance(config["latency"], int) or isinstance(config["latency"], bool) or config["latency"] < 0:
        raise ConfigError("latency", f"is {shown(config['latency'])}", "a whole number of questions, 0 for none")
    if not isinstance(config["coverage"], int | float) or not 0 < config["coverage"] <= 1:
        raise ConfigError("coverage", f"is {shown(config['coverage'])}", "a share above 0, at most 1")
    if config["k"] > config["depth"]:
        raise ConfigError("k", f"is {config['k']}, more than depth={config['depth']}", "raise depth, or lower k")
    if not config.get("index"):
        raise ConfigError("index", "names no index", "for example index=[bm25s,dense]")
    if not config.get("metrics") or not isinstance(config["metrics"], list):
        what = f"is {shown(config['metrics'])}" if config.get("metrics") else "names no metric"
        raise ConfigError("metrics", what, "a list is needed, for example metrics=[recall@5,ndcg@10]")
