"""Verbs about prompts."""

from typing import Annotated

import typer

from rag.cli.app import app
from rag.cli.options import Json, Overrides

prompts = typer.Typer(no_args_is_help=True, help="Prompts: what a model is given, word for word.")
app.add_typer(prompts, name="prompt")
Said = Annotated[
    list[str] | None,
    typer.Option("--said", metavar="TEXT", help="What was said before, oldest first, once a turn: yours, the model's, yours …"),
]


@prompts.command()
def show(question: str, overrides: Overrides = None, said: Said = None, as_json: Json = False) -> None:
    """Print the exact messages that a question becomes, their tokens, and what was found and left out; no model is asked."""
    from rag import terminal
    from rag.answering import asked, config_of, open_config
    from rag.prompted import after, prompted

    query = after(asked(question), said or ())
    told = prompted(open_config(config_of(overrides or ())), query)
    terminal.print_json(told) if as_json else terminal.prompt(told)
