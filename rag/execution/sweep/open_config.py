"""A config → an opened pipeline, its chunks and indexes taken from the store or built into it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.config.build import TARGET, Components
from rag.config.catalog import defaults, plugins
from rag.config.compose import check_override, compose, hydra_ready, is_group, parsed, resolve
from rag.config.search_space import Resolver, Trial
from rag.config.single_values import unresolved, with_value
from rag.config.validation import check, check_fusion, check_typed, control_of
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, UserError, closest
from rag.core.records import Query
from rag.core.roles import changes_nothing
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.execution.graph.engine import Runner
from rag.execution.graph.open_pipeline import SINGLE, layers, open_pipeline, selectors_of
from rag.execution.graph.plan import components_for
from rag.execution.graph.stage_graph import Graph
from rag.execution.graph.stage_inputs import corpus_of
from rag.execution.graph.trial_graph import add_corpus, reading_values
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.store import Entry
from rag.execution.sweep.sweep import looked_up, recorded
from rag.pipeline.pipeline import Pipeline

ANSWERING = (
    *("queries", "memory", "selector", "k", "context_tokens", "pinned"),
    *("guard", "prompt", "generator", "check", "replay", "budget"),
)
"""Keys of a config that change how a question is answered, and not what is indexed."""


def required_question(question: str) -> Query:
    """A typed question; UserError for an empty one."""
    if not question.strip():
        raise UserError("question", "is empty", 'for example: rag ask "How many days of leave do I get?"')
    return Query("ask", question)


def config_of(overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved config that overrides, or `trial=<id>` of a sweep, name."""
    trial = [override for override in overrides if override.startswith("trial=")]
    if not trial:
        with hydra_ready():
            return resolve(compose(overrides))
    others = [override for override in overrides if override not in trial]
    if others or len(trial) > 1:
        raise ConfigError(
            "trial", f"stands beside {' '.join(others or trial[1:])}", "a trial is used as it was measured, alone"
        )
    return dict(recorded(trial[0].partition("=")[2]).config)


def config_to_answer(overrides: Sequence[str], generates: bool = True) -> tuple[dict[str, Any], str]:
    """As `config_of`, but overrides of ANSWERING may stand beside `trial=<id>`; and what is not as the trial was measured.

    With `generates`, a trial whose generator gives typed questions no answer gets the default one, unless the overrides name
    one. The second value is a sentence, empty where nothing differs or no trial is named.
    """
    named = [override for override in overrides if override.startswith("trial=")]
    if len(named) != 1:
        return config_of(overrides), ""
    trial_id, trial = looked_up(named[0].partition("=")[2])
    changes = [override for override in overrides if override not in named]
    with hydra_ready():
        config, lacks = _changed(trial, changes, generates)
    changes += [f"generator={defaults()['generator']}"] if lacks else []
    why = f" (the default: {lacks})" if lacks else ""
    return config, f"Trial {trial_id} as it was measured, but with {shlex.join(changes)}{why}." if changes else ""


def _changed(trial: Trial, changes: Sequence[str], generates: bool) -> tuple[dict[str, Any], str]:
    """The config of a trial under some overrides, and what its own generator lacks where the default one takes its place."""
    keys = [re.split(r"[.@/]", read.key_or_group)[0] for read in parsed(changes)]
    for key, change, read in zip(keys, changes, parsed(changes), strict=True):
        check_override(read)
        if key not in ANSWERING:
            remedy = f"{closest(key, ANSWERING)}; for another trial leave out trial="
            raise ConfigError(change, "stands beside trial=, and changes more than how a question is answered", remedy)
    groups = {change: key for key, change in zip(keys, changes, strict=True) if is_group(change.lstrip("+~").partition("=")[0])}
    made, config = unresolved(compose([*groups])), dict(trial.config)
    config |= {key: made[key] for key in groups.values()}
    lacks = _lack(config) if generates and "generator" not in groups.values() and not _lack(made) else ""
    config |= {"generator": made["generator"]} if lacks else {}
    for change in changes:
        config = config if change in groups else with_value(config, change)
    resolver = Resolver()
    changed = {key: resolver(key, config) for key in (*keys, *(["generator"] if lacks else []))}
    return config | changed, lacks


def _lack(config: Mapping[str, Any]) -> str:
    """Why the generator of a config answers no typed question; empty where it does."""
    found = Components(plugins()).resolve(config["generator"].get(TARGET), "generator")
    if changes_nothing(found):
        return "it was measured with generator=none"
    return "its own answers golden questions alone" if getattr(found, "reads_gold", False) else ""


@dataclass(frozen=True)
class Materials:
    """What a pipeline is opened from: documents, their chunks, indexes over these by name, and the builder of its parts."""

    golden: Golden
    corpus: Corpus
    indexes: Mapping[str, Entry]
    components: Components


def open_config(config: Mapping[str, Any]) -> Pipeline:
    """Everything that one question needs; questions of a golden set are not.

    Chunks and indexes are taken from the store or built into it. Questions then leave no trace there: an opened pipeline
    answers without it; only replay=only has them answered from the replies that are kept there.
    """
    found = materials(config)
    components = found.components if Terms.of(config).replay == "only" else found.components.without_inner
    return open_pipeline(nodes_of(config, found.components), values_of(config), found.corpus, found.indexes, components)


def nodes_of(config: Mapping[str, Any], components: Components) -> dict[str, Any]:
    """The parts of a config that `open_pipeline` builds."""
    parts = layers(config, components)
    nodes = {role: config[role] for role in (*SINGLE, "memory", "prompt")}
    return nodes | parts | {"indexes": config["index"], "selectors": selectors_of(config, components)}


def values_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the wiring that `open_pipeline` reads."""
    return reading_values(config) | {name: config[name] for name in ("depth", "rerank_depth")}


def materials(config: Mapping[str, Any]) -> Materials:
    """Documents, chunks and indexes of a config, from the store or built into it; ConfigError for what cannot be served."""
    check(config)
    if (control := control_of(config)) != "none":
        what = f"is {control!r}, which needs the gold of a question, and of a typed one it is not known"
        raise ConfigError("control", what, "leave it out, or control=none")
    store, terms = maintenance.at(config["store"]), Terms.of(config)
    graph = Graph(components_for(store, Ledger(store, terms)))
    documents = golden_sets.load_documents(graph.components.role("loader", config["loader"]))
    golden = Golden(documents, ())
    for role in (*SINGLE, "memory", "prompt"):
        graph.components.role(role, config[role])
    check_typed(graph.components, config)
    check_fusion(graph.components, config)
    corpus, indexes = add_corpus(graph, config, golden)
    runner = Runner(graph, {golden.corpus_digest: golden}, store)
    opened = {name: runner.obtain(key) for name, key in indexes.items()}
    return Materials(golden, corpus_of(runner.obtain(corpus), golden), opened, graph.components)
