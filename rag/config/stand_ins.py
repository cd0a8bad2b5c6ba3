"""Parts that a preset needs and this machine lacks, and the choices that stand in for them, which every result names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from rag.config.catalog import choice, choices
from rag.config.defaults_list import is_set, providers
from rag.config.servers import components_in
from rag.core.errors import ConfigError, is_installed
from rag.core.models.pinned import PinnedModel

STAND_INS = "stand_ins"
"""The key of a preset with its stand-ins, and of a config with a sentence for each that is used."""

MARK = " *"
"""The end of the name of a trial in which something stands in for a part of its preset."""

SENTENCE = re.compile(r"(?P<lack>.+) is missing: (?P<used>\S+=.+) stands? in")

PROVIDER, AUTO, GENERATOR, HELPER = "provider", "auto", "generator", "helper"
KINDS = (PROVIDER, "key", "model", "package", "server")


def stand_ins(declared: Any, chosen: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The overrides of the stand-ins that are needed here, and a sentence for each missing part.

    `declared` is the list in a preset; `chosen` has the choices of the user by group: no stand-in replaces these, nor the parts
    that their model can do. The values of an entry go with its choices. ConfigError for a list that cannot be read.
    """
    taken, overrides, sentences = set(chosen), list[str](), list[str]()
    model = chosen.get(HELPER, chosen.get(GENERATOR))
    for kind, lack, use in _lacks(declared):
        if kind == PROVIDER:
            helped = HELPER in chosen or (model != AUTO and model in choices(HELPER))
            use = [each for each in use if not helped or _group(each) == GENERATOR]
            overrides += [f"{HELPER}={model if helped else 'openai'}"] if HELPER not in chosen and (helped or lack) else []
        free = [override for override in use if _group(override) not in taken]
        used = [override for override in free if "." not in override.partition("=")[0]]
        if lack and (used or free == use):
            overrides += free
            sentences += [_sentence(lack, used or free)] if free else []
    return overrides, sentences


def _group(override: str) -> str:
    return override.partition("=")[0].partition(".")[0]


def _sentence(lack: str, used: Sequence[str]) -> str:
    return f"{lack} is missing: {' '.join(used)} {'stands' if len(used) == 1 else 'stand'} in"


def replaced(sentences: Iterable[str], chosen: Iterable[str]) -> list[str]:
    """The sentences that are left when the user makes another choice for some groups of a config that has stand-ins."""
    taken, kept = set(chosen), []
    for sentence in sentences:
        found = SENTENCE.fullmatch(sentence)
        used = [override for override in found["used"].split() if _group(override) not in taken] if found else []
        kept += [_sentence(found["lack"], used)] if found and used else [] if found else [sentence]
    return kept


def remark(*configs: Mapping[str, Any]) -> str:
    """What stands in for parts of the presets of some configs, and on a second line what is missing; empty for nothing."""
    sentences = list(dict.fromkeys(sentence for config in configs for sentence in config.get(STAND_INS, ())))
    found = [match for sentence in sentences if (match := SENTENCE.fullmatch(sentence))]
    used = list(dict.fromkeys(each for match in found for each in match["used"].split()))
    said = [f"{' '.join(used)} {'stands' if len(used) == 1 else 'stand'} in."] if used else []
    said += [f"Missing: {', '.join(dict.fromkeys(match['lack'] for match in found))}."] if found else []
    return "\n".join([*said, *(f"{sentence}." for sentence in sentences if not SENTENCE.fullmatch(sentence))])


def lacks_model(config: Mapping[str, Any]) -> bool:
    """Whether something stands in for the model that answers in a preset."""
    found = filter(None, map(SENTENCE.fullmatch, config.get(STAND_INS, ())))
    return any(_group(each) == GENERATOR for match in found for each in match["used"].split())


def asks_model(config: Mapping[str, Any]) -> bool:
    """Whether a model answers in a config."""
    return any("model" in node for node in components_in(config.get(GENERATOR)))


def _lacks(declared: Any) -> Iterator[tuple[str, str, Sequence[str]]]:
    """The kind of each part, its name if it cannot be used here, and the overrides that stand in for it."""
    for number, entry in enumerate(declared if isinstance(declared, Sequence) else [declared]):
        kinds = [kind for kind in KINDS if kind in entry] if isinstance(entry, Mapping) else []
        if len(kinds) != 1 or isinstance(entry.get("use"), str | None) or not isinstance(entry["use"], Sequence):
            form = f"one of {', '.join(KINDS)}, and `use` with a list of overrides"
            raise ConfigError(f"{STAND_INS}[{number}]", "is not a stand-in", form)
        yield kinds[0], _lack(kinds[0], entry[kinds[0]], entry.get("revision")), [str(override) for override in entry["use"]]


def _lack(kind: str, needed: Any, revision: str | None) -> str:
    """The name of a part that is missing here; empty if it is there."""
    names = [needed] if isinstance(needed, str) else [str(name) for name in needed]
    if kind == "model":
        return "" if PinnedModel(STAND_INS, names[0], revision).here else names[0]
    if kind == "package":
        return next((f"the package {name}" for name in names if not is_installed(name)), "")
    if kind == PROVIDER:
        listed = providers(choice(GENERATOR, names[0])).values()
        return "" if any(map(is_set, chain(*listed))) else "a key or server of a model"
    return "" if any(map(is_set, names)) else f"a {kind} ({' or '.join(names)})"
