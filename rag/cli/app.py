"""The app `rag` and its groups of verbs. A verb imports what it needs inside its function, so that help is fast."""

import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from dotenv.parser import parse_stream
from typer.core import TyperGroup

from rag import __version__
from rag.core.errors import ConfigError
from rag.core.models.server_keys import is_local


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


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    """Assay: declared experiments for retrieval-augmented generation, every stage run once."""
    import logging

    from rag.cli.app import read_env_file
    from rag.cli.notices import Notices

    read_env_file()
    if ctx.invoked_subcommand != "serve":  # its log has one object a line
        whole, files = loggers = logging.getLogger("rag.config"), logging.getLogger("rag.config.composer")
        for logger in loggers:
            logger.handlers = []
        logger = files if ctx.invoked_subcommand == "plan" else whole  # A plan lists the servers itself.
        logger.setLevel(logging.INFO)
        logger.handlers = [Notices()]


VARIABLE = "RAG_ENV_FILE"
"""The variable with the name of the file; `.env` of the working folder without it, and no file where it is empty."""
READ = re.compile(r"[A-Z][A-Z0-9_]*_(?:API_KEY|MODEL|BASE_URL)|RAG_DATA", re.ASCII)
"""Names that are read. A folder of unknown origin must not choose programs, proxies, databases or the server's settings."""
MOST = 1 << 16
"""Bytes of a file."""


def read_env_file() -> None:
    """Set the variables of the file that the environment does not have; ConfigError for a file that cannot be read.

    An address of a server elsewhere is refused: the author of a folder must not choose who gets your keys and documents. No
    message holds a value.
    """
    path = Path(os.environ.get(VARIABLE, ".env") or os.devnull)
    if not path.is_file():
        return
    for line, name, value in _variables(path):
        if not READ.fullmatch(name) or os.environ.get(name) or not value.strip():
            continue
        where = f"{path}:{line}: {name}"
        if "${" in value:
            raise ConfigError(where, "refers to another variable, which is not filled in", "write the value itself")
        if name.endswith("_BASE_URL") and not is_local(value):
            from rag.config.servers import Trust  # it reads conf/, which no other line needs

            try:
                Trust.of_user().check(where, value, name.replace("_BASE_URL", "_API_KEY"))
            except ConfigError as error:
                remedy = f"export {name}=<address> if you trust it with your documents; the line may stay then"
                raise ConfigError(where, "names a server that is not on this machine", remedy) from error
        os.environ[name] = value


def _variables(path: Path) -> list[tuple[int, str, str]]:
    """Line, name and value of each variable of a file."""
    form = f"lines such as OPENAI_API_KEY=<key>, or {VARIABLE}= (empty) to read no file"
    try:
        with path.open("rb") as file:
            data = file.read(MOST + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "it is not text in UTF-8")
        raise ConfigError(str(path), f"cannot be read: {reason}", form) from error
    if len(data) > MOST or "\0" in text:
        raise ConfigError(str(path), f"holds a zero byte, or more than {MOST:,} bytes", form)
    found = list(parse_stream(io.StringIO(text)))
    if wrong := next((each for each in found if each.error), None):
        line = wrong.original.line + len(wrong.original.string) - len(wrong.original.string.lstrip("\r\n"))
        raise ConfigError(f"{path}:{line}", "is no assignment, or its quotes do not close", form)
    return [(each.original.line, each.key, each.value) for each in found if each.key and each.value is not None]
