"""The verb that converses."""

import typer

from rag.cli.app import app
from rag.cli.options import FAILED, Overrides


@app.command()
def chat(overrides: Overrides = None) -> None:
    """Converse with any config, or with trial=<id> of a sweep: answers as they come, with their sources; /help in it.

    Ctrl-C drops the answer that is being given, Ctrl-D leaves. Questions can also come through a pipe, one a line.
    """
    from rag import terminal
    from rag.answering import config_of, open_config
    from rag.session import Session

    config = config_of(overrides or ())
    with terminal.Waiting("opening …"):
        session = Session(open_config(config))
        session.make_ready()
    talk = terminal.Chat(session, config, " ".join(overrides or ()) or "the default config")
    talk.run()
    if talk.failed and not talk.typed.terminal:
        raise typer.Exit(FAILED)
