"""The verb that makes golden questions from ratings of answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.app import datasets
from rag.cli.options import Json, Overrides

if TYPE_CHECKING:
    from rag.datasets.review.question_file import QuestionFile
    from rag.serve.feedback import Opinions

Sessions = Annotated[str, typer.Option(envvar="RAG_SESSIONS", help="The database of the server.")]


@datasets.command()
def review(
    name: str,
    overrides: Overrides = None,
    sessions: Sessions = "sqlite:///.rag/serve.db",
    accept: Annotated[list[str] | None, typer.Option(metavar="ANSWER", help="Accept the draft of this rating.")] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="ANSWER", help="Drop this rating.")] = None,
    edited: Annotated[Path | None, typer.Option(help="Accept these lines, each in place of the draft of its id.")] = None,
    as_json: Json = False,
) -> None:
    """Make golden questions from ratings of a server's answers: accept, edit or drop them one by one.

    Quotes must be in the documents of the set, and a set that could not be read is never written. --json, --accept, --drop
    and --edited ask no questions.
    """
    from rag.datasets.review.review_loop import Review
    from rag.documents.json_rows import read_rows
    from rag.reporting.terminal.output import print_json
    from rag.reporting.terminal.review import reviewed

    file, opinions = question_file(name, overrides or ()), _opinions(sessions)
    going = Review(file, opinions.candidates(), opinions.settle)
    going.edited(row.fields for row in (read_rows(edited) if edited else ()))
    for answer in accept or ():
        going.accept(answer)
    for answer in drop or ():
        going.drop(answer)
    if as_json:
        print_json({"dataset": name, "questions": str(file.path)} | going.to_json())
    else:
        reviewed(going, str(file.path), asking=not (edited or accept or drop))


def question_file(name: str, overrides: "list[str] | tuple[()]") -> "QuestionFile":
    """The questions of a set in the native format; ConfigError for another format."""
    from rag.components.loaders.native_questions import NativeQuestions
    from rag.core.errors import ConfigError
    from rag.datasets.review.question_file import QuestionFile
    from rag.execution.graph.plan import components_for
    from rag.execution.store import maintenance
    from rag.execution.sweep.open_config import config_of

    config = config_of([f"dataset={name}", *overrides])
    components = components_for(maintenance.at(config["store"]))
    questions = components.role("dataset", config["dataset"])
    if not isinstance(questions, NativeQuestions):
        what = f"{name!r} has a format that cannot be written"
        raise ConfigError("dataset", what, "native dataset.path=<a folder with documents/ and questions.jsonl>")
    return QuestionFile(components.role("loader", config["loader"]), questions)


def _opinions(sessions: str) -> "Opinions":
    from rag.core.errors import MissingExtraError

    try:
        from rag.serve.database import Database
        from rag.serve.feedback import Opinions
    except ModuleNotFoundError as error:
        raise MissingExtraError("rag dataset review", "sqlalchemy", "serve") from error
    return Opinions(Database(sessions, making=False))
