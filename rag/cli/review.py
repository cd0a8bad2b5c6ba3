"""The verb that reviews what waits to be golden questions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag.cli.app import data
from rag.cli.options import Json, Overrides, opened_set, print_json

if TYPE_CHECKING:
    from rag.authoring.review.question_file import QuestionFile
    from rag.serve.feedback import Opinions

RATINGS = ".rag/serve.db"
Sessions = Annotated[
    str | None, typer.Option(envvar="RAG_SESSIONS", help=f"The server's database; sqlite:///{RATINGS} if it exists.")
]


@data.command()
def review(
    name: str,
    overrides: Overrides = None,
    sessions: Sessions = None,
    accept: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Accept this question, or the draft of this rating.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(metavar="ID", help="Drop this question or rating.")] = None,
    edited: Annotated[Path | None, typer.Option(help="Accept these lines, each in place of the question of its id.")] = None,
    by: Annotated[str | None, typer.Option(help="Your name in the provenance; by default that of your account.")] = None,
    page: Annotated[bool, typer.Option("--page", help="Review in a browser; prints the address.")] = False,
    port: Annotated[int, typer.Option(help="Port of the page; 0 for any that is free.")] = 0,
    as_json: Json = False,
) -> None:
    """Review generated and imported questions of a set, and ratings of a server's answers: accept, edit or drop each.

    A question waits until its provenance says who accepted it. Every decision is written at once, and several people can
    review one set. Quotes must be in the documents of the set. --json, --accept, --drop and --edited ask no questions.
    """
    from getpass import getuser

    from rag.authoring.review.review_loop import Review
    from rag.core.errors import required
    from rag.documents.folder.json_rows import read_rows
    from rag.reporting.terminal.review import reviewed

    file = question_file(name, overrides)
    ratings = _opinions(sessions or f"sqlite:///{RATINGS}") if sessions or Path(RATINGS).exists() else None
    opinions, settle = (ratings.candidates(), ratings.settle) if ratings else ((), None)
    going = Review(file, opinions, settle, by or getuser())
    going.edited(row.fields for row in (read_rows(edited) if edited else ()))
    for each in accept or ():
        going.accept(each)
    for each in drop or ():
        going.drop(each)
    if page:
        required("rag data review --page", "fastapi")
        from rag.serve.review import serve

        serve(going, str(file.path), port)
    elif as_json:
        print_json({"dataset": name, "questions": str(file.path)} | going.to_json())
    if page or not as_json:
        reviewed(going, str(file.path), asking=not (page or edited or accept or drop))


def question_file(name: str, overrides: list[str] | None) -> "QuestionFile":
    """The questions of a set in the native format; ConfigError for another format."""
    from rag.authoring.review.question_file import QuestionFile
    from rag.components.loaders.native_questions import NativeQuestions
    from rag.core.errors import ConfigError

    loader, questions = opened_set(name, overrides)
    if not isinstance(questions, NativeQuestions):
        what = f"{name!r} has a format that cannot be written"
        raise ConfigError("dataset", what, "native dataset.path=<a folder with documents/ and questions.jsonl>")
    return QuestionFile(loader, questions)


def _opinions(sessions: str) -> "Opinions":
    from rag.core.errors import required

    required("rag data review", "sqlalchemy")
    from rag.serve.database import Database
    from rag.serve.feedback import Opinions

    return Opinions(Database(sessions, making=False))
