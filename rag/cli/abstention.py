"""The verb that finds out when to decline."""

from typing import Annotated

import typer

from rag.cli.app import app
from rag.cli.options import Json, Overrides


@app.command()
def abstention(
    overrides: Overrides = None,
    correct: Annotated[str, typer.Option(help="The column that says how good an answer is.")] = "evidence_cited",
    risk: Annotated[
        float | None, typer.Option(help="Answer as many questions as this mean loss allows, instead of the best value.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose on tune from which similarity of what was found to answer at all, and check it on holdout.

    Takes any config, or trial=<id> of a sweep, without the floor that it may have; what ran is reused.
    Answering costs 1 - CORRECT, and 1 where a question has no gold; the area is under the risk-coverage curve.

    With --json, one object, null for what cannot be known:

    trial, name, correct; unscored: answers that CORRECT says nothing of.
    chosen, and each entry of curve (over tune): threshold, coverage, risk
    - answered: share of the questions with gold; declined: of those without
    - value: mean of CORRECT where answered, 1 where rightly declined, else 0
    splits: by name, questions, unanswerable, declined_by_generator
    - aurc and auc (answerable against not) with value, low, high
    - best, chance: the least area there is, and that of no confidence
    - at_threshold: as above with intervals; gain over answering all
    """
    from rag.analysis import abstention as declining
    from rag.core.errors import ConfigError
    from rag.reporting import terminal
    from rag.reporting.terminal import abstention as risks
    from rag.reporting.terminal import progress

    if risk is not None and not 0 <= risk <= 1:
        raise ConfigError("--risk", f"is {risk}", "a mean loss, from 0 to 1")
    study = declining.prepare(overrides or (), correct)
    with progress.SweepProgress(study.made) as bar:
        study.run(bar)
    told = declining.tell(study, risk)
    terminal.print_json(told.to_json()) if as_json else risks.abstention_report(told)
