"""Checks of the values of a config that are not parameters of components."""

from collections.abc import Mapping
from typing import Any

from rag.config.build import TARGET, Components
from rag.config.parameters import yaml_text
from rag.core.checks import check_choice, is_whole
from rag.core.errors import ConfigError
from rag.core.roles import ChecksIndexes, QuestionSelector, changes_nothing, varies
from rag.core.text.languages import check_language

WITHOUT_RETRIEVAL = ("closed_book", "gold_contexts")
OF_READING = ("closed_book", "shuffled_contexts", "gold_contexts")
"""Controls that change the contexts of a generator, and nothing before them."""
CONTROLS = ("none", *OF_READING, "perfect_chunker")
HISTORIES = ("gold", "live")
"""The source of the turns before a question: the golden set, or the answers of the pipeline itself."""
WHOLE = dict.fromkeys(("depth", "rerank_depth", "k", "repeats"), (1, "a whole number from 1")) | {
    "latency": (0, "a whole number of questions, 0 for none")
}
"""Keys that are whole numbers: the lowest value, and the words of the error."""


def history_of(config: Mapping[str, Any]) -> str:
    """The source of the turns before a question; `gold` in trials from before the key existed."""
    return str(config.get("history", "gold"))


def control_of(config: Mapping[str, Any]) -> str:
    """The part of the pipeline that is replaced; `none` in trials from before the key existed."""
    return str(config.get("control", "none"))


def repeats_of(config: Mapping[str, Any]) -> int:
    """How often each question is answered; 1 in trials from before the key existed."""
    return int(config.get("repeats", 1))


def check(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for values of the wiring itself that make no pipeline."""
    for name, (lowest, expected) in WHOLE.items():
        if not is_whole(value := config.get(name, 1), lowest):
            raise ConfigError(name, f"is {yaml_text(value)}", expected)
    if not isinstance(config["coverage"], int | float) or not 0 < config["coverage"] <= 1:
        raise ConfigError("coverage", f"is {yaml_text(config['coverage'])}", "a share above 0, at most 1")
    tokens = config.get("context_tokens")
    if tokens is not None and not is_whole(tokens, 1):
        raise ConfigError("context_tokens", f"is {yaml_text(tokens)}", "a whole number from 1, or null for no limit")
    for name in ("pinned", "lock", "exclude"):
        files = config.get(name)
        if files is not None and not (isinstance(files, list) and all(isinstance(each, str) for each in files)):
            raise ConfigError(name, f"is {yaml_text(files)}", f"a list of doc_ids, for example {name}=[leave/policy.md]")
    check_language("language", config.get("language", "english"))
    _check_named(config)
    check_choice("control", control_of(config), CONTROLS)
    check_choice("history", history_of(config), HISTORIES)
    _check_needed(config)


def _check_needed(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for values that leave nothing to find or to measure."""
    if config["k"] > config["depth"]:
        raise ConfigError("k", f"is {config['k']}, more than depth={config['depth']}", "raise depth, or lower k")
    if not config.get("index"):
        raise ConfigError("index", "names no index", "for example index=[bm25s,dense]")
    if not config.get("metrics") or not isinstance(config["metrics"], list):
        what = f"is {yaml_text(config['metrics'])}" if config.get("metrics") else "names no metric"
        raise ConfigError("metrics", what, "a list is needed, for example metrics=[recall@5,ndcg@10]")


def _check_named(config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a selector or an enricher without a name, as configs had before a trial could have several."""
    for role in ("selector", "enrich"):
        named = config.get(role, {})
        if not isinstance(named, Mapping) or TARGET in named:
            what = f"is {yaml_text(named)}, not components by name"
            raise ConfigError(role, what, "write `<name>:` above its _target_; of an older sweep or bundle: make it again")


def check_together(components: Components, config: Mapping[str, Any]) -> None:
    """Raise ConfigError for indexes that the fusion cannot fuse, selectors in a wrong order, and a roster without records."""
    fusion = components.role("fusion", config["fusion"])
    if isinstance(fusion, ChecksIndexes):
        fusion.check(list(config["index"]))
    # A bundle has its records, and no components that make them.
    if config.get("enrich") == {} and not changes_nothing(components.role("roster", config["roster"])):
        raise ConfigError("roster", "joins records, and enrich=none makes none", "choose, for example, enrich=rules")
    widens = ""
    for name, node in config["selector"].items():
        selector = components.role("selector", node, f"selector.{name}")
        if widens and (getattr(selector, "reorders", False) or isinstance(selector, QuestionSelector)):
            what = f"comes behind {widens}, which adds chunks to the hits that it would order or drop"
            raise ConfigError(f"selector.{name}", what, f"write selector=[{name},{widens}]")
        widens = name if getattr(selector, "widens", False) else widens


def has_system(components: Components, config: Mapping[str, Any]) -> bool:
    """Whether a system outside of Assay searches; no trial from before the key existed has one."""
    return "system" in config and not changes_nothing(components.role("system", config["system"]))


def check_system(components: Components, config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a system with a part that only our own search has, and for its replies without it."""
    if has_system(components, config):
        for name, value, usual in (("control", control_of(config), CONTROLS[0]), ("history", history_of(config), HISTORIES[0])):
            if value != usual:
                raise ConfigError(name, f"is {value!r}, which another system cannot do", f"{name}={usual}")
    elif getattr(components.role("generator", config["generator"]), "reads_system", False):
        what = "gives the replies of another system, and there is none"
        raise ConfigError("generator", what, "set system=results, for example")


def check_typed(components: Components, config: Mapping[str, Any]) -> None:
    """Raise ConfigError for a generator that answers golden questions only, and for a system that runs elsewhere."""
    if has_system(components, config):
        raise ConfigError("system", "runs elsewhere: Assay measures it, and cannot open it", "ask the system itself")
    if getattr(components.role("generator", config["generator"]), "reads_gold", False):
        what = "gives the reference answers of golden questions, and a typed one has none"
        raise ConfigError("generator", what, "choose another, for example generator=extractive")


def check_repeats(config: Mapping[str, Any], generator: object) -> None:
    """Raise ConfigError for more than one answer per question of a generator that always answers alike."""
    if repeats_of(config) > 1 and not varies(generator):
        what = f"is {config['repeats']}, and {type(generator).__name__} answers a question alike each time"
        remedy = "set generator.temperature=0.7 (or generator.seed=null) of a model, or repeats=1 for this trial"
        raise ConfigError("repeats", what, remedy)


def check_control(config: Mapping[str, Any], no_generator: bool, questions: int) -> None:
    """Raise ConfigError for a control that changes nothing here."""
    control = control_of(config)
    if control in OF_READING and no_generator:
        what = f"is {control!r}, which changes what a generator reads, and generator=none reads nothing"
        raise ConfigError("control", what, "choose a generator, for example generator=extractive, or control=none")
    if control == "shuffled_contexts" and questions < 2:
        raise ConfigError("control", "is 'shuffled_contexts', and one question has no other", "ask two questions or more")


def check_history(config: Mapping[str, Any], no_generator: bool, conversations: bool) -> None:
    """Raise ConfigError for live conversations without earlier turns, or without answers."""
    if history_of(config) == "gold":
        return
    if not conversations:
        what = "is 'live', and no question of this golden set has a turn before it"
        raise ConfigError("history", what, "take one with dialogues, for example dataset=dialogues, or history=gold")
    if no_generator:
        what = "is 'live', and generator=none says nothing that could be remembered"
        raise ConfigError("history", what, "choose a generator, for example generator=extractive, or history=gold")


def asks_model(config: Mapping[str, Any], role: str) -> bool:
    """Whether the component of a role asks a model that is its parameter."""
    node = config.get(role) or {}
    return any("generator" in each for each in (node, *node.values()) if isinstance(each, Mapping))
