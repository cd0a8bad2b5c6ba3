"""One Protocol per role. A choice is a class that fits one of them and a YAML in `conf/<role>/` that names it.

Constructors check their parameters, are cheap, and load nothing: a plan builds every component of every trial. A model is
loaded at the first call. Batches go in and come out; one question is a batch of one.

Class attributes that a component may set, False or empty by default:

- `changes_nothing = True` marks the choice `none` of a role, which has no stage of its own.
- `costly = True`: a call takes time or money. The replies of such a Generator are stored one by one.
- `varies`: whether a Generator may answer a question in two ways; by default, whether it is costly.
- `reads_gold = True`: a Generator that reads the reference answers; `reads_system = True`: one that gives those of the system.
- `reads = ("passages", "records")`: what a Policy, a Shaper or a Condenser reads besides questions and chunks, of READABLE. Its
  result is stored, and used again until something that it reads changes; it gets nothing else. A class without it reads all.
- `compares = ("tokens", "encoder")`: a Reranker or a Selector compares passages, as token vectors in int8 that the embedder in
  its parameter `encoder` makes. A trial encodes them once for all questions, and that embedder then knows them by text
  (`rag.core.encoded_passages`). "vectors" instead of "tokens": unit vectors, where an index has those of the same embedder.
- `parallel = True`: an Embedder that several threads may call at once; a server then does.
- `runtime = ("device", "batch_size")` names parameters of the constructor that change no result, such as devices, batch sizes,
  cache folders and time-outs. The `runtime` block of a config takes these and no others. No key and no bundle holds them.
- `languages = ("english",)`: the languages of its rules, lists of words or weights; empty for any. A plan and the conclusion of
  a sweep name the components that do not know the `language` of the wiring.

A Loader may keep in `skipped` the files that `load` did not read (`rag.documents.folder.file_tree.Skipped`).
"""

import inspect
from collections.abc import Mapping

from rag.core.roles.answering import (
    Batched,
    BoundedCost,
    CostEstimate,
    Framing,
    Generator,
    Inspection,
    Memory,
    PartialBatches,
    Prompt,
    Quoting,
    Replying,
    Rewriter,
    Screen,
    StoredReplies,
    System,
)
from rag.core.roles.looking import CappedPolicy, Condenser, Enricher, Policy, RetrievalMemory, Roster, Router, Shaper
from rag.core.roles.retrieving import (
    Analyser,
    ChecksIndexes,
    Chunker,
    Embedder,
    Fingerprinted,
    Fusion,
    Index,
    IngestionRules,
    Loader,
    NoiseFilter,
    Parser,
    PassageText,
    Questions,
    QuestionSelector,
    Redactor,
    Reranker,
    Scaled,
    Searcher,
    Selector,
    TokenOffsets,
    Windowed,
)
from rag.core.roles.scoring import AnswerMetric, AssessedMetric, Judge, Judgements, RankingMetric

ROLES: Mapping[str, type] = {
    "loader": Loader,
    "dataset": Questions,
    "system": System,
    "roster": Roster,
    "chunker": Chunker,
    "passage": PassageText,
    "embedder": Embedder,
    "index": Index,
    "fusion": Fusion,
    "reranker": Reranker,
    "route": Router,
    "policy": Policy,
    "queries": Rewriter,
    "memory": Memory,
    "reuse": RetrievalMemory,
    "shape": Shaper,
    "condense": Condenser,
    "prompt": Prompt,
    "generator": Generator,
    "judge": Judge,
}
"""Config group → the Protocol of its choices."""

LOADER_PARTS: Mapping[str, type] = {"parser": Parser, "redactor": Redactor, "ingest": IngestionRules, "noise": NoiseFilter}
"""Config groups whose choices are parts of a loader → the Protocol of their choices."""

INDEX_PARTS: Mapping[str, type] = {"analyser": Analyser}
"""Config groups whose choices are parts of an index → the Protocol of their choices."""

SEVERAL: Mapping[str, tuple[type, ...]] = {
    "metric": (RankingMetric, AnswerMetric, AssessedMetric),
    "enrich": (Enricher,),
    "selector": (Selector, QuestionSelector),
    "check": (Screen, Inspection),
    "guard": (Screen, Framing, Inspection),
}
"""Config groups of which a trial takes any number of choices → the Protocols of which a choice fits one or more."""


def protocols(role: str) -> tuple[type, ...]:
    """The Protocols of a config group: a choice fits one or more."""
    return SEVERAL.get(role) or ({**ROLES, **LOADER_PARTS, **INDEX_PARTS}[role],)


def has_methods(component: type, protocol: type) -> bool:
    """True if a class has the methods of a Protocol; no instance is needed."""
    parents = [parent for parent in protocol.__mro__ if getattr(parent, "_is_protocol", False)]
    names = [name for parent in parents for name, member in vars(parent).items() if inspect.isfunction(member)]
    return all(callable(getattr(component, name, None)) for name in names if name[0] != "_")


def changes_nothing(component: object) -> bool:
    """True for the choice `none` of a role, and for no component."""
    return component is None or bool(getattr(component, "changes_nothing", False))


READABLE = ("passages", "records", "conversation", "project")
"""What the component of a link may read: passages as screens and guards leave them and the prompt lays them out, records, the
part of the conversation that a memory recalls, and the text about the project."""


def reads(component: object, what: str) -> bool:
    """Whether the component of a link reads something of READABLE."""
    return what in getattr(component, "reads", READABLE)


def is_costly(component: object) -> bool:
    """True if a call of the component takes time or money."""
    return bool(getattr(component, "costly", False))


def varies(generator: object) -> bool:
    """True if the generator, or the `generator` inside it, may answer a question in two ways."""
    inner = getattr(generator, "generator", None)
    return varies(inner) if inner else bool(getattr(generator, "varies", is_costly(generator)))


def fingerprint(component: object) -> str:
    """The model of a component, else of its `generator`, `encoder`, `summarizer` or what `compares` names; empty for none."""
    if isinstance(component, Fingerprinted):
        return str(component.fingerprint())
    names = ("generator", "encoder", "summarizer", *getattr(component, "compares", ())[1:])
    inner = (getattr(component, name, None) for name in names)
    return next((fingerprint(part) for part in inner if part is not None), "")


def languages_of(component: object) -> tuple[str, ...]:
    """The languages that a component knows; empty if it knows any."""
    return tuple(getattr(component, "languages", ()))


def runtime_names(component: type) -> tuple[str, ...]:
    """The parameters of a class that change no result."""
    names = getattr(component, "runtime", ())
    return names if isinstance(names, tuple) else ()
