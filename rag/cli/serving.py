"""The verb that serves."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import app

What = Annotated[list[str], typer.Argument(help="Folders of bundles; the first is the default model.", metavar="BUNDLE…")]


@app.command()
def serve(
    what: What,
    host: Annotated[str | None, typer.Option(help="Address; others than 127.0.0.1 need RAG_API_KEYS.")] = None,
    port: Annotated[int | None, typer.Option(help="Port.")] = None,
) -> None:
    """Serve bundles over HTTP: an API, OpenAI's chat completions, a page to ask with."""
    import uvicorn

    from rag.serve.app import create_app
    from rag.serve.conversations import Conversations
    from rag.serve.opinions import Opinions
    from rag.serve.served import Served
    from rag.serve.settings import Settings

    settings = Settings.from_environment(host=host, port=port)
    served = Served([Path(one) for one in what])
    conversations = Conversations(settings.sessions, settings.idle)
    application = create_app(served, settings, conversations, Opinions(conversations.database, settings.idle))
    uvicorn.run(application, host=settings.host, port=settings.port, access_log=False)
