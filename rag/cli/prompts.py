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
    """Print the exact messages that a question becomes, their tokens, and what was found and left out; no model is asked.

    Takes any config, or trial=<id> of a sweep, beside which prompt=…, guard=…, k=… take the place of its own.

    With --json, one object; not_as_measured says what differs from the trial, empty for nothing.
    """
    from rag.execution.sweep.open_config import config_to_answer, open_config, required_question
    from rag.pipeline.prompt_preview import after, prompted
    from rag.reporting import terminal

    query = after(required_question(question), said or ())
    config, differs = config_to_answer(overrides or (), generates=False)
    told = prompted(open_config(config), query)
    if as_json:
        terminal.print_json(told | {"not_as_measured": differs})
        return
    if differs:
        terminal.differs(differs)
    terminal.prompt(told)
