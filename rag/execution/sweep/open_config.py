"""Open the pipeline of a config, with chunks and indexes from the store, or built into it."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.config.build import TARGET, Components
from rag.config.catalog import defaults, plugins
from rag.config.compose import HELPER, check_override, compose, is_group, parsed, resolve
from rag.config.composer import composing
from rag.config.resolver import Resolver
from rag.config.search_space import Trial
from rag.config.stand_ins import STAND_INS, remark, replaced
from rag.config.validation import check, check_together, check_typed, control_of
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, UserError, closest
from rag.core.records.sets import NO_RECORDS, RecordSet
from rag.core.roles import changes_nothing
from rag.core.types import Query
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.execution.graph.engine import Runner
from rag.execution.graph.open_pipeline import SINGLE, TrialParts, open_pipeline
from rag.execution.graph.plan import components_for, loader_of
from rag.execution.graph.search_graph import encode
from rag.execution.graph.stage_graph import Graph
from rag.execution.graph.stage_inputs import corpus_of, records_of
from rag.execution.graph.trial_graph import TrialGraph
from rag.execution.store import maintenance
from rag.execution.store.budget import Ledger, Terms
from rag.execution.store.store import Entry
from rag.execution.sweep.reopen import stored_trial
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.locked_files import locks_whole

ANSWERING = (
    *("route", "policy", "reuse", "shape", "condense", "queries", "memory", "selector"),
    *("k", "context_tokens", "pinned", "lock", "exclude"),
    *("guard", "prompt", "generator", "helper", "check", "replay", "budget"),
)
"""Keys of a config that change how a question is answered, but not what is indexed."""


def required_question(question: str) -> Query:
    """A typed question; UserError for an empty one."""
    if not question.strip():
        raise UserError("question", "is empty", 'for example: rag ask "How many days of leave do I get?"')
    return Query("ask", question)


def config_of(overrides: Sequence[str]) -> dict[str, Any]:
    """The resolved config that overrides, or `trial=<id>` of a sweep, name."""
    trial = [override for override in overrides if override.startswith("trial=")]
    if not trial:
        return resolve(compose(overrides))
    others = [override for override in overrides if override not in trial]
    if others or len(trial) > 1:
        remedy = "give trial=ID alone: a trial is used as it was measured"
        raise ConfigError("trial", f"is given with {' '.join(others or trial[1:])}", remedy)
    return dict(stored_trial(trial[0].partition("=")[2]).trial.config)


def config_to_answer(overrides: Sequence[str], generates: bool = True) -> tuple[dict[str, Any], str]:
    """As `config_of`, but `trial=<id>` may have overrides of keys in ANSWERING; and a sentence on the differences.

    With `generates`, a trial whose generator cannot answer typed questions gets the default generator, unless the overrides
    name one. The sentence says what differs from the measured trial, or what stands in for parts of a preset; else it is empty.
    """
    named = [override for override in overrides if override.startswith("trial=")]
    if len(named) != 1:
        config = config_of(overrides)
        return config, remark(config)
    stored = stored_trial(named[0].partition("=")[2])
    changes = [override for override in overrides if override not in named]
    with composing():
        config, lacks = _changed(stored.trial, changes, generates)
    changes += [f"generator={defaults()['generator']}"] if lacks else []
    why = f" (the default: {lacks})" if lacks else ""
    measured = f"Trial {stored.trial_id} as it was measured, but with {shlex.join(changes)}{why}." if changes else ""
    return config, " ".join(filter(None, (measured, remark(config))))


def _changed(trial: Trial, changes: Sequence[str], generates: bool) -> tuple[dict[str, Any], str]:
    """The config of a trial with overrides, and the reason why the default generator replaces its own, if it does."""
    overrides = parsed(changes)
    keys = [re.split(r"[.@/]", override.key_or_group)[0] for override in overrides]
    for key, change, override in zip(keys, changes, overrides, strict=True):
        check_override(override)
        if key not in ANSWERING:
            remedy = f"{closest(key, ANSWERING)}; for another trial leave out trial="
            raise ConfigError(change, "is given with trial=, and changes more than how a question is answered", remedy)
    groups = {change: key for key, change in zip(keys, changes, strict=True) if is_group(change.lstrip("+~").partition("=")[0])}
    made, config = compose([*groups]), dict(trial.config)
    config |= {key: made[key] for key in (*groups.values(), HELPER)}
    lacks = _lack(config) if generates and "generator" not in groups.values() and not _lack(made) else ""
    config |= {"generator": made["generator"]} if lacks else {}
    values = [override for change, override in zip(changes, overrides, strict=True) if change not in groups]
    with composing() as composer:
        config = dict(composer.with_values(config, values))
    resolver = Resolver()
    changed = {key: resolver(key, config) for key in (*keys, *(["generator"] if lacks else [])) if key != HELPER}
    stands = replaced(config.get(STAND_INS, ()), [*groups.values(), *(["generator"] if lacks else [])])
    config = {key: value for key, value in config.items() if key not in (STAND_INS, HELPER)}
    config |= {STAND_INS: stands} if stands else {}
    return config | changed, lacks


def _lack(config: Mapping[str, Any]) -> str:
    """Why the generator of a config cannot answer typed questions; empty where it can."""
    generator = Components(plugins()).resolve(config["generator"].get(TARGET), "generator")
    if changes_nothing(generator):
        return "it was measured with generator=none"
    return "its own answers golden questions alone" if getattr(generator, "reads_gold", False) else ""


@dataclass(frozen=True)
class Materials:
    """The inputs of `open_pipeline`: documents, their chunks, indexes and encoded passages, and the builder of components."""

    golden: Golden
    corpus: Corpus
    indexes: Mapping[str, Entry]
    components: Components
    records: RecordSet = NO_RECORDS
    passages: Mapping[str, Entry] = field(default_factory=dict)


def open_config(config: Mapping[str, Any], stored: bool = False) -> Pipeline:
    """Open the pipeline of a config; it needs no golden questions.

    Chunks and indexes are read from the store or built into it. Questions are answered without the store, and leave nothing in
    it; with replay=only they are answered from its replies. With `stored` replies of models come from it and go into it, within
    the budget.
    """
    inputs = materials(config)
    components = inputs.components if stored or Terms.of(config).replay == "only" else inputs.components.without_inner
    parts = TrialParts(config, inputs.components)
    made = {**inputs.indexes, **inputs.passages}
    return open_pipeline(parts.nodes, parts.values, inputs.corpus, made, components, inputs.records)


def materials(config: Mapping[str, Any]) -> Materials:
    """Documents, chunks and indexes of a config, from the store or built into it; ConfigError for what cannot be served."""
    check(config)
    if (control := control_of(config)) != "none":
        what = f"is {control!r}, which needs the gold of a question, and a typed question has none"
        raise ConfigError("control", what, "leave it out, or control=none")
    store, terms = maintenance.at(config["store"]), Terms.of(config)
    graph = Graph(components_for(store, Ledger(store, terms)))
    loader = loader_of(config, graph.components)
    documents, skipped = golden_sets.load_documents(loader), golden_sets.skipped_by(loader)
    locks_whole(config, documents, {file.name: file.detail or file.reason for file in skipped})
    golden = Golden(documents, ())
    trial = TrialGraph(graph, config, golden)
    for role in (*SINGLE, "memory", "prompt", "roster"):
        trial.parts.role(role)
    check_typed(graph.components, config)
    check_together(graph.components, config)
    corpus, indexes = trial.corpus()
    runner = Runner(graph, {golden.corpus_digest: golden}, store)
    stages = indexes, encode(graph, trial.parts, golden, corpus), trial.records()
    opened, passages, found = ({name: runner.obtain(key) for name, key in keys.items()} for keys in stages)
    return Materials(golden, corpus_of(runner.obtain(corpus), golden), opened, graph.components, records_of(found), passages)
