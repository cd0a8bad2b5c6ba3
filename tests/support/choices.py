"""The choices of conf/, built as their YAML files write them, with light parts in place of models and servers."""

import importlib
from pathlib import Path
from typing import Any

import yaml

from rag.config.build import Components
from rag.config.catalog import installed_folders
from rag.config.resolver import Resolver
from rag.config.servers import shipped_components
from rag.core.roles import SEVERAL

CONF = Path(__file__).parents[2] / "conf"
FILES = {
    path.relative_to(folder).with_suffix("").as_posix(): path
    for folder in installed_folders()
    for path in sorted(folder.glob("*/*.yaml"))
}
"""The files of all choices that come with Assay, those of plug-ins included, by group/name."""
HASHING = {"_target_": "rag.components.embedders.hashing.HashingEmbedder"}
REST = {"embedder": HASHING, "coverage": 0.5, "prompt": {"refusal": "I cannot say."}, "language": "english"}
"""The rest of a config, for the references in a choice to it."""


def choices(group: str, but: tuple[str, ...] = ()) -> list[str]:
    """The names of the choices of a group."""
    found = (name.partition("/") for name in sorted(FILES))
    return [name for known, _, name in found if known == group and name not in but]


def component(name: str) -> type:
    """The class of this name that a choice builds."""
    target = next(each["_target_"] for each in shipped_components(()) if each["_target_"].endswith(f".{name}"))
    found: type = getattr(importlib.import_module(target.rpartition(".")[0]), name)
    return found


def content(choice: str) -> Any:
    """The content of the file of a choice group/name."""
    return yaml.safe_load(FILES[choice].read_text("utf-8"))


def node(group: str, choice: str, **changes: Any) -> dict[str, Any]:
    """The node of a choice, without the key by which lists of choices name it."""
    read = _with_models(yaml.safe_load(_written(group, choice)))
    found: dict[str, Any] = Resolver()("component", {**REST, "component": read.get(choice, read) | changes})
    return found


def _with_models(read: dict[str, Any]) -> dict[str, Any]:
    """A file of conf/ with OpenAI's generator in the places of the models that its `defaults` name."""
    shared = [each for each in read.get("defaults", ()) if isinstance(each, str) and each.endswith("generator")]
    for place in (each.partition("@")[2].split(".") for each in shared):
        holder = read
        for part in place[:-1]:
            holder = holder[part]
        model = yaml.safe_load((CONF / "generator" / "openai.yaml").read_text("utf-8")) | {"model": "tiny", "base_url": None}
        holder[place[-1]] = model | holder.get(place[-1], {}) | {"model": "tiny"}
    if shared and not (others := [each for each in read["defaults"] if each not in (*shared, "_self_")]):
        del read["defaults"]
    elif shared:
        read["defaults"] = others
    return read


def _written(group: str, choice: str) -> str:
    """The file of a choice with the default language."""
    return FILES[f"{group}/{choice}"].read_text("utf-8").replace("${language}", "english")


def build(group: str, choice: str, **changes: Any) -> Any:
    """The component of a choice, with its parameters checked."""
    return Components().role(group, node(group, choice, **changes), f"{group}.{choice}" if group in SEVERAL else group)


def asks_model(group: str, choice: str) -> bool:
    """True if a choice has a generator, at any depth."""
    return "generator:" in FILES[f"{group}/{choice}"].read_text("utf-8")


def built(value: Any, generator: object = None) -> Any:
    """The component of a node; `generator` replaces every generator in it."""
    if not isinstance(value, dict) or "_target_" not in value:
        return value
    module, _, name = value["_target_"].rpartition(".")
    if generator is not None and module.startswith("rag.components.generators"):
        return generator
    parts = {key: built(part, generator) for key, part in value.items() if key not in ("_target_", "runtime")}
    return getattr(importlib.import_module(module), name)(**parts)
