"""A trial → a bundle."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from rag.bundle import golden_cases, leaks
from rag.bundle.archive import SUFFIX, pack
from rag.bundle.atomic import appearing
from rag.bundle.errors import BundleError
from rag.bundle.evidence import evidence, metrics_of
from rag.bundle.files import read_folder
from rag.bundle.layout import CHUNKS, CONFIG, DOCUMENTS, GOLDEN, KEPT, LIMITS, MANIFEST, PROMPT, SEAL
from rag.bundle.manifest import Listed, Manifest, digest_of, seal_of
from rag.bundle.references import files_of, referenced, versions
from rag.bundle.source_trial import Measured, measured, resolve_trial
from rag.bundle.trust import check_config
from rag.config.build import TARGET, Components
from rag.config.compose import plugins
from rag.config.identity import without_runtime
from rag.config.validation import check_typed
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError, StoreError
from rag.core.models.pinned import sha256
from rag.core.records import Arrays, Document
from rag.execution.store.entry_format import Entry, encode
from rag.execution.sweep.open_config import materials, values_of

QUERIES = 32
"""Golden questions that a bundle carries unless told: enough to notice a change, few enough for every start of a server."""


@dataclass(frozen=True)
class Content:
    """What goes into a bundle: files by their names, as bytes or to be copied, and a manifest without a list of them.

    `queries` is how many golden questions are among it, `needs` what whoever opens the bundle has to agree to.
    """

    files: Mapping[str, bytes | Path]
    manifest: Manifest
    queries: int = 0
    needs: str = ""


@dataclass(frozen=True)
class Sealed:
    """A bundle that was written, or that was there already with the same hash. `needs` is what opening it takes besides."""

    path: Path
    digest: str
    manifest: Manifest
    queries: int
    written: bool = True
    needs: str = ""

    @property
    def bytes(self) -> int:
        """How large it is."""
        return sum(listed.size for listed in self.manifest.files.values())


def seal(config: Mapping[str, Any], target: Path) -> str:
    """Write a bundle of a config that nobody measured into a folder that is not there yet; its hash.

    It holds no golden questions, so that nothing can be verified but its files.
    """
    found = materials(config)
    content = _pipeline(config, found.components, found.corpus, found.indexes, with_models=False)
    known = replace(content.manifest, golden=found.golden.golden_digest, corpus=found.golden.corpus_digest)
    return written(replace(content, manifest=known), target).digest


def export(what: str, target: Path | None = None, queries: int = QUERIES, with_models: bool = False) -> Sealed:
    """Seal the recommended trial of an experiment, or `trial=<id>`, with up to `queries` golden questions.

    Everything is read from the stages that were measured. Without a target it goes to `bundles/<experiment>-<trial>`. The same
    trial gives the same hash; where a bundle of that hash is at the target already, it stays. Raises ConfigError for what
    cannot be served or must not be passed on, DataError for a trial that is not in the store as it ran, and StoreError where
    the target cannot be written or is something else.
    """
    if not 0 <= queries <= golden_cases.MOST:
        raise ConfigError("--queries", f"is {queries}", f"0 to {golden_cases.MOST:,}")
    if target and target.name.endswith(SUFFIX):
        folder = target.with_name(target.name.removesuffix(SUFFIX))
        raise ConfigError(f"--to {target}", "is the name of an archive, and a folder is written", f"--to {folder} --archive")
    experiment, trial_id = resolve_trial(what)
    return export_trial(measured(trial_id, experiment), target or default_target(experiment, trial_id), queries, with_models)


def default_target(experiment: str, trial_id: str) -> Path:
    """Where a bundle goes unless told."""
    return Path("bundles") / f"{experiment}-{trial_id}"


def export_trial(found: Measured, target: Path, queries: int = QUERIES, with_models: bool = False) -> Sealed:
    """As `export`, for a trial that was looked up."""
    return written(content_of(found, queries, with_models), target)


def content_of(found: Measured, queries: int = QUERIES, with_models: bool = False) -> Content:
    """What a bundle of a trial holds; errors as in `export`."""
    config = found.config
    check_typed(found.components, config)
    content = _pipeline(config, found.components, found.corpus, found.indexes, with_models)
    cases = golden_cases.cases(found, queries)
    manifest = replace(
        content.manifest,
        experiment=found.experiment,
        trial=found.trial.trial_id,
        name=found.trial.trial.name,
        golden=found.golden.golden_digest,
        corpus=found.golden.corpus_digest,
        split=str(config["split"]),
        metrics=metrics_of(found),
    )
    files = {**content.files, **evidence(found), GOLDEN: golden_cases.lines_of(cases)}
    return replace(content, files=files, manifest=manifest, queries=len(cases))


def _needs(config: Mapping[str, Any]) -> str:
    """What opening a bundle takes besides its path; ConfigError for a config that no bundle may have."""
    try:
        check_config(config, "config", (), plugins())
    except BundleError as error:
        if "--trust-host" in error.remedy:
            return f"{error.what}; {error.remedy}"
        raise ConfigError(error.where, error.what, error.remedy) from error
    return ""


def packed(sealed: Sealed) -> Path:
    """Pack a bundle into one file beside its folder, in place of what is there; the file. StoreError where that cannot be."""
    target = sealed.path.with_name(f"{sealed.path.name}{SUFFIX}")
    pack(sealed.path, target)
    return target


def _pipeline(
    config: Mapping[str, Any], components: Components, corpus: Corpus, indexes: Mapping[str, Entry], with_models: bool
) -> Content:
    """What answers questions: the files, and as much of a manifest as they say themselves."""
    # Trials of former times lack what has come since.
    known = {name: config.get(name) or {} for name in KEPT} | values_of(config)
    found = referenced(known, components, with_models)
    kept = without_runtime(found.config)
    leaks.check_config(kept)
    leaks.check_documents(corpus.documents)
    lines = (json.dumps(_line(document), ensure_ascii=False) + "\n" for document in corpus.documents)
    chunks: Arrays = {"doc": corpus.doc, "start": corpus.start, "end": corpus.end}
    files: dict[str, bytes | Path] = {
        CONFIG: _yaml({name: part for name, part in kept.items() if name != "prompt"}),
        PROMPT: _yaml(kept["prompt"]),
        DOCUMENTS: "".join(lines).encode(),
        CHUNKS: encode(Entry(chunks)),
    }
    files |= {f"indexes/{name}.entry": encode(Entry(entry.arrays)) for name, entry in indexes.items()}
    for place, folder in found.folders.items():
        files |= {f"{place}/{name}": path for name, path in files_of(folder, place).items()}
    identities = dict(_identities(known, components))
    return Content(files, Manifest("", "", "", "", "", "", {}, identities, found.models, versions()), needs=_needs(kept))


def _line(document: Document) -> dict[str, Any]:
    return {"doc_id": document.doc_id, "text": document.text, "metadata": dict(document.metadata)}


def _yaml(value: Any) -> bytes:
    # Long lines stay whole: a folded one is harder to compare.
    return yaml.dump(value, Dumper=NoAliasDumper, sort_keys=False, allow_unicode=True, width=10**6).encode()


class NoAliasDumper(yaml.SafeDumper):
    """Writes what stands in two places twice: a bundle has no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        """All of them."""
        return True


def _identities(config: Mapping[str, Any], components: Components) -> Iterator[tuple[str, str]]:
    for name, node in config.items():
        if not isinstance(node, Mapping):
            continue
        nodes = {name: node} if TARGET in node else {f"{name}.{choice}": part for choice, part in node.items()}
        yield from ((where, components.identity(part, where)) for where, part in nodes.items())


def written(content: Content, target: Path) -> Sealed:
    """Write a bundle, or find it there; StoreError where it cannot be written, and then nothing of it is."""
    listed = {name: _listed(part) for name, part in sorted(content.files.items())}
    manifest = replace(content.manifest, files=listed)
    data = manifest.to_bytes()
    known = hashlib.sha256(data).hexdigest()
    told = Sealed(target, known, manifest, content.queries, needs=content.needs)
    if _same(target, known):
        return replace(told, written=False)
    sealed = {**content.files, MANIFEST: data, SEAL: seal_of(known)}
    with appearing(target) as unfinished:
        for name, part in sealed.items():
            place = unfinished / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(part, place) if isinstance(part, Path) else place.write_bytes(part)
    return told


def _listed(content: bytes | Path) -> Listed:
    if isinstance(content, Path):
        return Listed(sha256(content), content.stat().st_size)
    return Listed(hashlib.sha256(content).hexdigest(), len(content))


def _same(target: Path, known: str) -> bool:
    """Whether that very bundle is at the target, whole; StoreError for anything else that is."""
    if not target.exists():
        return False
    what = "is not this bundle"
    if target.is_dir() and (target / MANIFEST).is_file() and digest_of(target) == known:
        try:
            read_folder(target, LIMITS, copied=False)
            return True
        except BundleError as error:
            what = f"is no longer this bundle: {error.where.removeprefix(f'{target}: ')} {error.what}"
    raise StoreError(str(target), f"is there already, and {what}", "remove it, or name another place: --to PATH")
