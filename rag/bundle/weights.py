"""The models of a bundle: put in their places, and compared with what the manifest says before anything is loaded."""

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rag.bundle.errors import refused
from rag.bundle.files import Contents
from rag.bundle.layout import MODELS
from rag.bundle.manifest import Model
from rag.bundle.presets import components_in
from rag.bundle.references import hub_or_folder, idle, weights
from rag.bundle.strict_parse import json_of
from rag.config.build import TARGET, Components
from rag.core.errors import ConfigError, closest
from rag.core.models.pinned import HUB_ID
from rag.core.roles import fingerprint

OWN_CODE = ("auto_map", "custom_pipelines")
"""What makes a library load code that lies beside a model."""
LIBRARY = "sentence_transformers."
"""Where the parts of a model come from."""
LARGEST = 64 << 20


def given_folders(models: Mapping[str, Path], manifest: tuple[Model, ...], config: Mapping[str, Any]) -> dict[str, Path]:
    """The folders that the caller names by role; ConfigError for a role whose model is no folder, and for no folder."""
    named = {node.get("model") for node in components_in(config)}
    roles = [model.role for model in manifest if f"{MODELS}{model.role}" in named]
    for role, path in models.items():
        if role not in roles:
            raise ConfigError(f"--model {role}", "is no model folder of this bundle", closest(role, roles))
        if not Path(path).is_dir():
            raise ConfigError(f"--model {role}", f"there is no folder {str(path)!r}", f"--model {role}=<folder>")
    return {role: Path(path).absolute() for role, path in models.items()}


def placed(config: dict[str, Any], found: Contents, models: Mapping[str, Path], where: str) -> dict[str, Any]:
    """The config with the folders of its models: those inside, and those that the caller gives.

    BundleError for a folder that is neither, for a model without a place in the config, and for files that could bring code.
    """
    folders: dict[str, Path] = dict(given_folders(models, found.manifest.models, config))
    for model in found.manifest.models:
        place = f"{MODELS}{model.role}"
        if model.inside not in (None, place):
            raise refused(f"{where}: models: {model.role}", f"lies in {model.inside!r}", f"a model inside lies in {place}")
        if model.inside and model.role not in folders:
            check_files(found, f"{place}/", where)
            folders[model.role] = (found.root / place).absolute()
    known = {f"{MODELS}{role}": str(folder) for role, folder in folders.items()}
    inside = {f"{model.inside}/" for model in found.manifest.models if model.inside}
    for name in found.manifest.files:
        if name.startswith(MODELS) and not any(name.startswith(place) for place in inside):
            raise refused(f"{where}: {name}", "belongs to no model of the manifest")
    return dict(_placed(config, known, where, ""))


def _placed(node: Any, known: Mapping[str, str], where: str, place: str) -> Any:
    if isinstance(node, list):
        return [_placed(part, known, where, place) for part in node]
    if not isinstance(node, dict):
        return node
    parts = {name: _placed(part, known, where, f"{place}.{name}".lstrip(".")) for name, part in node.items()}
    model = node.get("model")
    if TARGET not in node or not isinstance(model, str) or not _is_pinned(node):
        return parts
    if model.startswith(MODELS):
        if model not in known:
            role = model.removeprefix(MODELS)
            raise refused(
                f"{where}: {place}.model",
                "is a folder that is not in the bundle",
                f"--model {role}=<folder>, or rag export --with-models",
            )
        return {**parts, "model": known[model]}
    if not HUB_ID.fullmatch(model) or ".." in model or model.startswith("."):
        raise refused(f"{where}: {place}.model", f"is {model!r}", "owner/name on the hub, with a revision")
    if Path(model).exists():
        what = f"is {model!r}, and a folder of that name here would be taken for it"
        raise refused(f"{where}: {place}.model", what, "open the bundle from another folder")
    return parts


def _is_pinned(node: Mapping[str, Any]) -> bool:
    """Whether a component takes a model folder or a hub id: then it takes a revision too."""
    return "revision" in inspect.signature(Components((str(node[TARGET]).split(".")[0],)).resolve(node[TARGET], "")).parameters


def check_files(found: Contents, folder: str, where: str) -> None:
    """Raise BundleError for a model folder whose files could name code of their own."""
    names = [name for name in found.manifest.files if name.startswith(folder)]
    if not names:
        raise refused(f"{where}: {folder}", "holds no file")
    for name in names:
        last = name.rpartition("/")[2]
        if last.startswith("adapter_"):
            raise refused(f"{where}: {name}", "changes another model", "a model that stands alone")
        if last == "modules.json" or (last.endswith(".json") and "config" in last):
            if found.manifest.files[name].size > LARGEST:
                raise refused(f"{where}: {name}", f"has {found.manifest.files[name].size:,} bytes")
            _check_json(
                json_of((found.root / name).read_bytes(), f"{where}: {name}"), f"{where}: {name}", last == "modules.json"
            )


def _check_json(content: Any, where: str, modules: bool) -> None:
    for node in _mappings(content):
        for name in OWN_CODE:
            if node.get(name):
                raise refused(f"{where}: {name}", "names code of its own", "a model without code of its own")
        if modules and not str(node.get("type", "")).startswith(LIBRARY):
            raise refused(f"{where}: type", f"is {node.get('type')!r}", f"a part of {LIBRARY.rstrip('.')}")


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _mappings(part)


def check_fingerprints(config: Mapping[str, Any], components: Components, models: tuple[Model, ...], where: str) -> None:
    """Raise BundleError for a model that is not the one that the manifest names; nothing is loaded for that."""
    known = {model.fingerprint for model in models}
    for model in models:
        node = _node(config, model.role)
        if not isinstance(node, Mapping) or TARGET not in node:
            raise refused(f"{where}: models: {model.role}", "is the model of nothing in the config")
        found = fingerprint(components.build(node, model.role))
        if found != model.fingerprint:
            what = f"has the fingerprint {found or 'of no model'}, and the manifest says {model.fingerprint}"
            raise refused(f"{where}: {model.role}", what, "give the model that was measured")
    unasked = idle(config, components)
    for node in _mappings({role: part for role, part in config.items() if role not in unasked}):
        if TARGET in node and _is_pinned(node) and (found := fingerprint(components.build(node, ""))) not in known:
            raise refused(f"{where}: models", f"lists no model with the fingerprint {found}")


def check_weights(config: Mapping[str, Any], components: Components, models: tuple[Model, ...], where: str) -> None:
    """Raise BundleError for weights of a model on the hub that are not those of the manifest, ServiceError for none to be had.

    They are fetched where they are not here: whoever answers needs them, and what came is looked at before it is loaded.
    """
    for model in models:
        if not model.weights or model.inside:
            continue
        source = hub_or_folder(components.build(_node(config, model.role), model.role))
        found = weights(source.folder) if source else {}
        for name, expected in model.weights.items():
            if found.get(name) != expected:
                what = f"has sha256 {found.get(name, 'of no file')} at {name}, and the manifest says {expected}"
                raise refused(
                    f"{where}: {model.role}", what, "give the model that was measured: remove it from the hub's cache"
                )


def _node(config: Any, role: str) -> Any:
    """What stands at the place of a model in the config, None for nothing."""
    for part in role.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config
