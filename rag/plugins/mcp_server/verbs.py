"""The verb that serves a project to assistants."""

from typing import Annotated

import typer

from rag.cli.app import app


@app.command()
def mcp(
    allow_sweeps: Annotated[bool, typer.Option("--allow-sweeps", help="Add the tool sweep; run what is not stored.")] = False,
) -> None:
    """Serve this folder to an assistant: plan, board, compare, why, gate and ask as tools of the Model Context Protocol."""
    from rag.core.errors import required

    required("rag mcp", "mcp")
    from rag.plugins.mcp_server.server import server

    server(allow_sweeps).run("stdio")
