"""Verbs that list experiments and choices, and print JSON Schemas."""

from typing import Annotated

import typer

from rag.cli import completion
from rag.cli.app import app, data, verb
from rag.cli.options import Json, print_json


@app.command(name="list")
def list_command(
    what: Annotated[
        str,
        typer.Argument(metavar="[TOPIC|GROUP|EXPERIMENT|values]", help="Default: topics.", autocompletion=completion.listed),
    ] = "",
    which: Annotated[str, typer.Argument(metavar="[CHOICE]", help="Of the group.", autocompletion=completion.of_group)] = "",
    everything: Annotated[bool, typer.Option("--all", help="List all experiments, and the choices of all groups.")] = False,
    as_json: Json = False,
) -> None:
    """List experiments and choices, the parameters of a choice, and packages that are not installed.

    For example rag list documents, rag list chunker, rag list chunker recursive, rag list lexical; rag list experiments, with
    the studies of the authors; rag list values: the keys that are no groups.

    With --json, one object:

    experiments: name, question, study (whether its file has the result); topics: name, meaning, groups;
    groups: name, meaning, choices
    a group: group, meaning, choices, related (groups of its topic); each choice: group, name, is_default, meaning, about,
    path, target and install, the commands that install missing packages; one choice also has parameters, as values: key,
    value, meaning
    an experiment: name, path, question, fixed, axes, showed
    """
    from rag.config.listing import listing_json
    from rag.reporting.terminal.listings import listed

    what, _, choice = what.partition("=")
    listing = listing_json(what, which or choice)
    print_json(listing) if as_json else listed(listing, everything)


@verb(data)
def schema(name: Annotated[str, typer.Argument(metavar="FILE", help="experiment, questions, template")] = "experiment") -> None:
    """Print the JSON Schema of experiments, of a line of questions.jsonl, or of a template of rag ask --report, for editors."""
    from rag.api.schema import SCHEMAS
    from rag.core.checks import check_choice

    check_choice("schema", name, SCHEMAS)
    print_json(SCHEMAS[name]())
