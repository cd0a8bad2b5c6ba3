"""What a sweep would run and reuse."""

from collections.abc import Mapping, Sequence

from rag.config.experiment import Experiment
from rag.execution.graph.plan import Plan
from rag.execution.sweep.leaderboard import objective_of
from rag.pipeline import unread_text
from rag.reporting.terminal.output import Table, escape, out, tokens


def planned(made: Plan, shares: Mapping[str, float | None]) -> None:
    """What a sweep would run and reuse, and what it would take; `shares` of chunks are not read, by id of the trial."""
    told = made.to_json()
    stages = told["stages"]
    out.print(told["question"], markup=False)
    out.print(plan(made, shares))
    out.print(f"{told['trials']} trials; {stages['total']} stages one by one, {stages['distinct']} distinct.")
    for said in filter(None, (_again(made), _dealing(made))):
        out.print(escape(said))
    if cut := unread_text.remark({trial.trial.name: shares.get(trial.trial_id) for trial in made.trials}):
        out.print(escape(cut), soft_wrap=True)
    if any(trial.ends.generate for trial in made.trials):
        _answers(made.experiment)
    if told["unmeasured"]:
        out.print(f"{told['unmeasured']} stages are of a kind that never ran on this store: the seconds leave them out.")
    if made.estimate.spending.most.tokens:
        out.print(_spending(made), soft_wrap=True)


def _answers(experiment: Experiment) -> None:
    """What is measured of the answers of the recommended trial alone."""
    if experiment.controls:
        out.print("The recommended trial then answers three times more: without contexts, with those of others, with the gold.")
    if experiment.answers:
        out.print(f"Its answers alone are measured by {escape(', '.join(experiment.answers))}.")


def _spending(made: Plan) -> str:
    """What models are likely to take, and the most."""
    found = made.estimate.spending
    most = f"{tokens(found.most)} if every reply is as long as it may be and none is there already"
    return f"About {tokens(found.likely)}; {most}{_limits(made)}."


def _limits(made: Plan) -> str:
    """What one run may spend."""
    limits = [(made.ledger.terms.tokens, "{:,.0f} tokens"), (made.ledger.terms.usd, "{:.2f} US dollars")]
    told = " and ".join(text.format(limit) for limit, text in limits if limit is not None)
    return f"; one run stops after {told}" if told else ""


def _dealing(made: Plan) -> str:
    """Where the splits come from, if the golden set names none and not all questions are asked."""
    return next((trial.golden.dealing for trial in made.trials if trial.trial.config["split"] != "all"), "")


def _again(made: Plan) -> str:
    """What follows on the holdout."""
    best = min(made.experiment.holdout, len(made.trials))
    tuned = {str(trial.trial.config["split"]) for trial in made.trials} == {"tune"}
    whole = any(len(trial.golden.dealt) == 1 for trial in made.trials)
    if not best or not tuned or whole or objective_of(made).measured:
        return ""
    return f"Then {'the best is' if best == 1 else f'the best {best} are'} measured again on the holdout."


def plan(made: Plan, shares: Mapping[str, float | None]) -> Table:
    """What would run, by kind of stage; `?` stands for kinds that never ran on this store, and for shares not known."""
    told = made.to_json()["stages"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    cut = _unread(shares)
    for name in ("stage", "distinct", "cached", "to run", "est. s", *(["unread"] if cut else [])):
        table.add_column(name, justify="left" if name == "stage" else "right")
    waiting = set(made.to_run)
    for kind in dict.fromkeys(stage.name for stage in made.stages.values()):
        keys = [key for key, stage in made.stages.items() if stage.name == kind]
        runs = [key for key in keys if key in waiting]
        table.add_row(
            kind,
            str(len(keys)),
            str(len(keys) - len(runs)),
            str(len(runs)),
            _seconds(made, runs),
            cut if kind == "embed" else "",
        )
    counts = (str(told[name]) for name in ("distinct", "cached", "to_run"))
    table.add_row("[bold]all[/bold]", *counts, _seconds(made, made.to_run))
    return table


def _unread(shares: Mapping[str, float | None]) -> str:
    """The least and the greatest share of chunks that embedders do not read; empty where all of them read all."""
    known = sorted(share for share in shares.values() if share is not None)
    told = " – ".join(map(unread_text.percent, dict.fromkeys((known[0], known[-1])))) if known and known[-1] else ""
    return told + (" + ?" if told else "?") * (len(known) < len(shares))


def _seconds(made: Plan, runs: Sequence[str]) -> str:
    known = [made.estimate.by_stage[key] for key in runs if key in made.estimate.by_stage]
    if not runs:
        return ""
    return (f"{sum(known):.1f}" if known else "") + ("" if len(known) == len(runs) else " + ?" if known else "?")
