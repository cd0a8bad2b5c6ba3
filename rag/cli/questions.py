"""Verbs that answer one question."""

import re
from typing import Annotated

import typer

from rag.cli.app import app
from rag.cli.options import Json, Overrides


@app.command()
def search(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Find passages for a question with any config, or with trial=<id> of a sweep, and show where each came from."""
    from rag.execution.sweep.open_config import config_of, open_config, required_question
    from rag.pipeline.answer_json import found_passages
    from rag.reporting import terminal

    query = required_question(question)
    pipeline = open_config(config_of(overrides or ()))
    found = found_passages(pipeline.corpus, pipeline.trace(query), pipeline.k)
    if as_json:
        terminal.print_json({"question": question, "passages": found})
    elif found:
        terminal.passages(found)
    else:
        terminal.out.print("No passage was found.")


@app.command()
def ask(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Answer a question with any config, or with trial=<id> of a sweep, and show the passages it was answered from.

    A trial without a generator gets the default one; generator=…, prompt=…, k=… beside trial=<id> take the place of its own.

    With --json, one object: the answer as POST /ask returns it, with its trace; not_as_measured says what differs from the
    trial, empty for nothing.
    """
    from rag.execution.sweep.open_config import config_to_answer, open_config, required_question
    from rag.pipeline.answer_json import found_passages
    from rag.pipeline.passage_fates import traced_answer
    from rag.reporting import terminal

    query = required_question(question)
    config, differs = config_to_answer(overrides or ())
    if differs and not as_json:
        terminal.differs(differs)
    with terminal.Waiting("opening …") as hear:
        pipeline = open_config(config)
        hear.now("searching …")
        trace = pipeline.trace(query)
        answer = pipeline.answer_from(query, trace, None if as_json else hear, early=True, read=hear.reading)
    record = traced_answer(pipeline, trace, answer)
    if as_json:
        terminal.print_json({**record, "not_as_measured": differs})
        return
    terminal.answered(answer, pipeline.generator, hear.heard)
    terminal.out.print()
    terminal.passages(terminal.passages_of_answer(found_passages(pipeline.corpus, trace, pipeline.k), record))


@app.command()
def why(
    question: Annotated[str, typer.Argument(help="Its id or its words; trial=ID alone: all it lost.", metavar="QUESTION")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Show which stage lost a golden question, with any config, with trial=<id> of a sweep, or with two beside each other."""
    from rag.analysis import why as whys
    from rag.reporting import terminal
    from rag.reporting.terminal import progress

    everything = bool(re.match(r"[+~]{0,2}[\w./@]+=", question))
    asked = whys.prepare([question, *(overrides or ())] if everything else overrides or ())
    example = None if everything else whys.find(question, asked[0])
    for one in asked:
        if one.made.to_run:
            with progress.SweepProgress(one.made) as bar:
                one.run(bar)
    found = whys.explain(example, asked) if example else whys.overview(asked)
    if as_json:
        terminal.print_json(found.to_json())
    elif isinstance(found, whys.Why):
        terminal.why(found)
    else:
        terminal.losses(found)
