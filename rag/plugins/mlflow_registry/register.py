"""A bundle → a version of a registered model."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.bundle.golden_cases import cases_of
from rag.bundle.open_bundle import Bundle, open_bundle
from rag.bundle.references import versions
from rag.core.errors import DISTRIBUTION, ConfigError
from rag.core.redaction import redacted_text
from rag.plugins.mlflow_registry import scripts
from rag.plugins.mlflow_registry.load_bundle import ARTIFACT, check_parity
from rag.plugins.mlflow_registry.prompts import register_prompt
from rag.plugins.mlflow_registry.service import environment, found_or_none, registry
from rag.tracking import mlflow_client

if TYPE_CHECKING:
    from mlflow import MlflowClient

CHAMPION, CHALLENGER = "champion", "challenger"
TAG, PROMPT = "assay.bundle", "assay.prompt"
"""The tags of a version that hold the hash of its bundle, and the URI of its prompt."""
ALIAS = re.compile(r"[\w-]{1,255}", re.ASCII)
RESERVED = re.compile(r"latest|v[0-9]+", re.IGNORECASE)
QUESTION = "What do these documents say?"


@dataclass(frozen=True)
class Registered:
    """A version of a model; `prompt` is the URI of its prompt or empty; `new` is false for one that was registered before."""

    model: str
    version: int
    digest: str
    aliases: tuple[str, ...]
    uri: str
    tracking: str
    prompt: str
    new: bool

    def to_json(self) -> dict[str, Any]:
        """What `rag bundle register --json` prints."""
        content = asdict(self) | {"bundle": self.digest, "aliases": list(self.aliases)}
        return {name: content[name] for name in ("model", "version", "bundle", "aliases", "uri", "tracking", "prompt", "new")}


def register(path: Path, name: str, alias: str = CHALLENGER, hosts: tuple[str, ...] = ()) -> Registered:
    """Log a bundle as a model that MLflow loads from code, and set the alias to its version.

    A bundle that is a version already is not logged twice. It is logged below the run of its trial, if MLflow has that run, and
    no model behind an endpoint is asked. `hosts` are those of `open_bundle`. ConfigError for the alias `champion`, which only
    `rag bundle promote` moves; ServiceError if MLflow cannot take it.
    """
    _check_names(name, alias)
    bundle = open_bundle(path, hosts=hosts)
    check_parity(bundle)
    with registry(f"rag bundle register {path} {name}") as client:
        known = _known(client, name, bundle.digest)
        number = known or _log(client, bundle, name, hosts)
        if alias:
            client.set_registered_model_alias(name, alias, str(number))
        found = client.get_model_version(name, str(number))
        there = redacted_text("", client.tracking_uri)
    aliases, prompt = tuple(sorted(found.aliases)), found.tags.get(PROMPT, "")
    return Registered(name, number, bundle.digest, aliases, f"models:/{name}/{number}", there, prompt, new=not known)


def _check_names(name: str, alias: str) -> None:
    """Raise ConfigError for names that MLflow would refuse after the model is logged, or could not find again."""
    if alias.lower() == CHAMPION:
        raise ConfigError(f"--alias {alias}", "is set by a gate", f"register it, then: rag bundle promote {name}")
    if not name.strip() or set(name) & set("/:'\"`\\"):
        raise ConfigError(f"model {name!r}", "is no name of a model", "letters, digits, - and _, without / and : and quotes")
    if alias and (not ALIAS.fullmatch(alias) or RESERVED.fullmatch(alias)):
        raise ConfigError(f"--alias {alias}", "is no alias that MLflow takes", "letters, digits, - and _; not latest, not v1")


def _known(client: "MlflowClient", name: str, digest: str) -> int:
    """The newest version that is this bundle, 0 for none."""
    if found_or_none(client.get_registered_model, name) is None:
        return 0
    same = client.search_model_versions(f"name = '{name}' and tag.`{TAG}` = '{digest}'")
    return max((int(found.version) for found in same), default=0)


def _log(client: "MlflowClient", bundle: Bundle, name: str, hosts: tuple[str, ...]) -> int:
    import mlflow
    from mlflow.models import Model

    with _run(client, bundle) as run:
        logged = Model.log(
            None,
            mlflow.pyfunc,
            name=ARTIFACT,
            run_id=run,
            python_model=str(Path(scripts.__file__).parent / "answering.py"),
            artifacts={ARTIFACT: str(bundle.path.resolve())},
            model_config={ARTIFACT: bundle.digest, "hosts": list(hosts)},
            pip_requirements=_requirements(),
            input_example=_example(bundle),
        )
        tags = _tags(bundle)
        if prompt := register_prompt(client, bundle, name, tags):
            client.link_prompt_version_to_run(run, prompt)
            client.link_prompt_version_to_model(prompt.name, str(prompt.version), logged.model_id)
            tags |= {PROMPT: prompt.uri}
    if found_or_none(client.get_registered_model, name) is None:
        client.create_registered_model(name)
    made = client.create_model_version(name, f"models:/{logged.model_id}", run, tags=tags, model_id=logged.model_id)
    return int(made.version)


@contextmanager
def _run(client: "MlflowClient", bundle: Bundle) -> Iterator[str]:
    """The run that a bundle is logged below: that of its trial, or a new one."""
    manifest = bundle.manifest
    name = manifest.experiment or "bundles"
    experiment = mlflow_client.experiment_of(client, client.tracking_uri, name)
    found = client.search_runs([experiment], f"tags.`assay.trial` = '{manifest.trial or bundle.digest}'", max_results=1)
    tags = {"assay.trial": manifest.trial or bundle.digest}
    run = found[0] if found else client.create_run(experiment, tags=tags, run_name=bundle.name)
    # An active run would work too, but MLflow would change when the trial ended.
    with environment(MLFLOW_EXPERIMENT_ID=experiment, MLFLOW_EXPERIMENT_NAME=name):
        yield str(run.info.run_id)
    if not found:
        client.set_terminated(run.info.run_id)


def _requirements() -> list[str]:
    """The installed versions, for pip, without their build: a package index may lack it.

    The versions in the manifest are not trusted: pip would install any package that it names.
    """
    known = {DISTRIBUTION: version(DISTRIBUTION), **versions()}
    exact = (number if "==" in number else f"{name}=={number}" for name, number in known.items() if name != "python")
    return sorted(line.partition("+")[0] for line in exact)


def _example(bundle: Bundle) -> dict[str, Any]:
    """A request that shows how the model is asked. MLflow sends it, so it asks a costly generator for no answer."""
    question = next((case.query.text for case in cases_of(bundle)), QUESTION)
    costly = getattr(bundle.pipeline.generator, "costly", False)
    request = {"input": [{"role": "user", "content": question}]}
    return request | ({"custom_inputs": {"answer": False}} if costly else {})


def _tags(bundle: Bundle) -> dict[str, str]:
    manifest = bundle.manifest
    tags = {"experiment": manifest.experiment, "trial": manifest.trial, "name": manifest.name, "split": manifest.split}
    return {TAG: bundle.digest} | {f"assay.{key}": value for key, value in tags.items() if value}
