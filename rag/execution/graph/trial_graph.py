"""A trial as a graph of keyed stages.

A component that changes nothing has no stage: its key is the key of its input. The cut `k` and the cut-offs of metrics read
prefixes of rankings, so no key above the cut holds them.
"""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag.config.validation import (
    WITHOUT_RETRIEVAL,
    check,
    check_control,
    check_history,
    check_repeats,
    check_system,
    check_together,
    control_of,
    history_of,
    repeats_of,
)
from rag.core.assessments import PARTS, REFERENCE
from rag.core.roles import AssessedMetric, reads
from rag.evaluation.data.golden import Golden
from rag.evaluation.scoring import check_column
from rag.execution.graph.open_pipeline import TrialParts, pinned
from rag.execution.graph.search_graph import DOCUMENTS, GOLD, LINKS, QUESTIONS, RECORDS, SearchGraph, encode
from rag.execution.graph.stage_graph import Graph
from rag.pipeline.search.locked_files import locks_whole


def machine() -> str:
    """The name of this machine: measured times of two machines are not compared."""
    return f"{platform.node()} {platform.machine()} {platform.processor()}"


@dataclass(frozen=True)
class Ends:
    """Keys of the last stages of a trial, from which its row in a leaderboard is read; None for a stage that it has not."""

    score: str
    judge: str
    ranking: str
    corpus: str
    indexes: Mapping[str, str]
    passages: Mapping[str, str]
    generate: str | None
    check: str | None
    assess: str | None
    latency: str | None


def add_trial(graph: Graph, config: Mapping[str, Any], golden: Golden) -> Ends:
    """Add all stages of one resolved config; ConfigError for anything in it that cannot be built."""
    return TrialGraph(graph, config, golden).add()


class TrialGraph:
    """Adds the stages of one trial to a graph."""

    def __init__(self, graph: Graph, config: Mapping[str, Any], golden: Golden) -> None:
        self.graph, self.config, self.golden = graph, config, golden
        self.parts, self.control = TrialParts(config, graph.components), control_of(config)

    def add(self) -> Ends:
        """Add all stages; ConfigError for anything in the config that cannot be built."""
        parts, control = self.parts, self.control
        check(self.config)
        for role in ("system", "roster", *LINKS, "fusion", "reranker", "queries", "generator"):
            parts.role(role)
        check_together(self.graph.components, self.config)
        check_system(self.graph.components, self.config)
        check_control(self.config, parts.is_none("generator"), len(self.golden.examples))
        pinned(self.config.get("pinned") or (), self.golden.documents)
        locks_whole(self.config, self.golden.documents)
        indexes, passages = dict[str, str](), dict[str, str]()
        questions = self._questions()
        if control in WITHOUT_RETRIEVAL:
            corpus = ranking = self._contexts_of_control()
        elif not parts.is_none("system"):
            corpus = ranking = self._system()
        else:
            corpus, indexes = self.corpus()
            passages = encode(self.graph, parts, self.golden, corpus)
            reads_records = not parts.is_none("route") or reads(parts.role("policy"), RECORDS)
            records = self.records() if reads_records else {}
            ranking = SearchGraph(self.graph, parts, self.golden, questions, corpus, records, indexes).add()
        if control == "shuffled_contexts":
            ranking = self.graph.add("shuffle", {}, {}, {"ranking": ranking, GOLD: self.golden.golden_digest})
        check_repeats(self.config, parts.role("generator"))
        answers: list[tuple[str | None, str | None, str | None]] = [(None, None, None)]
        if not parts.is_none("generator"):
            answers = [self._answers(questions, corpus, ranking, repeat) for repeat in range(repeats_of(self.config))]
        judge, (generate, checked, assess) = self._judge(corpus, ranking), answers[0]
        sources = {"judge": judge, "corpus": corpus, "ranking": ranking}
        scores = [self._score({**sources, "check": checked, "assess": assess}) for _, checked, assess in answers]
        repeated = {**{f"score {number}": key for number, key in enumerate(scores)}, GOLD: self.golden.golden_digest}
        score = scores[0] if len(scores) == 1 else self.graph.add("average", {}, {}, repeated)
        timed = self.config["latency"] and control == "none" and parts.is_none("system")
        latency = self._latency(corpus, indexes | passages) if timed else None
        return Ends(score, judge, ranking, corpus, indexes, passages, generate, checked, assess, latency)

    def corpus(self, control: str | None = None) -> tuple[str, dict[str, str]]:
        """Add the stages before any question; the keys of the chunks and, by name, of the indexes."""
        corpus = self._chunks()
        if (control or self.control) == "perfect_chunker":
            corpus = self.graph.add("uncut", {}, {}, {"corpus": corpus, GOLD: self.golden.golden_digest})
        if not self.parts.is_none("passage"):
            corpus = self.graph.add("passage", {"passage": self.config["passage"]}, {}, {"corpus": corpus})
        return corpus, {name: self._index(name, corpus) for name in self.config["index"]}

    def _system(self) -> str:
        """Add the stages of another system: what it returns, and the places of its passages in the documents."""
        asked = {QUESTIONS: self.golden.queries_digest}
        self._given = self.graph.add("system", {"system": self.config["system"]}, {}, asked)
        return self.graph.add("place", {}, {}, {"system": self._given, DOCUMENTS: self.golden.corpus_digest})

    def _questions(self) -> str:
        """The questions with the histories of the golden set or, in live conversations, with the pipeline's own answers.

        With a retrieval memory they also have what the pipeline found for the earlier questions of these histories.

        A control changes how a question is answered, not the conversation before it.
        """
        golden = self.golden
        history, has_history = history_of(self.config), any(example.query.history for example in golden.examples)
        if history == "gold" and (self.parts.is_none("reuse") or not has_history):
            return golden.queries_digest
        check_history(self.config, self.parts.is_none("generator"), has_history)
        corpus, indexes = self.corpus("none")
        inputs = {"corpus": corpus, QUESTIONS: golden.queries_digest, GOLD: golden.golden_digest, **self.records(), **indexes}
        values = {**self.parts.values, "history": history}
        return self.graph.add("converse", self.parts.nodes, values, inputs | encode(self.graph, self.parts, golden, corpus))

    def records(self) -> dict[str, str]:
        """Add the stages that make records; their key as an input, nothing without records."""
        if not self.parts.group("enrich"):
            return {}
        key = self.graph.add("enrich", {"enrich": self.config["enrich"]}, {}, {DOCUMENTS: self.golden.corpus_digest})
        if not self.parts.is_none("roster"):
            key = self.graph.add("roster", {"roster": self.config["roster"]}, {}, {RECORDS: key})
        return {RECORDS: key}

    def _contexts_of_control(self) -> str:
        """Add what a generator reads where nothing is searched: chunks and a ranking of them, in one stage."""
        if self.control == "closed_book":
            return self.graph.add("no contexts", {}, {}, {QUESTIONS: self.golden.queries_digest})
        inputs = {"corpus": self._chunks(), GOLD: self.golden.golden_digest}
        return self.graph.add("gold contexts", {}, {"depth": self.config["depth"]}, inputs)

    def _chunks(self) -> str:
        self.parts.role("chunker")
        return self.graph.add("chunk", {"chunker": self.config["chunker"]}, {}, {DOCUMENTS: self.golden.corpus_digest})

    def _index(self, name: str, corpus: str) -> str:
        inputs = {"corpus": corpus}
        if self.parts.indexes[name].uses_vectors:
            self.parts.role("embedder")
            inputs = {"vectors": self.graph.add("embed", {"embedder": self.config["embedder"]}, {}, inputs)}
        return self.graph.add("index", {"index": self.config["index"][name]}, {}, inputs)

    def _answers(self, questions: str, corpus: str, ranking: str, repeat: int) -> tuple[str, str, str | None]:
        """Add the stages that generate, check and, where a metric needs it, judge answers."""
        graph, parts, values = self.graph, self.parts, self.parts.reading_values
        for role in ("memory", "prompt"):
            parts.role(role)
        inputs = {"ranking": ranking, "corpus": corpus, QUESTIONS: questions}
        if screens := parts.layers["screens"]:
            lock = {"lock": True} if self.config.get("lock") else {}
            inputs["screen"] = graph.add("screen", {"screens": screens}, {"k": self.config["k"], **lock}, inputs)
        if getattr(parts.role("generator"), "reads_gold", False):
            inputs[GOLD] = self.golden.golden_digest
        if getattr(parts.role("generator"), "reads_system", False):
            inputs["system"] = self._given
        nodes = {**{name: self.config[name] for name in ("memory", "prompt", "generator")}, **parts.layers}
        inspections = nodes.pop("inspections")
        if values["pinned"]:
            values["documents"] = self.golden.corpus_digest  # Pinned documents are read whole, whatever the chunks are.
        values |= {"repeat": repeat} if repeat else {}
        generate = graph.add("generate", nodes, values, inputs)
        checked = graph.add("check", {**nodes, "inspections": inspections}, values, {**inputs, "generate": generate})
        assess = None
        if needs := needed(parts):
            parts.role("judge")
            inputs, judging = {"check": checked, "corpus": corpus, QUESTIONS: questions}, {"needs": list(needs)}
            if REFERENCE in needs:
                inputs[GOLD], judging["language"] = self.golden.golden_digest, self.config["language"]
            assess = graph.add("assess", {"judge": self.config["judge"]}, judging, inputs)
        return generate, checked, assess

    def _judge(self, corpus: str, ranking: str) -> str:
        gold = {GOLD: self.golden.golden_digest}
        table = self.graph.add("gold", {}, {"coverage": self.config["coverage"]}, {"corpus": corpus, **gold})
        return self.graph.add("judge", {}, {}, {"ranking": ranking, "gold": table, "corpus": corpus, **gold})

    def _score(self, sources: Mapping[str, str | None]) -> str:
        config, columns = self.config, self.parts.columns
        for column in columns:
            check_column(column, self.parts.metrics[column.metric])
        values = {"columns": list(config["metrics"])}
        if any(column.endswith("@k") for column in config["metrics"]):
            values["k"] = config["k"]
        cuts = any(column.unit == "chars" for column in columns)
        values |= {"coverage": config["coverage"]} if cuts else {}
        # Only answers and budgets of characters need the chunks; a holdout is known by its gold.
        unread = {name for name, read in (("corpus", cuts or sources["check"]), ("ranking", cuts)) if not read}
        inputs = {name: key for name, key in sources.items() if key and name not in unread}
        nodes = {column.metric: config["metric"][column.metric] for column in columns}
        return self.graph.add("score", {"metrics": nodes}, values, {**inputs, GOLD: self.golden.golden_digest})

    def _latency(self, corpus: str, indexes: Mapping[str, str]) -> str:
        values = self.parts.values | {"latency": self.config["latency"], "machine": machine()}
        inputs = {"corpus": corpus, QUESTIONS: self.golden.queries_digest, **self.records(), **indexes}
        return self.graph.add("latency", self.parts.nodes, values, inputs)


def needed(parts: TrialParts) -> tuple[str, ...]:
    """The parts of an assessment that the columns of a config read, in a fixed order."""
    read = {part for metric in parts.metrics.values() if isinstance(metric, AssessedMetric) for part in metric.needs}
    return tuple(part for part in PARTS if part in read)
