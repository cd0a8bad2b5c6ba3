"""How much the answers to one question differ, where a model answers each question several times."""

from rag.config.validation import repeats_of
from rag.core.figures import figure
from rag.execution.sweep.sweep import Sweep


def remarks(done: Sweep, recommended: str) -> tuple[str, ...]:
    """A sentence on the recommended trial, or the best with several answers per question; empty where no trial has them."""
    spread = {
        row.trial_id: {name: each["within"] for name, each in row.metrics.items() if "within" in each}
        for row in done.board.rows
    }
    trial = next((name for name in (recommended, *spread) if spread.get(name)), None)
    if trial is None:
        return ()
    config, name = next((each.trial.config, each.trial.name) for each in done.plan.trials if each.trial_id == trial)
    objective = [term.column for term in done.board.objective.terms]
    shown = [column for column in objective if column in spread[trial]] or list(spread[trial])
    parts = ", ".join(f"{column} {figure(spread[trial][column])}" for column in shown)
    return (f"{name} answers each question {repeats_of(config)} times; standard deviation inside questions: {parts}.",)
