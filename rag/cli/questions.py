"""Verbs that answer one question."""

from rag.cli.app import app
from rag.cli.options import Json, Overrides


@app.command()
def search(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Find passages for a question with any config, or with trial=<id> of a sweep, and show where each came from."""
    from rag import terminal
    from rag.answering import asked, config_of, open_config, provenance

    query = asked(question)
    pipeline = open_config(config_of(overrides or ()))
    found = provenance(pipeline, pipeline.trace(query))
    if as_json:
        terminal.print_json({"question": question, "passages": found})
    elif found:
        terminal.passages(found)
    else:
        terminal.out.print("No passage was found.")


@app.command()
def ask(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Answer a question with any config, or with trial=<id> of a sweep, and show the passages it was answered from."""
    from rag import terminal
    from rag.answering import answered, asked, config_of, open_config
    from rag.roles import changes_nothing

    query = asked(question)
    pipeline = open_config(config_of(overrides or ()))
    told = answered(pipeline, query, None if as_json else terminal.stream)
    if as_json:
        terminal.print_json(told)
        return
    if not told["answer"]:
        silent = changes_nothing(pipeline.generator)
        terminal.out.print(f"No answer: {'generator=none gives none' if silent else 'nothing in the passages fits'}.")
    terminal.out.print()
    terminal.passages(told["passages"])
