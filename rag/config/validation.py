"""What a config says beside its components: values that make a pipeline, and the control that it may be."""

from collections.abc import Mapping
from typing import Any

from rag.config.build import TARGET, Components
from rag.config.parameters import yaml_text
from rag.core.errors import ConfigError, closest
from rag.core.roles import ChecksIndexes

WITHOUT_RETRIEVAL = ("closed_book", "gold_contexts")
OF_READING = ("closed_book", "shuffled_contexts", "gold_contexts")
"""Controls that change what a generator reads, and nothing before it."""
CONTROLS = ("none", *OF_READING, "perfect_chunker")


HISTORIES = ("gold", "live")
"""Where the turns before a question come from: the golden set as it is written, or what the pipeline itself answers."""


def history_of(config: Mapping[str, Any]) -> str:
    """Whose answers stand before a question; trials that were written down before there were others have the golden ones."""
    return str(config.get("history", "gold"))


def control_of(config: Mapping[str, Any]) -> str:
    """What stands in for a part of the pipeline; trials that were written down before there were controls have none."""
    return str(config.get("control", "none"))


def check(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for values of the wiring itself that make no pipeline."""
    for name in ("depth", "rerank_depth", "k"):
        if not isinstance(config[name], int) or isinstance(config[name], bool) or config[name] < 1:
            raise ConfigError(name, f"is {yaml_text(config[name])}", "a whole number from 1")
    if not isinstance(config["latency"], int) or isinstance(config["latency"], bool) or config["latency"] < 0:
        raise ConfigError("latency", f"is {yaml_text(config['latency'])}", "a whole number of questions, 0 for none")
    if not isinstance(config["coverage"], int | float) or not 0 < config["coverage"] <= 1:
        raise ConfigError("coverage", f"is {yaml_text(config['coverage'])}", "a share above 0, at most 1")
    _check_reading(config)
    _check_named(config)
    if control_of(config) not in CONTROLS:
        raise ConfigError("control", f"is {yaml_text(config['control'])}", closest(control_of(config), CONTROLS))
    if history_of(config) not in HISTORIES:
        raise ConfigError("history", f"is {yaml_text(config['history'])}", closest(history_of(config), HISTORIES))
    if config["k"] > config["depth"]:
        raise ConfigError("k", f"is {config['k']}, more than depth={config['depth']}", "raise depth, or lower k")
    if not config.get("index"):
        raise ConfigError("index", "names no index", "for example index=[bm25s,dense]")
    if not config.get("metrics") or not isinstance(config["metrics"], list):
        what = f"is {yaml_text(config['metrics'])}" if config.get("metrics") else "names no metric"
        raise ConfigError("metrics", what, "a list is needed, for example metrics=[recall@5,ndcg@10]")


def _check_reading(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a token budget, or pinned documents, that make no prompt."""
    tokens, pinned = config.get("context_tokens"), config.get("pinned")
    if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1):
        raise ConfigError("context_tokens", f"is {yaml_text(tokens)}", "a whole number from 1, or null for no limit")
    if pinned is not None and not (isinstance(pinned, list) and all(isinstance(name, str) for name in pinned)):
        raise ConfigError("pinned", f"is {yaml_text(pinned)}", "a list of doc_ids, for example pinned=[leave/policy.md]")


def _check_named(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a selector without a name: they were single components before a trial could have several."""
    selectors = config["selector"]
    if not isinstance(selectors, Mapping) or TARGET in selectors:
        what = f"is {yaml_text(selectors)}, not components by name"
        raise ConfigError("selector", what, "write `<name>:` above its _target_; of an older sweep or bundle: make it again")


def check_fusion(components: Components, config: Mapping[str, Any]) -> None:
    """Raise ConfigError for indexes that the fusion cannot fuse, before they are built."""
    fusion = components.role("fusion", config["fusion"])
    if isinstance(fusion, ChecksIndexes):
        fusion.check(list(config["index"]))


def check_typed(components: Components, config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a generator that answers golden questions alone."""
    if getattr(components.role("generator", config["generator"]), "reads_gold", False):
        what = "gives the reference answers of golden questions, and a typed one has none"
        raise ConfigError("generator", what, "choose another, for example generator=extractive")


def check_control(config: Mapping[str, Any], no_generator: bool, questions: int) -> None:
    """Raise ConfigError for a control that cannot show anything."""
    control = control_of(config)
    if control in OF_READING and no_generator:
        what = f"is {control!r}, which changes what a generator reads, and generator=none reads nothing"
        raise ConfigError("control", what, "choose a generator, for example generator=extractive, or control=none")
    if control == "shuffled_contexts" and questions < 2:
        raise ConfigError("control", "is 'shuffled_contexts', and one question has no other", "ask two questions or more")


def check_history(config: Mapping[str, Any], no_generator: bool, conversations: bool) -> None:
    """Raise ConfigError for live conversations that nobody leads."""
    if history_of(config) == "gold":
        return
    if not conversations:
        what = "is 'live', and no question of this golden set has a turn before it"
        raise ConfigError("history", what, "take one with dialogues, for example dataset=dialogues, or history=gold")
    if no_generator:
        what = "is 'live', and generator=none says nothing that could be remembered"
        raise ConfigError("history", what, "choose a generator, for example generator=extractive, or history=gold")
