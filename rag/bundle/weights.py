"""The models of a bundle: set their folders in the config, and compare them with the manifest before anything is loaded."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.bundle.errors import refused
from rag.bundle.files import Contents
from rag.bundle.layout import MODELS
from rag.bundle.manifest import Model
from rag.bundle.references import idle, pinned_model, weights
from rag.bundle.strict_parse import json_of
from rag.config.build import TARGET, Components
from rag.config.servers import components_in, mappings_in
from rag.core.errors import ConfigError, closest
from rag.core.models.pinned import HUB_ID
from rag.core.roles import fingerprint

OWN_CODE = ("auto_map", "custom_pipelines")
"""Keys of a model's config that make a library load code from the model's folder."""
LIBRARY = "sentence_transformers."
"""The package that the modules of a model must come from."""
LARGEST = 64 << 20


def with_folders(config: dict[str, Any], contents: Contents, given: Mapping[str, Path], where: str) -> dict[str, Any]:
    """The config with the folders of its models: those inside the bundle, and those `given` by role.

    BundleError for a folder that is neither, for a model without a place in the config, and for files that could bring code.
    ConfigError for a given role without a model folder, and for a path that is not a folder.
    """
    models = contents.manifest.models
    named = {node.get("model") for node in components_in(config)}
    roles = [model.role for model in models if f"{MODELS}{model.role}" in named]
    for role, path in given.items():
        if role not in roles:
            raise ConfigError(f"--model {role}", "is not the role of a model folder of this bundle", closest(role, roles))
        if not Path(path).is_dir():
            raise ConfigError(f"--model {role}", f"there is no folder {str(path)!r}", f"--model {role}=<folder>")
    folders = {f"{MODELS}{role}": str(Path(path).absolute()) for role, path in given.items()}
    for model in models:
        place = f"{MODELS}{model.role}"
        if model.inside not in (None, place):
            raise refused(f"{where}: models: {model.role}", f"lies in {model.inside!r}", f"a model inside lies in {place}")
        if model.inside and place not in folders:
            _check_files(contents, f"{place}/", where)
            folders[place] = str((contents.root / place).absolute())
    inside = tuple(f"{model.inside}/" for model in models if model.inside)
    for name in contents.manifest.files:
        if name.startswith(MODELS) and not name.startswith(inside):
            raise refused(f"{where}: {name}", "belongs to no model of the manifest")
    return dict(_with_folders(config, folders, where, ""))


def _with_folders(node: Any, folders: Mapping[str, str], where: str, place: str) -> Any:
    if isinstance(node, list):
        return [_with_folders(part, folders, where, place) for part in node]
    if not isinstance(node, dict):
        return node
    parts = {name: _with_folders(part, folders, where, f"{place}.{name}".lstrip(".")) for name, part in node.items()}
    model, here = node.get("model"), f"{where}: {place}.model"
    if TARGET not in node or not isinstance(model, str) or not _is_pinned(node):
        return parts
    if model.startswith(MODELS):
        if model not in folders:
            remedy = f"--model {model.removeprefix(MODELS)}=<folder>, or rag export --with-models"
            raise refused(here, "is a folder that is not in the bundle", remedy)
        return {**parts, "model": folders[model]}
    if not HUB_ID.fullmatch(model) or ".." in model or model.startswith("."):
        raise refused(here, f"is {model!r}", "owner/name on the hub, with a revision")
    if Path(model).exists():
        what = f"is {model!r}, and a folder of that name here would be taken for it"
        raise refused(here, what, "open the bundle from another folder")
    return parts


def _is_pinned(node: Mapping[str, Any]) -> bool:
    """Whether a component takes a model folder or a hub id: then it has the parameter `revision` too."""
    return "revision" in inspect.signature(Components((str(node[TARGET]).split(".")[0],)).resolve(node[TARGET], "")).parameters


def _check_files(contents: Contents, folder: str, where: str) -> None:
    """Raise BundleError for a model folder without files, and for files that could name code of their own."""
    names = [name for name in contents.manifest.files if name.startswith(folder)]
    if not names:
        raise refused(f"{where}: {folder}", "holds no file")
    for name in names:
        here, last = f"{where}: {name}", name.rpartition("/")[2]
        if last.startswith("adapter_"):
            raise refused(here, "changes another model", "a complete model")
        if last == "modules.json" or (last.endswith(".json") and "config" in last):
            if (size := contents.manifest.files[name].size) > LARGEST:
                raise refused(here, f"has {size:,} bytes", f"at most {LARGEST:,}")
            _check_json(json_of((contents.root / name).read_bytes(), here), here, last == "modules.json")


def _check_json(content: Any, where: str, modules: bool) -> None:
    for node in mappings_in(content):
        for name in OWN_CODE:
            if node.get(name):
                raise refused(f"{where}: {name}", "names code of its own", "a model without code of its own")
        if modules and not str(node.get("type", "")).startswith(LIBRARY):
            raise refused(f"{where}: type", f"is {node.get('type')!r}", f"a part of {LIBRARY.rstrip('.')}")


def check_fingerprints(config: Mapping[str, Any], components: Components, models: tuple[Model, ...], where: str) -> None:
    """Raise BundleError for a model with another fingerprint than in the manifest; no model is loaded for that."""
    known = {model.fingerprint for model in models}
    for model in models:
        node = _node(config, model.role)
        if not isinstance(node, Mapping) or TARGET not in node:
            raise refused(f"{where}: models: {model.role}", "is the model of nothing in the config")
        found = fingerprint(components.build(node, model.role))
        if found != model.fingerprint:
            what = f"has the fingerprint {found or 'of no model'}, and the manifest says {model.fingerprint}"
            raise refused(f"{where}: {model.role}", what, "give the model that was measured")
    unused = idle(config, components)
    for node in components_in({role: part for role, part in config.items() if role not in unused}):
        if _is_pinned(node) and (found := fingerprint(components.build(node, ""))) not in known:
            raise refused(f"{where}: models", f"lists no model with the fingerprint {found}")


def check_weights(config: Mapping[str, Any], components: Components, models: tuple[Model, ...], where: str) -> None:
    """Raise BundleError for weights from the hub that differ from the manifest's, before they are loaded.

    They are downloaded if they are not in the cache; ServiceError if that fails.
    """
    for model in models:
        if not model.weights or model.inside:
            continue
        source = pinned_model(components.build(_node(config, model.role), model.role))
        found = weights(source.folder) if source else {}
        for name, expected in model.weights.items():
            if found.get(name) != expected:
                what = f"has sha256 {found.get(name, 'of no file')} at {name}, and the manifest says {expected}"
                remedy = "give the model that was measured: remove it from the hub's cache"
                raise refused(f"{where}: {model.role}", what, remedy)


def _node(config: Any, role: str) -> Any:
    """The part of a config at the place of a model; None if there is none."""
    for part in role.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config
