"""The verb that prints JSON Schemas."""

from typing import Annotated

import typer

from rag.cli.app import app


@app.command()
def schema(name: Annotated[str, typer.Argument(metavar="FILE", help="experiment or questions.")] = "experiment") -> None:
    """Print the JSON Schema of experiments, or of a line of questions.jsonl, for editors to complete and check them."""
    from rag.api.schema import SCHEMAS
    from rag.core.errors import ConfigError, closest
    from rag.reporting import terminal

    if name not in SCHEMAS:
        raise ConfigError("schema", f"there is none for {name!r}", closest(name, SCHEMAS))
    terminal.print_json(SCHEMAS[name]())
