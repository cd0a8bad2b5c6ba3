"""Verbs that say whether one trial is better than another."""

from typing import Annotated

import typer

from rag.cli.app import app
from rag.cli.options import Json


@app.command()
def compare(
    sides: Annotated[list[str], typer.Argument(metavar="BASE OTHER …", help="Trial ids, or paths of baselines.")],
    as_json: Json = False,
) -> None:
    """Compare trials that ran, question by question, with the first one. Nothing is computed again."""
    from rag.errors import ConfigError

    raise ConfigError("compare", f"{len(sides)} trials: comparing is being built", "look at the leaderboard")
