"""A trial → a bundle."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rag.bundle import golden_cases, leaks
from rag.bundle.archive import SUFFIX, pack
from rag.bundle.arrays import array_bytes
from rag.bundle.atomic import appearing
from rag.bundle.errors import BundleError
from rag.bundle.evidence import evidence
from rag.bundle.files import read_folder
from rag.bundle.layout import CHUNKS, CONFIG, DOCUMENTS, GOLDEN, KEPT, MANIFEST, RECORDS, SEAL
from rag.bundle.manifest import Listed, Manifest, digest_of, seal_of
from rag.bundle.references import files_of, referenced, versions
from rag.bundle.source_trial import Measured, measured, resolve_trial
from rag.bundle.strict_parse import json_bytes
from rag.bundle.trust import check_config
from rag.config.build import TARGET, Components
from rag.config.compose import plugins
from rag.config.identity import without_runtime
from rag.config.stand_ins import STAND_INS
from rag.config.validation import check_typed
from rag.core.errors import ConfigError, StoreError
from rag.core.models.pinned import sha256
from rag.execution.graph.open_pipeline import TrialParts
from rag.execution.graph.stage_inputs import entry_of_corpus
from rag.execution.sweep.open_config import Materials

QUERIES = 32
"""Golden questions of a bundle by default: enough to notice a change, few enough for every start of a server."""


@dataclass(frozen=True)
class Content:
    """What goes into a bundle: files by name, as bytes or as paths to copy, and a manifest without the list of files.

    `queries` is the number of golden questions, `needs` says which trust is needed to open the bundle.
    """

    files: Mapping[str, bytes | Path]
    manifest: Manifest
    queries: int = 0
    needs: str = ""


@dataclass(frozen=True)
class Sealed:
    """A bundle at `path`: `written` now, or found there with the same hash. `needs` is that of `Content`."""

    path: Path
    digest: str
    manifest: Manifest
    queries: int
    written: bool = True
    needs: str = ""

    @property
    def bytes(self) -> int:
        """The size of its files."""
        return sum(listed.size for listed in self.manifest.files.values())


def export(what: str, target: Path | None = None, queries: int = QUERIES, with_models: bool = False) -> Sealed:
    """Seal the recommended trial of an experiment, or `trial=<id>`, with up to `queries` golden questions.

    Everything is read from the measured stages. The default target is `bundles/<experiment>-<trial>`. The same trial gives the
    same hash; a bundle of that hash at the target stays. Raises ConfigError for what cannot be served or must not be passed
    on, DataError for a trial that is not in the store as it ran, StoreError for a target that cannot be written or is
    something else.
    """
    if not 0 <= queries <= golden_cases.MOST:
        raise ConfigError("--queries", f"is {queries}", f"0 to {golden_cases.MOST:,}")
    if target and target.name.endswith(SUFFIX):
        folder = target.with_name(target.name.removesuffix(SUFFIX))
        raise ConfigError(f"--to {target}", "is the name of an archive, and a folder is written", f"--to {folder} --archive")
    experiment, trial_id = resolve_trial(what)
    content = content_of(measured(trial_id, experiment), queries, with_models)
    return written(content, target or Path("bundles") / f"{experiment}-{trial_id}")


def content_of(source: Measured, queries: int = QUERIES, with_models: bool = False) -> Content:
    """What a bundle of a trial holds; errors as in `export`."""
    config = source.config
    check_typed(source.made.graph.components, config)
    content = pipeline_content(config, source.materials(), with_models)
    cases = golden_cases.measured_cases(source, queries)
    manifest = replace(
        content.manifest,
        experiment=source.experiment,
        trial=source.trial.trial_id,
        name=source.trial.trial.name,
        golden=source.golden.golden_digest,
        corpus=source.golden.corpus_digest,
        split=str(config["split"]),
        metrics=source.entry(source.trial.ends.score).meta["summary"]["columns"],
    )
    files = {**content.files, **evidence(source), GOLDEN: golden_cases.golden_bytes(cases)}
    return replace(content, files=files, manifest=manifest, queries=len(cases))


def packed(sealed: Sealed) -> Path:
    """Pack a bundle into the archive next to its folder, and return its path; StoreError if it cannot be written."""
    target = sealed.path.with_name(f"{sealed.path.name}{SUFFIX}")
    pack(sealed.path, target)
    return target


def pipeline_content(config: Mapping[str, Any], source: Materials, with_models: bool) -> Content:
    """The files that answer questions, and a manifest with what they say about themselves."""
    components, corpus, records = source.components, source.corpus, source.records
    # Configs of older trials lack keys that are newer.
    known = {name: config.get(name) or ([] if name in ("lock", "exclude", STAND_INS) else {}) for name in KEPT}
    known |= TrialParts(config, components).values
    found = referenced(known, components, with_models)
    kept = without_runtime(found.config)
    leaks.check_config(kept)
    leaks.check_documents(corpus.documents)
    needs = _needs(kept)
    files: dict[str, bytes | Path] = {
        CONFIG: json_bytes(kept, indent=1),
        DOCUMENTS: b"".join(json_bytes(asdict(document)) for document in corpus.documents),
        CHUNKS: array_bytes(entry_of_corpus(corpus).arrays),
    }
    files |= {f"indexes/{name}.safetensors": array_bytes(entry.arrays) for name, entry in source.indexes.items()}
    files |= {
        f"{name}.safetensors": array_bytes(each.arrays) for name, each in source.passages.items() if "rows" in each.arrays
    }
    files |= {RECORDS: json_bytes(replace(records, tokens=0, cost=0.0).to_json())} if records.tables else {}
    for place, folder in found.folders.items():
        files |= {f"{place}/{name}": path for name, path in files_of(folder, place).items()}
    identities = dict(_identities(known, components))
    stand_ins = tuple(kept[STAND_INS])
    return Content(files, Manifest("", "", "", "", "", "", {}, identities, found.models, versions(), stand_ins), needs=needs)


def _needs(config: Mapping[str, Any]) -> str:
    """What a person must trust to open a bundle of a config; ConfigError for a config that no bundle may have."""
    try:
        check_config(config, "config", (), plugins())
    except BundleError as error:
        if "--trust-host" in error.remedy:
            return f"{error.what}; {error.remedy}"
        raise ConfigError(error.where, error.what, error.remedy) from error
    return ""


def _identities(config: Mapping[str, Any], components: Components) -> Iterator[tuple[str, str]]:
    for name, node in config.items():
        if not isinstance(node, Mapping):
            continue
        nodes = {name: node} if TARGET in node else {f"{name}.{choice}": part for choice, part in node.items()}
        yield from ((where, components.identity(part, where)) for where, part in nodes.items())


def written(content: Content, target: Path) -> Sealed:
    """Write a bundle, unless the target holds it; StoreError if it cannot be written, and then nothing is left."""
    manifest = replace(content.manifest, files={name: _listed(part) for name, part in sorted(content.files.items())})
    data = manifest.to_bytes()
    digest = hashlib.sha256(data).hexdigest()
    sealed = Sealed(target, digest, manifest, content.queries, needs=content.needs)
    if _same(target, digest):
        return replace(sealed, written=False)
    with appearing(target) as unfinished:
        for name, part in {**content.files, MANIFEST: data, SEAL: seal_of(digest)}.items():
            place = unfinished / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(part, place) if isinstance(part, Path) else place.write_bytes(part)
    return sealed


def _listed(content: bytes | Path) -> Listed:
    if isinstance(content, Path):
        return Listed(sha256(content), content.stat().st_size)
    return Listed(hashlib.sha256(content).hexdigest(), len(content))


def _same(target: Path, digest: str) -> bool:
    """Whether the target holds this bundle, undamaged; StoreError if it holds anything else."""
    if not target.exists():
        return False
    what = "is not this bundle"
    if target.is_dir() and (target / MANIFEST).is_file() and digest_of(target) == digest:
        try:
            read_folder(target, copied=False)
            return True
        except BundleError as error:
            what = f"is no longer this bundle: {error.where.removeprefix(f'{target}: ')} {error.what}"
    raise StoreError(str(target), f"already exists, and {what}", "remove it, or name another place: --to PATH")
