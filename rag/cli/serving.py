"""The verb that serves."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import app

What = Annotated[
    list[str],
    typer.Argument(
        help="Bundles, folders or .tar.zst, or trial=<id>; the first is the default model.", metavar="BUNDLE|trial=ID…"
    ),
]


@app.command()
def serve(
    what: What,
    host: Annotated[str | None, typer.Option(help="Address, RAG_HOST or 127.0.0.1; others need RAG_API_KEYS.")] = None,
    port: Annotated[int | None, typer.Option(help="Port, RAG_PORT or 8000; 0 for any that is free.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Reload a bundle when the files at its path change.")] = False,
    model: Annotated[list[str] | None, typer.Option(help="The path of a model folder that a bundle names: role=PATH.")] = None,
    trust_host: Annotated[list[str] | None, typer.Option(help="A server of models that a bundle may name.")] = None,
) -> None:
    """Serve bundles over HTTP: an API, OpenAI's chat completions, and a page.

    A bundle that does not answer as it was measured is not served. SIGHUP opens the same paths again and replaces the bundles
    without dropping a request; SIGTERM and Ctrl-C finish running requests first. RAG_… environment variables set limits, keys
    and the database of sessions.
    """
    from functools import partial

    from rag.bundle.open_bundle import open_bundle
    from rag.cli.bundles import folders
    from rag.core.errors import MissingExtraError
    from rag.serve.settings import Settings

    try:
        from rag.serve.process import run
    except ModuleNotFoundError as error:
        if (error.name or "rag").startswith("rag"):
            raise
        raise MissingExtraError("rag serve", "fastapi", "serve") from error

    settings = Settings.from_environment(host=host, port=port)
    opening = partial(open_bundle, models=folders(model or ()), hosts=tuple(trust_host or ()))
    with ExitStack() as scratch:
        run([_bundle(one, scratch) for one in what], opening, settings, watch=watch)


def _bundle(what: str, scratch: ExitStack) -> Path:
    """The path of a bundle; a trial is sealed into a folder that is deleted when the server ends."""
    if not what.startswith("trial="):
        return Path(what)
    from tempfile import TemporaryDirectory

    from rag.bundle.seal import export

    folder = scratch.enter_context(TemporaryDirectory(prefix="rag-serve-"))
    return export(what, Path(folder) / what.partition("=")[2]).path
