"""Verbs that seal what won and prove that it answers as it was measured."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rag.cli import completion
from rag.cli.app import app
from rag.cli.options import FAILED, Json


@app.command()
def export(
    what: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT|trial=ID",
            help="A sweep, for the trial it recommends, or a trial.",
            autocompletion=completion.experiments,
        ),
    ],
    to: Annotated[Path | None, typer.Option(help="The folder to write; bundles/<experiment>-<trial> unless told.")] = None,
    archive: Annotated[bool, typer.Option("--archive", help="Write <folder>.tar.zst too, one file to pass on.")] = False,
    with_models: Annotated[bool, typer.Option("--with-models", help="Take along models that are files of their own.")] = False,
    queries: Annotated[int, typer.Option(help="Golden questions to take along; rag verify asks them again.")] = 32,
    as_json: Json = False,
) -> None:
    """Seal a measured trial into a folder that answers by itself and proves that it answers as it was measured.

    --json: path, archive (its path, null for none), bundle (its hash), written (false where it was there already), needs (what
    whoever opens it must agree to, null for nothing), experiment, trial, name, queries (how many), bytes, and models (role,
    name, revision, fingerprint, inside, weights: sha256 by file of one on the hub), those that stay outside too.
    """
    from rag.bundle import seal
    from rag.reporting.terminal import bundles as shown
    from rag.reporting.terminal import print_json

    sealed = seal.export(what, to, queries, with_models)
    packed = seal.packed(sealed) if archive else None
    print_json(shown.exported_json(sealed, packed)) if as_json else shown.exported(sealed, packed)


@app.command()
def verify(
    bundle: Annotated[Path, typer.Argument(help="A bundle: a folder, or a .tar.zst.")],
    url: Annotated[str, typer.Option(help="A server to ask too, for example http://127.0.0.1:8000.")] = "",
    key_env: Annotated[str, typer.Option(help="The variable that holds the server's key.")] = "RAG_API_KEY",
    model: Annotated[list[str] | None, typer.Option(help="Where a model folder lies that the bundle names: role=PATH.")] = None,
    trust_host: Annotated[list[str] | None, typer.Option(help="A server of models that the bundle may name.")] = None,
    as_json: Json = False,
) -> None:
    """Ask a bundle its golden questions: exit code 0 if it answers as it was measured, 1 if not.

    Passages and their order must be the same, prompts to the last character, and answers where no chat model writes them. No
    chat model is asked, here or, with --url, by the server that is asked the same over HTTP.

    --json: bundle (its hash), name, queries (how many), same, here and, with --url, there: compared (passages, prompt,
    contexts, answer), mismatches (query_id, what, expected, found, said), left_out (why, how often).
    """
    from rag.bundle.open_bundle import open_bundle
    from rag.bundle.remote_replay import replay_url
    from rag.bundle.replay import replay
    from rag.reporting.terminal import bundles as shown
    from rag.reporting.terminal import print_json

    opened = open_bundle(bundle, models=folders(model or ()), hosts=tuple(trust_host or ()))
    found: dict[str, Any] = {"here": replay(opened)}
    if url:
        found["there"] = replay_url(opened, url, os.environ.get(key_env) or None)
    print_json(shown.verified_json(opened, found)) if as_json else shown.verified(opened, found)
    if any(result.mismatches for result in found.values()):
        raise typer.Exit(FAILED)


def folders(given: Sequence[str]) -> dict[str, Path]:
    """Model folders by role, from `role=PATH`."""
    from rag.core.errors import ConfigError

    for text in given:
        if not all(text.partition("=")[::2]):
            raise ConfigError(f"--model {text}", "names no role, or no folder", "for example --model embedder=models/bge-small")
    return {role: Path(path) for role, _, path in (text.partition("=") for text in given)}
