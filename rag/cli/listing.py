"""The verb that says what there is."""

from typing import Annotated

import typer

from rag.cli import completion
from rag.cli.app import app
from rag.cli.options import Json


@app.command(name="list")
def list_command(
    what: Annotated[
        str, typer.Argument(metavar="[GROUP|EXPERIMENT|values]", help="All unless told.", autocompletion=completion.listed)
    ] = "",
    which: Annotated[str, typer.Argument(metavar="[CHOICE]", help="Of the group.", autocompletion=completion.of_group)] = "",
    as_json: Json = False,
) -> None:
    """List experiments and choices, the parameters of a choice, and what is not installed.

    For example rag list chunker, rag list chunker recursive, rag list experiments, rag list lexical; rag list values: the keys
    that are no groups.

    With --json, one object:

    experiments: name, question; groups: name, meaning, choices
    a group: group, meaning, choices; each choice: group, name, is_default, meaning, about, path, target and install,
    the commands that bring what is not installed; one choice also has parameters, as values: key, value, meaning
    an experiment: name, path, question, fixed, axes
    """
    from rag.config import listing
    from rag.reporting import terminal
    from rag.reporting.terminal.listings import listed

    what, _, choice = what.partition("=")
    told = listing.listing_json(what, which or choice)
    terminal.print_json(told) if as_json else listed(told)
