"""Verbs over bundles: seal a trial, and verify a bundle."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rag.cli import completion
from rag.cli.app import app, verb
from rag.cli.app import bundle as bundles
from rag.cli.options import FAILED, Json, ModelFolder, TrustHost, print_json


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
    to: Annotated[Path | None, typer.Option(help="The folder to write; default: bundles/<experiment>-<trial>.")] = None,
    archive: Annotated[bool, typer.Option("--archive", help="Write <folder>.tar.zst too, one file to pass on.")] = False,
    with_models: Annotated[bool, typer.Option("--with-models", help="Include models that are folders of their own.")] = False,
    queries: Annotated[int, typer.Option(help="Golden questions to include; rag bundle verify asks them again.")] = 32,
    as_json: Json = False,
) -> None:
    """Seal a measured trial into a folder that answers by itself and proves that it answers as it was measured.

    --json: path, archive (its path, null for none), bundle (its hash), written (false if it was there already), needs (what
    must be agreed to when it is opened, null for nothing), experiment, trial, name, stand_ins (sentences on what replaces
    missing parts of its preset), queries (how many), bytes, and models
    (role, name, revision, fingerprint, inside, weights: sha256 by file of one on the hub), those that stay outside too.
    """
    from rag.bundle import seal
    from rag.reporting.terminal import bundles as report

    sealed = seal.export(what, to, queries, with_models)
    packed = seal.packed(sealed) if archive else None
    print_json(report.exported_json(sealed, packed)) if as_json else report.exported(sealed, packed)


@verb(bundles)
def verify(
    bundle: Annotated[Path, typer.Argument(help="A bundle: a folder, or a .tar.zst.")],
    url: Annotated[str, typer.Option(help="A server to ask too, for example http://127.0.0.1:8000.")] = "",
    key_env: Annotated[str, typer.Option(help="The variable that holds the server's key.")] = "RAG_API_KEY",
    model: ModelFolder = None,
    trust_host: TrustHost = None,
    as_json: Json = False,
) -> None:
    """Ask a bundle its golden questions: exit code 0 if it answers as it was measured, 1 if not.

    Passages and their order must be the same, prompts to the last character, and answers unless a chat model writes them. No
    chat model is asked, neither here nor, with --url, by the server.

    --json: bundle (its hash), name, stand_ins (as rag export), queries (how many), same, here and, with --url, there: compared
    (passages, prompt, contexts, answer), mismatches (query_id, what, expected, found, said), left_out (why, how often).
    """
    from rag.bundle.open_bundle import open_bundle
    from rag.bundle.replay import replay, replay_url
    from rag.reporting.terminal import bundles as report

    opened = open_bundle(bundle, models=folders(model or ()), hosts=tuple(trust_host or ()))
    replays = {"here": replay(opened)}
    if url:
        replays["there"] = replay_url(opened, url, os.environ.get(key_env) or None)
    print_json(report.verified_json(opened, replays)) if as_json else report.verified(opened, replays)
    if any(each.mismatches for each in replays.values()):
        raise typer.Exit(FAILED)


def folders(pairs: Sequence[str]) -> dict[str, Path]:
    """Model folders by role, from `role=PATH`."""
    from rag.core.errors import ConfigError

    for text in pairs:
        if not all(text.partition("=")[::2]):
            raise ConfigError(f"--model {text}", "names no role, or no folder", "for example --model embedder=models/bge-small")
    return {role: Path(path) for role, _, path in (text.partition("=") for text in pairs)}
