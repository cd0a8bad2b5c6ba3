"""The components of a config, and a pipeline of them around indexes that were built before."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from rag.config.build import TARGET, Components
from rag.core.corpus import Corpus
from rag.core.encoded_passages import KnownPassages, passages_of
from rag.core.errors import DataError
from rag.core.records.database import RecordDatabase
from rag.core.records.sets import NO_RECORDS, RecordSet
from rag.core.roles import Framing, Index, Inspection, QuestionSelector, Quoting, Screen, Searcher, changes_nothing, is_costly
from rag.core.roles.answering import Replying
from rag.core.types import Document
from rag.evaluation.scoring import Column, parse_column
from rag.execution.store.store import Entry
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.prompt.excerpts import quoting_of
from rag.pipeline.prompt.prompt_assembly import Reading
from rag.pipeline.search.locked_files import limited, named
from rag.pipeline.search.retrieval import MODELS

SINGLE = ("queries", "embedder", "fusion", "reranker", "route", "policy", "reuse", "shape", "condense", "generator")
FIELDS = {"route": "router", "shape": "shaper", "condense": "condenser"}
"""Roles whose field in a Pipeline has another name."""


class TrialParts:
    """The components of one resolved config. Each is checked against its role when it is first needed, and once."""

    def __init__(self, config: Mapping[str, Any], components: Components) -> None:
        self.config, self.components = config, components
        self._roles: dict[str, Any] = {}

    def role(self, role: str) -> Any:
        """The component of a role that has one; ConfigError where it does not fit."""
        if role not in self._roles:
            self._roles[role] = self.components.role(role, self.config[role])
        return self._roles[role]

    def is_none(self, role: str) -> bool:
        """Whether the role has its choice `none`, which changes nothing."""
        return changes_nothing(self.role(role))

    @cached_property
    def indexes(self) -> Mapping[str, Index]:
        """The indexes by name."""
        return self.group("index")

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """The metrics that the columns of the config name."""
        return self.group("metric", {column.metric for column in self.columns})

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of the config; ConfigError for one that cannot be read."""
        return [parse_column(column, self.config["k"], self.config["metric"]) for column in self.config["metrics"]]

    @property
    def gate(self) -> dict[str, Any]:
        """The nodes of the screens that decline questions before a link asks a model; none where no link asks one."""
        screens = self.layers["screens"] if any(is_costly(self.role(role)) for role in MODELS) else {}
        return {name: node for name, node in screens.items() if isinstance(self.components.build(node, name), Replying)}

    @cached_property
    def selectors(self) -> dict[str, Any]:
        """The nodes of the selectors that change something, by name, in their order."""
        return {
            name: self.config["selector"][name] for name, part in self.group("selector").items() if not changes_nothing(part)
        }

    @property
    def selects_by_question(self) -> bool:
        """Whether a selector reads the question."""
        return any(isinstance(part, QuestionSelector) for part in self.group("selector").values())

    def compared(self, *roles: str) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """What comparing components compare, by name, and the node that encodes it; vectors only if an index has them."""
        found = dict[str, tuple[str, Mapping[str, Any]]]()
        for role in roles or ("reranker", "selector"):
            nodes = self.config[role] if role == "selector" else {role: self.config[role]}
            for name, part in (self.group(role) if role == "selector" else {role: self.role(role)}).items():
                if what := getattr(part, "compares", None):
                    found[name] = what[0], nodes[name][what[1]]
        indexed = [self.config["embedder"] for index in self.indexes.values() if index.uses_vectors]
        return {name: each for name, each in found.items() if each[0] == "tokens" or each[1] in indexed}

    @cached_property
    def layers(self) -> dict[str, dict[str, Any]]:
        """The nodes of checks and guards by what they do: `screens`, `framings`, `inspections`; one may do several."""
        built = {f"{group}.{name}": part for group in ("check", "guard") for name, part in self.group(group).items()}
        nodes = {place: self.config[place.partition(".")[0]][place.partition(".")[2]] for place in built}
        kinds = {"screens": Screen, "framings": Framing, "inspections": Inspection}
        return {
            kind: {place: nodes[place] for place in nodes if isinstance(built[place], fits)} for kind, fits in kinds.items()
        }

    def group(self, role: str, names: Collection[str] | None = None) -> dict[str, Any]:
        """The components of a role with several choices, by name, in their order; only `names` if given."""
        nodes = {name: node for name, node in (self.config.get(role) or {}).items() if names is None or name in names}
        return {name: self.components.role(role, node, f"{role}.{name}") for name, node in nodes.items()}

    @cached_property
    def quoting(self) -> Mapping[str, Any] | None:
        """The node of that part of the prompt which lays out passages; None where it shows their texts alone."""
        part: Any = quoting_of(prompt := self.role("prompt"))
        if part is None or part is prompt:
            return None if part is None else dict(self.config["prompt"])
        values = {each.name: getattr(part, each.name) for each in fields(part)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {TARGET: f"{type(part).__module__}.{type(part).__qualname__}", **plain}

    @property
    def files(self) -> dict[str, Any]:
        """The values that name files which are read alone, or never."""
        config = self.config
        named = {name: list(config[name]) for name in ("lock", "exclude") if config.get(name)}
        return named | ({"context_tokens": config.get("context_tokens")} if "lock" in named else {})

    @property
    def nodes(self) -> dict[str, Any]:
        """The nodes that `open_pipeline` builds."""
        single = {role: self.config[role] for role in (*SINGLE, "memory", "prompt")}
        return single | self.layers | {"indexes": self.config["index"], "selectors": self.selectors}

    @property
    def reading_values(self) -> dict[str, Any]:
        """The values of the wiring that a request depends on."""
        config, pins = self.config, list(self.config.get("pinned") or ())
        return {"k": config["k"], "context_tokens": config.get("context_tokens"), "pinned": pins, **self.files}

    @property
    def values(self) -> dict[str, Any]:
        """The values of the wiring that `open_pipeline` reads."""
        return self.reading_values | {name: self.config[name] for name in ("depth", "rerank_depth")}


def encoded(name: str) -> str:
    """The name among entries of the passages that a reranker or a selector compares; no index has such a name."""
    return f"passages/{name}"


def knowing(name: str, part: Any, corpus: Corpus, entries: Mapping[str, Entry]) -> Any:
    """A component, or those of a kind by name, knowing its encoded passages where they are among some entries."""
    if isinstance(part, dict):
        return {each: knowing(each, one, corpus, entries) for each, one in part.items()}
    if (entry := entries.get(encoded(name))) is None:
        return part
    known, parameter = copy(part), part.compares[1]
    made = passages_of(corpus.index_texts, entry.arrays)
    object.__setattr__(known, parameter, KnownPassages(getattr(part, parameter), made))  # a copy, although it may be frozen
    return known


class Unkeyed:
    """Stands for a component or a value that the key of a stage does not hold; LookupError where it is read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        raise LookupError(f"the key of this stage does not hold {self._name!r}, of which {name!r} is read")


@dataclass(frozen=True)
class PromptPart:
    """The parts of a prompt that are read before it is rendered."""

    quoting: Quoting | None
    project: str


def several(nodes: Mapping[str, Any], components: Components) -> dict[str, Any]:
    """Components by name."""
    return {name: components.build(node, name) for name, node in nodes.items()}


def reading_of(
    nodes: Mapping[str, Any], values: Mapping[str, Any], documents: Sequence[Document], components: Components
) -> Reading:
    """The parts that lay out a prompt; ConfigError for a pinned document that does not exist."""
    prompt, memory, screens, framings = (_part(name, nodes, components) for name in ("prompt", "memory", "screens", "framings"))
    if "prompt" not in nodes and ("framings" in nodes or "project" in values):
        quoting = components.build(nodes["quoting"], "quoting") if "quoting" in nodes else None
        prompt = PromptPart(quoting, values.get("project", ""))
    k, tokens = (values.get(name, Unkeyed(name)) for name in ("k", "context_tokens"))
    pins = pinned(values.get("pinned", ()), documents)
    return Reading(prompt, memory, k, tokens, screens, framings, pins, bool(values.get("lock")))


def _part(name: str, nodes: Mapping[str, Any], components: Components) -> Any:
    if name not in nodes:
        return Unkeyed(name)
    if name in ("screens", "framings", "inspections", "selectors"):
        return several(nodes[name], components)
    return (components.handed if name == "generator" else components.build)(nodes[name], name)


def pinned(names: Sequence[str], documents: Sequence[Document]) -> tuple[Document, ...]:
    """The documents that go into a prompt whole; ConfigError for one that does not exist."""
    return named("pinned", names, documents, globs=False)


def open_pipeline(
    nodes: Mapping[str, Any],
    values: Mapping[str, Any],
    corpus: Corpus,
    indexes: Mapping[str, Entry],
    components: Components,
    records: RecordSet = NO_RECORDS,
) -> Pipeline:
    """Build a pipeline of nodes around stored indexes; DataError for an index of another corpus.

    A stage has nodes and values for its own work alone; what it lacks is `Unkeyed`. `indexes` may also hold `encoded` passages.
    """
    built = {name: components.build(node, f"index.{name}") for name, node in nodes.get("indexes", {}).items()}
    searchers: Any = {name: _opened(name, index, indexes[name], corpus) for name, index in built.items()}
    parts = {name: _part(name, nodes, components) for name in (*SINGLE, "selectors", "inspections")}
    pipeline = Pipeline(
        corpus=corpus,
        searchers=searchers if "indexes" in nodes else _part("indexes", nodes, components),
        uses_vectors={name: index.uses_vectors for name, index in built.items()},
        reading=reading_of(nodes, values, corpus.documents, components),
        database=RecordDatabase(records),
        **{FIELDS.get(name, name): knowing(name, part, corpus, indexes) for name, part in parts.items()},
        **{name: values.get(name, Unkeyed(name)) for name in ("depth", "rerank_depth")},
    )
    return limited(pipeline, values.get("lock", ()), values.get("exclude", ()))


def _opened(name: str, index: Index, built: Entry, corpus: Corpus) -> Searcher:
    searcher = index.open(built.arrays)
    # An index of a plugin need not know its size.
    size = getattr(searcher, "size", len(corpus))
    if size != len(corpus):
        what = f"is an index of {size} chunks, and the corpus has {len(corpus)}"
        raise DataError(f"index.{name}", what, "build the index again, or export the bundle again")
    return searcher
