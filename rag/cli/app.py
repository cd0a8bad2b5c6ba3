"""The app `rag` and its groups of verbs. A verb imports what it needs inside its function, so that help is fast."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rag import __version__


def _version(wanted: bool) -> None:
    if wanted:
        from rag.reporting.terminal.output import print_line

        print_line(f"assay {__version__}")
        raise typer.Exit


PANELS = {
    "Experiments": ("list", "schema", "plan", "sweep", "run", "report", "compare", "track", "trec", "ui", "store"),
    "Questions": ("search", "ask", "chat", "write", "prompt", "why", "hops", "dialogues", "abstention", "attacks"),
    "Documents": ("ingest", "inspect"),
    "Gate, golden sets, judges": ("baseline", "gate", "dataset", "judge"),
    "From the winner to a server": ("export", "verify", "serve", "key", "register", "promote"),
}
"""The verbs and groups of verbs by purpose, in the order of --help."""


class ByPurpose(TyperGroup):
    """Lists verbs in the order of PANELS, each in its panel."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names; those without a panel come last."""
        panels = {name: panel for panel, names in PANELS.items() for name in names}
        for name, command in self.commands.items():
            command.rich_help_panel = panels.get(name)  # type: ignore[attr-defined]
        return sorted(self.commands, key=[*panels, *sorted(self.commands)].index)


app = typer.Typer(
    cls=ByPurpose,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Assay: declared experiments for retrieval-augmented generation, every stage run once.",
    epilog="Exit codes: 0 done; 1 worse, or a trial failed; 2 wrong input; 3 undecided; 4 budget spent; "
    "70 crashed, or the output cannot be written; 130 interrupted.",
)


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Assay: declared experiments for retrieval-augmented generation, every stage run once."""
    import logging

    from rag.cli.env_file import read_env_file
    from rag.cli.notices import Notices

    read_env_file()
    if ctx.invoked_subcommand != "serve":  # its log has one object a line
        # A plan lists the servers itself.
        logger = logging.getLogger("rag.config.composer" if ctx.invoked_subcommand == "plan" else "rag.config")
        logger.setLevel(logging.INFO)
        logger.handlers = [Notices()]


datasets = typer.Typer(no_args_is_help=True, help="Golden sets: check, fix, review, diff, import, export.")
stores = typer.Typer(no_args_is_help=True, help="The store: count, verify and remove entries.")
app.add_typer(datasets, name="dataset")
app.add_typer(stores, name="store")
