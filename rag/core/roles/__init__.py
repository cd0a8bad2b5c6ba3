"""One Protocol per role. A choice is a class that fits one of them and a YAML in `conf/<role>/` that names it.

Constructors check their parameters, are cheap, and load nothing: a plan builds every component of every trial. A model is
loaded at the first call. Batches go in and come out; one question is a batch of one.

Class attributes that any component may set: `changes_nothing = True` marks the choice `none` of a role, which has no stage of
its own; `fingerprint()` names the model behind it without loading it (sha256 of the weights, or `name@revision`). An Embedder
that several threads may ask at once sets `parallel = True`, and a server then does. A Loader may keep in `skipped` the files
that `load` did not read (`rag.components.loaders.file_tree.Skipped`). A Fusion
may have `check(names)`, which raises ConfigError for indexes that it cannot fuse. A Generator whose replies cost time or money
sets `costly = True`: they are then kept one by one. Its `spending(requests, prompt, reply)` estimates the (tokens, US dollars)
of so many requests by the tokens of a prompt and of a reply, the longest that it allows where that is None. It may also have
`expected(request)`, what one request takes at most, by which a budget is kept; `sent(request)`, everything that its server is
told, under which a reply is kept whatever becomes of the code; and `attempts(requests)`, which gives a UserError in place of a
reply instead of raising it, so that the replies before it are kept. One that looks at reference answers sets
`reads_gold = True`.

A component whose constructor takes parameters that change no result (devices, batch sizes, folders of caches, time-outs) names
them in a tuple: `runtime = ("device", "batch_size")`. The `runtime` block of a config takes these and no others. No key and no
bundle holds them.
"""

import inspect
from collections.abc import Mapping

from rag.core.roles.answering import Framing, Generator, Inspection, Memory, Prompt, Quoting, Rewriter, Screen
from rag.core.roles.retrieving import (
    Chunker,
    Embedder,
    Fusion,
    Index,
    Loader,
    Questions,
    Reranker,
    Scaled,
    Searcher,
    Selector,
    TokenOffsets,
    Windowed,
)
from rag.core.roles.scoring import AnswerMetric, AssessedMetric, Judge, Judgements, RankingMetric

__all__ = [
    "ROLES",
    "SEVERAL",
    "AnswerMetric",
    "AssessedMetric",
    "Chunker",
    "Embedder",
    "Framing",
    "Fusion",
    "Generator",
    "Index",
    "Inspection",
    "Judge",
    "Judgements",
    "Loader",
    "Memory",
    "Prompt",
    "Questions",
    "Quoting",
    "RankingMetric",
    "Reranker",
    "Rewriter",
    "Scaled",
    "Screen",
    "Searcher",
    "Selector",
    "TokenOffsets",
    "Windowed",
    "changes_nothing",
    "fingerprint",
    "has_methods",
    "protocols",
    "runtime_names",
]

ROLES: Mapping[str, type] = {
    "loader": Loader,
    "dataset": Questions,
    "chunker": Chunker,
    "embedder": Embedder,
    "index": Index,
    "fusion": Fusion,
    "reranker": Reranker,
    "queries": Rewriter,
    "memory": Memory,
    "prompt": Prompt,
    "generator": Generator,
    "judge": Judge,
}
"""Config group → the Protocol that its choices fit."""

SEVERAL: Mapping[str, tuple[type, ...]] = {
    "metric": (RankingMetric, AnswerMetric, AssessedMetric),
    "selector": (Selector,),
    "check": (Screen, Inspection),
    "guard": (Screen, Framing, Inspection),
}
"""Config groups of which a trial chooses any number by name → the Protocols of which their choices fit one or more."""


def protocols(role: str) -> tuple[type, ...]:
    """The Protocols of a config group: a choice fits one or more."""
    return SEVERAL.get(role) or (ROLES[role],)


def has_methods(found: type, protocol: type) -> bool:
    """Whether a class has the methods of a Protocol; no instance is needed."""
    members = {
        name: member for one in protocol.__mro__ if getattr(one, "_is_protocol", False) for name, member in vars(one).items()
    }
    names = [name for name, member in members.items() if inspect.isfunction(member) and name[0] != "_"]
    return all(callable(getattr(found, name, None)) for name in names)


def changes_nothing(component: object) -> bool:
    """Whether a component is the `none` of its role."""
    return bool(getattr(component, "changes_nothing", False))


def fingerprint(component: object) -> str:
    """The model behind a component, empty if there is none."""
    name = getattr(component, "fingerprint", None)
    return str(name()) if name else ""


def runtime_names(component: type) -> tuple[str, ...]:
    """The parameters that a class declares to change no result."""
    names = getattr(component, "runtime", ())
    return names if isinstance(names, tuple) else ()
