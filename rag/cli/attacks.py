"""The verb that says what attacks did."""

import typer

from rag.cli.app import app
from rag.cli.options import Json, Overrides


@app.command()
def attacks(experiment: str = typer.Argument("injection"), overrides: Overrides = None, as_json: Json = False) -> None:
    """Say how often orders in documents were followed in a finished sweep, guard by guard, and what guards cost.

    Nothing runs: rag sweep EXPERIMENT measures it. Writes reports/EXPERIMENT/attacks.md.

    With --json, one object, null for what cannot be known:

    experiment; goals: at most a tenth of the undefended success, no link
    arms: name, trial, guards and
    - success: by part (all, split=…, kind=…, wording=…): hits, n, rate, and low and high of Wilson's 95 % interval
    - quarantined, declined: the same of attacked and of benign questions
    - token_recall: the mean of attacked and of benign questions
    differences: arm minus base in column over n questions: mean, low, high and p_adjusted beside all others of the column
    """
    from rag.analysis import attacks as attacked
    from rag.config.experiment import load
    from rag.core.files import replace_text
    from rag.execution.sweep import sweep
    from rag.reporting import terminal
    from rag.reporting.terminal import attacks as shown

    ready = sweep.prepare(load(experiment, overrides or ()))
    found = attacked.measure_attacks(ready.plan, ready.store)
    place = sweep.REPORTS / found.experiment / "attacks.md"
    place.parent.mkdir(parents=True, exist_ok=True)
    replace_text(place, shown.markdown(found))
    terminal.print_json(found.to_json()) if as_json else shown.attacks(found)
