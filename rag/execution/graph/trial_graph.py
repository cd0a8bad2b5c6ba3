"""A trial as a graph of keyed stages.

A component that changes nothing has no stage: its key is its input's. The cut `k` and the metric cut-offs read prefixes, so
they stand in no key above the cut.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.config.build import Components
from rag.config.validation import WITHOUT_RETRIEVAL, check, check_control, check_fusion, check_history, control_of, history_of
from rag.core.assessments import PARTS
from rag.core.roles import AssessedMetric, changes_nothing
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import check_column, parse_column
from rag.execution.graph.open_pipeline import SINGLE, layers, pinned, selectors_of
from rag.execution.graph.stage_graph import Graph

DOCUMENTS, QUESTIONS, GOLD = "documents", "questions", "gold answers"


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
    check: str | None
    assess: str | None
    latency: str | None


def add_trial(graph: Graph, config: Mapping[str, Any], golden: Golden) -> Ends:
    """Add all stages of one resolved config; ConfigError for whatever in it cannot be built."""
    check(config)
    roles = ("fusion", "reranker", "queries", "generator")
    silent = {role: changes_nothing(graph.components.role(role, config[role])) for role in roles}
    check_fusion(graph.components, config)
    check_control(config, silent["generator"], len(golden.examples))
    pinned(config.get("pinned") or (), golden.documents)
    control = control_of(config)
    indexes: dict[str, str] = {}
    questions = _questions(graph, config, golden, silent["generator"])
    if control in WITHOUT_RETRIEVAL:
        corpus = ranking = _instead(graph, config, golden)
    else:
        corpus, indexes = add_corpus(graph, config, golden)
        ranking = _ranking(graph, config, golden, questions, corpus, indexes, silent)
    if control == "shuffled_contexts":
        ranking = graph.add("shuffle", {}, {}, {"ranking": ranking, GOLD: golden.golden_digest})
    generate, checked, assess = (None, None, None)
    if not silent["generator"]:
        generate, checked, assess = _answer(graph, config, golden, questions, corpus, ranking)
    judge = _judge(graph, config, golden, corpus, ranking)
    score = _score(graph, config, golden, {"judge": judge, "check": checked, "assess": assess, "corpus": corpus})
    timed = config["latency"] and control == "none"
    latency = _latency(graph, config, golden, corpus, indexes) if timed else None
    return Ends(score, judge, ranking, corpus, indexes, generate, checked, assess, latency)


def _questions(graph: Graph, config: Mapping[str, Any], golden: Golden, no_generator: bool) -> str:
    """What is asked: questions with the histories that they came with or, in live conversations, after a stage that lives them.

    What a control changes is how a question is answered, not the conversation that it stands in.
    """
    if history_of(config) == "gold":
        return golden.queries_digest
    check_history(config, no_generator, any(example.query.history for example in golden.examples))
    corpus, indexes = add_corpus(graph, {**config, "control": "none"}, golden)
    inputs = {"corpus": corpus, QUESTIONS: golden.queries_digest, GOLD: golden.golden_digest, **indexes}
    return graph.add("converse", _served(graph, config), _served_values(config), inputs)


def _ranking(
    graph: Graph,
    config: Mapping[str, Any],
    golden: Golden,
    questions: str,
    corpus: str,
    indexes: Mapping[str, str],
    silent: Mapping[str, bool],
) -> str:
    """Add what finds and orders chunks; `silent` says which roles change nothing."""
    queries = golden.queries_digest  # Searched for as typed, a question is the same whatever was said before it.
    if not silent["queries"]:
        queries = graph.add("rewrite", {"queries": config["queries"]}, {}, {QUESTIONS: questions})
    searches = {name: _search(graph, config, name, key, queries) for name, key in indexes.items()}
    values = {"depth": config["depth"], "names": list(searches)}
    ranking = graph.add("fuse", {"fusion": config["fusion"]}, values, searches)
    if not silent["reranker"]:
        inputs = {"ranking": ranking, "corpus": corpus, "queries": queries}
        ranking = graph.add("rerank", {"reranker": config["reranker"]}, {"rerank_depth": config["rerank_depth"]}, inputs)
    if selectors := selectors_of(config, graph.components):
        ranking = graph.add("select", {"selectors": selectors}, {}, {"ranking": ranking, "corpus": corpus})
    return ranking


def _instead(graph: Graph, config: Mapping[str, Any], golden: Golden) -> str:
    """Add what a generator reads where nothing is searched: chunks and a ranking of them, in one stage."""
    if control_of(config) == "closed_book":
        return graph.add("no contexts", {}, {}, {QUESTIONS: golden.queries_digest})
    inputs = {"corpus": _chunks(graph, config, golden), GOLD: golden.golden_digest}
    return graph.add("gold contexts", {}, {"depth": config["depth"]}, inputs)


def add_corpus(graph: Graph, config: Mapping[str, Any], golden: Golden) -> tuple[str, dict[str, str]]:
    """Add what stands before any question: chunks, and indexes over them; their keys."""
    corpus = _chunks(graph, config, golden)
    if control_of(config) == "perfect_chunker":
        corpus = graph.add("uncut", {}, {}, {"corpus": corpus, GOLD: golden.golden_digest})
    return corpus, {name: _index(graph, config, name, corpus) for name in config["index"]}


def _chunks(graph: Graph, config: Mapping[str, Any], golden: Golden) -> str:
    graph.components.role("chunker", config["chunker"])
    return graph.add("chunk", {"chunker": config["chunker"]}, {}, {DOCUMENTS: golden.corpus_digest})


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


def _answer(
    graph: Graph, config: Mapping[str, Any], golden: Golden, questions: str, corpus: str, ranking: str
) -> tuple[str, str, str | None]:
    """Add what generates, checks and, where a metric asks for it, judges answers."""
    for role in ("memory", "prompt"):
        graph.components.role(role, config[role])
    parts = layers(config, graph.components)
    inputs = {"ranking": ranking, "corpus": corpus, QUESTIONS: questions}
    if parts["screens"]:
        inputs["screen"] = graph.add("screen", {"screens": parts["screens"]}, {"k": config["k"]}, inputs)
    if getattr(graph.components.role("generator", config["generator"]), "reads_gold", False):
        inputs[GOLD] = golden.golden_digest
    nodes = {**{name: config[name] for name in ("memory", "prompt", "generator")}, **parts}
    inspections = nodes.pop("inspections")
    values = reading_values(config)
    if values["pinned"]:
        values["documents"] = golden.corpus_digest  # read whole, even where no chunk of them is
    generate = graph.add("generate", nodes, values, inputs)
    check = graph.add("check", {**nodes, "inspections": inspections}, values, {**inputs, "generate": generate})
    return generate, check, _assess(graph, config, questions, corpus, check)


def _assess(graph: Graph, config: Mapping[str, Any], questions: str, corpus: str, check: str) -> str | None:
    needs = needed(graph.components, config)
    if not needs:
        return None
    graph.components.role("judge", config["judge"])
    inputs = {"check": check, "corpus": corpus, QUESTIONS: questions}
    return graph.add("assess", {"judge": config["judge"]}, {"needs": list(needs)}, inputs)


def needed(components: Components, config: Mapping[str, Any]) -> tuple[str, ...]:
    """The parts of an assessment that the columns of a config read, in a fixed order."""
    names = {parse_column(column, config["k"], config["metric"]).metric for column in config["metrics"]}
    metrics = [components.role("metric", config["metric"][name], f"metric.{name}") for name in names]
    read = {part for metric in metrics if isinstance(metric, AssessedMetric) for part in metric.needs}
    return tuple(part for part in PARTS if part in read)


def reading_values(config: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the wiring that a request depends on."""
    return {"k": config["k"], "context_tokens": config.get("context_tokens"), "pinned": list(config.get("pinned") or ())}


def _judge(graph: Graph, config: Mapping[str, Any], golden: Golden, corpus: str, ranking: str) -> str:
    table = graph.add("gold", {}, {"coverage": config["coverage"]}, {"corpus": corpus, GOLD: golden.golden_digest})
    return graph.add("judge", {}, {}, {"ranking": ranking, "gold": table, "corpus": corpus, GOLD: golden.golden_digest})


def _score(graph: Graph, config: Mapping[str, Any], golden: Golden, sources: Mapping[str, str | None]) -> str:
    columns = [parse_column(column, config["k"], config["metric"]) for column in config["metrics"]]
    nodes = {column.metric: config["metric"][column.metric] for column in columns}
    for column in columns:
        check_column(column, graph.components.role("metric", nodes[column.metric], f"metric.{column.metric}"))
    values = {"columns": list(config["metrics"])}
    if any(column.endswith("@k") for column in config["metrics"]):
        values["k"] = config["k"]
    # The questions of a holdout are those of its golden set, and answers are laid over the chunks that they were made from.
    read = {name: key for name, key in sources.items() if key and (name != "corpus" or sources["check"])}
    inputs = {**read, GOLD: golden.golden_digest}
    return graph.add("score", {"metrics": nodes}, values, inputs)


def _latency(graph: Graph, config: Mapping[str, Any], golden: Golden, corpus: str, indexes: Mapping[str, str]) -> str:
    values = _served_values(config) | {"latency": config["latency"], "machine": machine()}
    return graph.add("latency", _served(graph, config), values, {"corpus": corpus, QUESTIONS: golden.queries_digest, **indexes})


def _served(graph: Graph, config: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a config that answer one question."""
    parts = layers(config, graph.components)
    nodes = {role: config[role] for role in (*SINGLE, "memory", "prompt")}
    return nodes | parts | {"indexes": config["index"], "selectors": selectors_of(config, graph.components)}


def _served_values(config: Mapping[str, Any]) -> dict[str, Any]:
    return reading_values(config) | {name: config[name] for name in ("depth", "rerank_depth")}
