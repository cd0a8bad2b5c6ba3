"""The plan of a sweep: stages to run and to reuse, expected seconds and spending."""

from collections.abc import Mapping, Sequence

from rag.config.search_space import stand_in_remarks
from rag.execution.graph.language_gaps import language_gaps
from rag.execution.graph.plan import Plan
from rag.execution.sweep.leaderboard import objective_of
from rag.pipeline.search import unread_text
from rag.reporting.terminal.output import Table, escape, out, table, tokens


def planned(made: Plan, shares: Mapping[str, float | None], margin: str = "") -> None:
    """Print what a sweep would run, reuse and take.

    `shares` of the chunks exceed an embedder's window, by trial id; None where that is not known. `margin` is a sentence.
    """
    counts = made.to_json()
    stages = counts["stages"]
    out.print(counts["question"], markup=False)
    out.print(plan(made, shares))
    out.print(f"{counts['trials']} trials; {stages['total']} stages one by one, {stages['distinct']} distinct.")
    # How questions were dealt to splits, if the golden set names no splits and only a part is asked.
    dealing = next((trial.golden.dealing for trial in made.trials if trial.trial.config["split"] != "all"), "")
    for remark in filter(None, (made.trials[0].golden.sampled, _holdout(made), dealing, margin)):
        out.print(escape(remark))
    for remark in (
        *map(str, made.graph.components.servers.values()),
        *language_gaps(made),
        *stand_in_remarks(planned.trial for planned in made.trials),
    ):
        out.print(escape(remark), soft_wrap=True)
    if cut := unread_text.remark({trial.trial.name: shares.get(trial.trial_id) for trial in made.trials}):
        out.print(escape(cut), soft_wrap=True)
    generates = any(trial.ends.generate for trial in made.trials)
    if generates and made.experiment.controls:
        out.print("The recommended trial then answers three times more: without contexts, with those of others, with the gold.")
    if generates and made.experiment.answers:
        out.print(f"Its answers alone are measured by {escape(', '.join(made.experiment.answers))}.")
    if counts["unmeasured"]:
        out.print(f"{counts['unmeasured']} stages are of a kind that never ran on this store: the seconds leave them out.")
    if made.estimate.spending.most.tokens:
        out.print(_spending(made), soft_wrap=True)


def _spending(made: Plan) -> str:
    """Likely and greatest spending on models, and the limits of one run."""
    expected = made.estimate.spending
    limits = [(made.ledger.terms.tokens, "{:,.0f} tokens"), (made.ledger.terms.usd, "{:.2f} US dollars")]
    limited = " and ".join(text.format(limit) for limit, text in limits if limit is not None)
    most = f"{tokens(expected.most)} if every reply is as long as it may be and none is there already"
    return f"About {tokens(expected.likely)}; {most}{f'; one run stops after {limited}' if limited else ''}."


def _holdout(made: Plan) -> str:
    """A sentence on the measurement on the holdout that follows; empty if none does."""
    best = min(made.experiment.holdout, len(made.trials))
    tuned = {str(trial.trial.config["split"]) for trial in made.trials} == {"tune"}
    whole = any(len(trial.golden.dealt) == 1 for trial in made.trials)
    if not best or not tuned or whole or objective_of(made).measured:
        return ""
    return f"Then {'the best is' if best == 1 else f'the best {best} are'} measured again on the holdout."


def plan(made: Plan, shares: Mapping[str, float | None]) -> Table:
    """Counts and seconds by kind of stage; `?` stands for kinds that never ran on this store, and for unknown shares."""
    cut = _unread(shares)
    shown = table("stage", "distinct", "cached", "to run", "est. s", *(["unread"] if cut else []))
    waiting = set(made.to_run)
    for kind in dict.fromkeys(stage.name for stage in made.stages.values()):
        keys = [key for key, stage in made.stages.items() if stage.name == kind]
        runs = [key for key in keys if key in waiting]
        counts = map(str, (len(keys), len(keys) - len(runs), len(runs)))
        shown.add_row(kind, *counts, _seconds(made, runs), *([cut if kind == "embed" else ""] if cut else []))
    counts = map(str, (len(made.stages), len(made.stages) - len(waiting), len(waiting)))
    shown.add_row("[bold]all[/bold]", *counts, _seconds(made, made.to_run))
    return shown


def _unread(shares: Mapping[str, float | None]) -> str:
    """The smallest and greatest share of chunks that embedders do not read; empty if all read everything."""
    known = sorted(share for share in shares.values() if share is not None)
    ends = " – ".join(map(unread_text.percent, dict.fromkeys((known[0], known[-1])))) if known and known[-1] else ""
    return ends + (" + ?" if ends else "?") * (len(known) < len(shares))


def _seconds(made: Plan, runs: Sequence[str]) -> str:
    known = [made.estimate.by_stage[key] for key in runs if key in made.estimate.by_stage]
    if not runs:
        return ""
    return (f"{sum(known):.1f}" if known else "") + ("" if len(known) == len(runs) else " + ?" if known else "?")
