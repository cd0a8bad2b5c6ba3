"""Parts that a preset needs and this machine lacks, and the choices that stand in for them, which every result names."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rag.core.errors import ConfigError, install, is_installed
from rag.core.models.pinned import PinnedModel

STAND_INS = "stand_ins"
"""The key of a preset with its stand-ins, and of a config with a sentence for each that is used."""

MARK = " *"
"""The end of the name of a trial in which something stands in for a part of its preset."""

SENTENCE = re.compile(r"(?P<lack>.+): (?P<used>\S+=.+) stands? in")

KINDS = ("key", "model", "package", "server")


def stand_ins(declared: Any, chosen: Iterable[str]) -> tuple[list[str], list[str]]:
    """The overrides of the stand-ins that are needed here, and a sentence for each of them.

    `declared` is the list in a preset; `chosen` are the groups that the user chose, which no stand-in replaces. ConfigError for
    a list that cannot be read.
    """
    taken, overrides, sentences = set(chosen), list[str](), list[str]()
    for lack, use in _lacks(declared):
        used = [override for override in use if _group(override) not in taken]
        if used:
            overrides += used
            sentences.append(_sentence(lack, used))
    return overrides, sentences


def _group(override: str) -> str:
    return override.partition("=")[0].partition(".")[0]


def _sentence(lack: str, used: Sequence[str]) -> str:
    return f"{lack}: {' '.join(used)} {'stands' if len(used) == 1 else 'stand'} in"


def replaced(sentences: Iterable[str], chosen: Iterable[str]) -> list[str]:
    """The sentences that are left when the user makes another choice for some groups of a config that has stand-ins."""
    taken, kept = set(chosen), []
    for sentence in sentences:
        found = SENTENCE.fullmatch(sentence)
        used = [override for override in found["used"].split() if _group(override) not in taken] if found else []
        kept += [_sentence(found["lack"], used)] if found and used else [] if found else [sentence]
    return kept


def remark(config: Mapping[str, Any]) -> str:
    """What stands in for parts of the preset of a config, in sentences; empty for nothing."""
    return " ".join(f"{sentence}." for sentence in config.get(STAND_INS, ()))


def _lacks(declared: Any) -> Iterator[tuple[str, Sequence[str]]]:
    """Why a part cannot be used here, and the overrides that stand in for it."""
    for number, entry in enumerate(declared if isinstance(declared, Sequence) else [declared]):
        kinds = [kind for kind in KINDS if kind in entry] if isinstance(entry, Mapping) else []
        if len(kinds) != 1 or isinstance(entry.get("use"), str | None) or not isinstance(entry["use"], Sequence):
            form = f"one of {', '.join(KINDS)}, and `use` with a list of overrides"
            raise ConfigError(f"{STAND_INS}[{number}]", "is not a stand-in", form)
        if lack := _lack(kinds[0], entry[kinds[0]], entry.get("revision")):
            yield lack, [str(override) for override in entry["use"]]


def _lack(kind: str, needed: Any, revision: str | None) -> str:
    """A sentence on a part that is missing here; empty if it is there."""
    names = [needed] if isinstance(needed, str) else [str(name) for name in needed]
    if kind == "model":
        found = PinnedModel(STAND_INS, names[0], revision).here
        return "" if found else f"the model {names[0]} is not on this machine (hf download {names[0]} --revision {revision})"
    if kind == "package":
        missing = [name for name in names if not is_installed(name)]
        return f"the package {missing[0]} is not installed ({install(missing[0])})" if missing else ""
    what = "no key is set" if kind == "key" else "no server is named"
    return "" if any(os.environ.get(name) for name in names) else f"{what} ({' or '.join(names)})"
