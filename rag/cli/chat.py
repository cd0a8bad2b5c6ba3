"""The verb that converses."""

from collections.abc import Sequence

import typer

from rag.cli.app import app
from rag.cli.options import FAILED, Overrides

FOLLOWING_UP = "queries=carry_over"
"""In a conversation questions lean on each other; elsewhere the default stays what is measured when nothing is said."""


def _following_up(overrides: Sequence[str]) -> list[str]:
    said = any(override.lstrip("+").partition("=")[0] in ("queries", "trial") for override in overrides)
    return [*overrides] if said else [FOLLOWING_UP, *overrides]


@app.command()
def chat(overrides: Overrides = None) -> None:
    """Converse with any config, or with trial=<id> of a sweep: answers as they come, with their sources; /help in it.

    Where nothing is said of queries, follow-ups are searched for with queries=carry_over, and as a trial was measured. A trial
    without a generator gets the default one; generator=…, prompt=…, queries=… beside trial=<id> take the place of its own.
    Ctrl-C drops the answer that is being given, Ctrl-D leaves. Questions can also come through a pipe, one a line.
    """
    from rag.execution.sweep.open_config import config_to_answer, open_config
    from rag.pipeline.session import Session
    from rag.reporting import terminal

    config, differs = config_to_answer(_following_up(overrides or ()))
    if differs:
        terminal.differs(differs)
    with terminal.Waiting("opening …"):
        session = Session(open_config(config))
        session.make_ready()
    talk = terminal.Chat(session, config, " ".join(overrides or ()) or "the default config")
    talk.run()
    if talk.failed and not talk.typed.terminal:
        raise typer.Exit(FAILED)
