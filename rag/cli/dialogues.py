"""The verb that looks at conversations turn by turn."""

from rag.cli.app import app
from rag.cli.options import Json, Overrides


@app.command()
def dialogues(overrides: Overrides = None, as_json: Json = False) -> None:
    """Look at a trial turn by turn, with any config over dialogues, with trial=<id> of a sweep, or with two of them.

    A carry-over error is a follow-up whose evidence is within the first k when a person's rewrite of it is searched for, and
    not with what the trial searches for. What is not in the store is run.

    With --json, trials: for each, null for what cannot be known,

    trial, name, history (gold or live), k
    turns: by turn, and 0 for all of them
    - turn, questions; scores: mean, low, high and n by column
    - found: share of questions with evidence that have all of it within k
    - followups with evidence and a rewrite; lost: carry-over errors
    - declined: share of answers that decline
    - prompt_tokens counted in a request, tokens that models reported
    lost: question (id), text, rewrite, and what was sought instead
    """
    from rag.analysis import dialogues as turns
    from rag.analysis import why
    from rag.reporting import terminal
    from rag.reporting.terminal import progress

    found = []
    for asked in why.prepare(overrides or ()):
        if asked.made.to_run:
            with progress.SweepProgress(asked.made) as bar:
                asked.run(bar)
        found.append(turns.study_dialogues(asked, progress.SweepProgress))
    if as_json:
        terminal.print_json({"trials": [one.to_json() for one in found]})
        return
    for one in found:
        terminal.dialogues(one)
