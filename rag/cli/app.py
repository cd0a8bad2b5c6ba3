"""The app `rag` and its groups of verbs. A verb imports what it needs inside its function, so that help is fast."""

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

from rag import __version__


def _version(wanted: bool) -> None:
    if wanted:
        from rag.reporting.terminal.output import print_line

        print_line(f"assay {__version__}")
        raise typer.Exit


FIRST = ("try", "sweep", "plan", "report", "ask", "gate", "export", "serve", "list")
"""The verbs of the first level, in the order of --help; others are in the groups `data`, `study` and `bundle`."""
Verb = TypeVar("Verb", bound=Callable[..., None])


class VerbGroup(TyperGroup):
    """Lists the verbs of FIRST in their order, then the others; the first sentence of each is whole."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names; hidden ones are the names of before 0.2."""
        return sorted(self.commands, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list; click itself would cut a sentence at the end of the line."""
        shown = [(name, verb) for name in self.list_commands(ctx) if not (verb := self.commands[name]).hidden]
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.get_short_help_str(limit=1000)) for name, verb in shown])


app = typer.Typer(
    cls=VerbGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # with rich, --help takes twice the time
    help="Assay: declared experiments for retrieval-augmented generation, every stage run once.",
    epilog="Start with rag try FOLDER, or with rag init where you have questions. Exit codes: 0 done; 1 worse, or a "
    "trial failed; 2 wrong input; 3 undecided; 4 budget spent; 70 crashed, or the output cannot be written; 130 interrupted.",
)
data, study, bundle = (typer.Typer(cls=VerbGroup, no_args_is_help=True) for _ in range(3))
app.add_typer(data, name="data", help="Documents and golden sets: ingest, check, generate, import, review.")
app.add_typer(study, name="study", help="Trials and their questions: run, baseline, compare, why, judge, track.")
app.add_typer(bundle, name="bundle", help="Sealed trials: verify, register, promote, keys of a server.")
app.add_typer(data, name="dataset", hidden=True)


def verb(group: typer.Typer, name: str | None = None) -> Callable[[Verb], Verb]:
    """Add a verb to a group, and hidden to the first level, where it was before 0.2."""

    def added(function: Verb) -> Verb:
        app.command(name, hidden=True)(function)
        return group.command(name)(function)

    return added


def verbs(group: typer.Typer, inner: typer.Typer, name: str) -> None:
    """Add a group of verbs to a group, and hidden to the first level."""
    group.add_typer(inner, name=name)
    app.add_typer(inner, name=name, hidden=True)


class Notices(logging.Handler):
    """Writes each line of a config's log once: servers that are asked, and files that replace those of Assay."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.written: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line to standard error, without control characters, which names of files may contain."""
        from rag.reporting.terminal.output import visible

        line = visible(record.getMessage())
        if line not in self.written:
            self.written.add(line)
            with suppress(OSError, AttributeError):
                sys.stderr.write(f"{line}\n")


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Assay: declared experiments for retrieval-augmented generation, every stage run once."""
    from rag.cli.env_file import read_env_file

    read_env_file()
    if ctx.invoked_subcommand != "serve":  # its log has one object a line
        whole, files = loggers = logging.getLogger("rag.config"), logging.getLogger("rag.config.composer")
        for logger in loggers:
            logger.handlers = []
        logger = files if ctx.invoked_subcommand == "plan" else whole  # A plan lists the servers itself.
        logger.setLevel(logging.INFO)
        logger.handlers = [Notices()]
