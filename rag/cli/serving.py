"""Verbs of the server: serve bundles, and make keys for its clients."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import app, bundle, verb
from rag.cli.options import Json, ModelFolder, TrustHost, print_json

Bundles = Annotated[
    list[str],
    typer.Argument(
        help="Bundles, folders or .tar.zst, or trial=<id>; the first is the default model.", metavar="BUNDLE|trial=ID…"
    ),
]


@app.command()
def serve(
    what: Bundles,
    host: Annotated[str | None, typer.Option(help="Address, RAG_HOST or 127.0.0.1; others need RAG_API_KEYS.")] = None,
    port: Annotated[int | None, typer.Option(help="Port, RAG_PORT or 8000; 0 for any that is free.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Switch when a path leads to another bundle.")] = False,
    model: ModelFolder = None,
    trust_host: TrustHost = None,
) -> None:
    """Serve bundles over HTTP: an API, OpenAI's chat completions, and a web page.

    A bundle that does not answer as it was measured is not served. SIGHUP opens the same paths again and switches without
    dropping a request; SIGTERM and Ctrl-C finish the answers in progress. Limits, keys and the database of sessions are set by
    RAG_… environment variables.
    """
    import os
    from functools import partial

    # Threads of BLAS wait in loops: a product for one question took 8 ms of two processors instead of 1 ms of one.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

    from rag.bundle.open_bundle import open_bundle
    from rag.cli.bundles import folders
    from rag.core.errors import required

    required("rag serve", "fastapi", "uvicorn", "prometheus_client", "sqlalchemy")
    from rag.serve.process import run
    from rag.serve.settings import Settings

    settings = Settings.from_environment(host=host, port=port)
    opening = partial(open_bundle, models=folders(model or ()), hosts=tuple(trust_host or ()))
    with ExitStack() as scratch:
        run([_bundle(path, scratch) for path in what], opening, settings, watch=watch)


def _bundle(what: str, scratch: ExitStack) -> Path:
    """The path of a bundle; a trial is sealed into a temporary folder, which `scratch` removes."""
    if not what.startswith("trial="):
        return Path(what)
    from tempfile import TemporaryDirectory

    from rag.bundle.seal import export

    folder = scratch.enter_context(TemporaryDirectory(prefix="rag-serve-"))
    return export(what, Path(folder) / what.partition("=")[2]).path


@verb(bundle)
def key(name: str, as_json: Json = False) -> None:
    """Make a key for NAME: print it, once, and its entry for RAG_API_KEYS of the server."""
    from rag.reporting.terminal.serving import print_key
    from rag.serve.keys import checked_name, hashed, new_key

    secret = new_key()
    entry = f"{checked_name(name, 'name')}:{hashed(secret)}"
    print_json({"name": name, "key": secret, "entry": entry}) if as_json else print_key(secret, entry)
