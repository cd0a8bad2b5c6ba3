"""Verbs that list experiments and choices, and print JSON Schemas."""

from typing import Annotated

import typer

from rag.cli import completion
from rag.cli.app import app
from rag.cli.options import Json, print_json


@app.command(name="list")
def list_command(
    what: Annotated[
        str, typer.Argument(metavar="[GROUP|EXPERIMENT|values]", help="Default: all.", autocompletion=completion.listed)
    ] = "",
    which: Annotated[str, typer.Argument(metavar="[CHOICE]", help="Of the group.", autocompletion=completion.of_group)] = "",
    as_json: Json = False,
) -> None:
    """List experiments and choices, the parameters of a choice, and packages that are not installed.

    For example rag list chunker, rag list chunker recursive, rag list experiments, rag list lexical; rag list values: the keys
    that are no groups.

    With --json, one object:

    experiments: name, question; groups: name, meaning, choices
    a group: group, meaning, choices; each choice: group, name, is_default, meaning, about, path, target and install,
    the commands that install missing packages; one choice also has parameters, as values: key, value, meaning
    an experiment: name, path, question, fixed, axes
    """
    from rag.config.listing import listing_json
    from rag.reporting.terminal.listings import listed

    what, _, choice = what.partition("=")
    listing = listing_json(what, which or choice)
    print_json(listing) if as_json else listed(listing)


@app.command()
def schema(
    name: Annotated[str, typer.Argument(metavar="FILE", help="experiment, questions, template")] = "experiment",
) -> None:
    """Print the JSON Schema of experiments, of a line of questions.jsonl, or of a template of rag write, for editors."""
    from rag.api.schema import SCHEMAS
    from rag.core.errors import ConfigError, closest

    if name not in SCHEMAS:
        raise ConfigError("schema", f"there is none for {name!r}", closest(name, SCHEMAS))
    print_json(SCHEMAS[name]())
