"""Verbs that study one aspect of trials: what attacks did, dialogues turn by turn, searches one by one."""

import typer

from rag.cli.app import study as studies
from rag.cli.app import verb
from rag.cli.options import Json, Overrides, prepared, print_json


@verb(studies)
def attacks(experiment: str = typer.Argument("injection"), overrides: Overrides = None, as_json: Json = False) -> None:
    """Show how often the model followed orders in documents in a finished sweep, guard by guard, and the cost of guards.

    Nothing runs: rag sweep EXPERIMENT measures it.

    With --json, one object, null for unknown values:

    experiment; goals: at most a tenth of the undefended success, no link
    arms: name, trial, guards and
    - success: by part (all, split=…, kind=…, wording=…): hits, n, rate, and low and high of Wilson's 95 % interval
    - quarantined, declined: the same of attacked and of benign questions
    - token_recall: the mean of attacked and of benign questions
    differences: arm minus base in column over n questions: mean, low, high and p_adjusted for all of the column
    """
    from rag.analysis.attacks import measure_attacks
    from rag.reporting.terminal import studies

    ready = prepared(experiment, overrides)
    measured = measure_attacks(ready.plan, ready.store)
    print_json(measured.to_json()) if as_json else studies.show(studies.attacks(measured))


@verb(studies)
def dialogues(overrides: Overrides = None, as_json: Json = False) -> None:
    """Show scores turn by turn, of any config over dialogues, of trial=<id> of a sweep, or of two of them.

    A carry-over error is a follow-up whose evidence a search for a person's rewrite finds within the first k, and the search
    of the trial does not. Stages that are not in the store are run.

    With --json, trials: for each, null for unknown values,

    trial, name, history (gold or live), k
    turns: by turn, and 0 for all of them
    - turn, questions; scores: mean, low, high and n by column
    - found: share of questions with evidence that have all of it within k
    - followups with evidence and a rewrite; lost: carry-over errors
    - declined: share of answers that decline
    - prompt_tokens counted in a request, tokens that models reported
    lost: question (id), text, rewrite, and sought: the search texts of the trial
    reused, null without a retrieval memory: saved and half searches of questions; passages used again, and stale of them, which
    a fresh search has not among its first k; lost and won of the questions with evidence
    """
    from rag.analysis.dialogues import study_dialogues
    from rag.analysis.why import prepare
    from rag.cli.questions import run_missing
    from rag.reporting.terminal import studies
    from rag.reporting.terminal.progress import SweepProgress

    trials = prepare(overrides or ())
    run_missing(trials)
    measured = [study_dialogues(trial, SweepProgress) for trial in trials]
    if as_json:
        print_json({"trials": [each.to_json() for each in measured]})
        return
    for each in measured:
        studies.show(studies.dialogues(each))


@verb(studies)
def hops(experiment: str = typer.Argument("loops"), overrides: Overrides = None, as_json: Json = False) -> None:
    """Show what each search of a policy added to the evidence in a finished sweep, and what was wasted.

    Nothing runs: rag sweep EXPERIMENT measures it. A hop is a search; it found its first k passages.

    With --json, trials: for each with a policy, null for unknown values,

    trial, name, questions with evidence
    hops: number; questions that made it, and for which it gained evidence
    - recall of the evidence so far, full: share of questions with all of it
    hops_made, needed (until the last gain): means; wasted: share of hops
    several: questions with several pieces of evidence; complete: their recall
    calls, tokens, seconds of all steps, per question
    """
    from rag.analysis.hops import measure_hops
    from rag.reporting.terminal import studies

    ready = prepared(experiment, overrides)
    measured = measure_hops(ready.plan, ready.store)
    report = studies.hops(experiment, measured)
    print_json({"trials": [each.to_json() for each in measured]}) if as_json else studies.show(report)
