"""The conclusion of a sweep, below its leaderboard: the recommendation, its uncertainty and cost, controls, next commands."""

import shlex
from collections.abc import Collection, Sequence

from rag.core.errors import is_installed
from rag.core.figures import amount, figure, interval, with_interval
from rag.execution.graph.search_graph import PLACE
from rag.execution.sweep.ablations import RETRIEVED, ControlResult
from rag.execution.sweep.holdout import Conclusion
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.selection import Standing, Winner
from rag.execution.sweep.sweep import Sweep
from rag.pipeline.search import unread_text
from rag.reporting.number_format import costs
from rag.reporting.terminal.leaderboards import SHOWN, counted, failures, leaderboard
from rag.reporting.terminal.output import ask_command, dimmed, err, escape, next_commands, out, print_table

LEGEND = "  > {}  = not shown worse  * front"
CONTEXTS = {RETRIEVED: "its contexts", "closed_book": "none", "shuffled_contexts": "others'", "gold_contexts": "gold"}
"""The contexts that the generator reads in a control, by name of the control."""
UNREAD = 0.01
"""The share of unread text from which the terminal speaks of it; the report always does."""


def swept(done: Sweep, concluded: Conclusion) -> None:
    """Print a leaderboard and the recommendation."""
    marks = _marks(concluded.winner) if concluded.winner and len(done.board.rows) > 1 else None
    out.print(done.board.question, markup=False)
    out.print(leaderboard(done.board, marks=marks))
    legend = LEGEND.format(concluded.winner.lead.lower()) if concluded.winner and marks else ""
    more = len(done.board.rows) - SHOWN
    out.print(f"[dim]Brackets: 95 %{legend}{f'  {more} more: rag report' if more > 0 else ''}[/dim]\n")
    if concluded.winner:
        _recommended(done, concluded, concluded.winner)
    for note in concluded.notes:
        out.print(escape(note))
    share = unread_text.share(_row(done, concluded.winner).measured) if concluded.winner else None
    if concluded.unread and (not concluded.winner or (share or 0.0) >= UNREAD):
        out.print(escape(concluded.unread))
    if concluded.effects:
        out.print(f"Effects: {escape(concluded.effects.sentence)}.")
    for sentence in concluded.wins.sentences if concluded.wins else ():
        out.print(escape(sentence), soft_wrap=True)
    if concluded.controls.results:
        controls(concluded.controls.results, done.plan.experiment.answers)
    if concluded.controls.interrupted:
        out.print("Interrupted while its controls ran: the same command continues where it stopped.")
    counted(done)


def _marks(winner: Winner) -> dict[str, str]:
    front = set(winner.front)

    def mark(standing: Standing) -> str:
        tied = ">" if standing.trial_id == winner.recommended else "=" if standing.tied else " "
        share = figure(standing.p_best, 2) if standing.tied and standing.p_best is not None else ""
        return f"{tied}{'*' if standing.trial_id in front else ' '} {share}".rstrip()

    return {standing.trial_id: mark(standing) for standing in winner.standings}


def _recommended(done: Sweep, concluded: Conclusion, winner: Winner) -> None:
    taken = winner.of(winner.recommended)
    objective = done.board.objective
    if winner.contradiction:
        out.print(escape(winner.contradiction))
    out.print(f"[bold]{winner.lead}: {escape(taken.name)}[/bold] ({taken.trial_id})")
    out.print(f"{escape(winner.why)}")
    if expectation := winner.expectation("objective" if objective.summed else objective.column):
        out.print(escape(expectation))
    again = concluded.again
    if again and taken.holdout:
        held, uses = amount(len(again.plan.trials[0].golden.examples), "question"), amount(again.uses, "use")
        out.print(f"On the holdout ({held}, {uses} so far): {with_interval(taken.holdout)}.", markup=False)
    if spent := costs(_row(done, winner), len(done.plan.trials[0].golden.examples)):
        out.print(f"It takes {', '.join(spent)}.")


def controls(results: Sequence[ControlResult], answers: Collection[str] = ()) -> None:
    """Print the mean of each metric of answers with its interval, and its means with other contexts.

    Of many metrics only `answers` are printed, where these are declared.
    """
    own = [row for row in results if row.name == RETRIEVED and not row.error and (not answers or row.column in answers)]
    others = list(dict.fromkeys(row.name for row in results if row.name != RETRIEVED))
    cells = {(row.column, row.name): "failed" if row.error else figure(row.mean) for row in results}
    rows = (
        (
            row.column,
            f"{row.n:,}",
            dimmed(interval(row.mean, row.mean_low, row.mean_high)),
            *(cells[row.column, name] for name in others),
        )
        for row in own
    )
    print_table(("its answers", "n", CONTEXTS[RETRIEVED], *(CONTEXTS.get(name, name) for name in others)), rows)


def failed(done: Sweep, concluded: Conclusion) -> None:
    """Print what failed in a sweep, in controls and on the holdout, with the causes; it is said last."""
    failed_controls(concluded.controls.results)
    for name, error in (concluded.again.errors() if concluded.again else {}).items():
        err.print(f"[red]{escape(name)} on the holdout[/red]\n{escape(error.rstrip())}", soft_wrap=True)
    failures(done)


def failed_controls(results: Sequence[ControlResult]) -> None:
    """Print why controls failed, each cause once."""
    for failure in dict.fromkeys(f"with {CONTEXTS.get(row.name, row.name)}: {row.error}" for row in results if row.error):
        err.print(f"[red]failed[/red] {escape(failure)}", soft_wrap=True)


def _row(done: Sweep, winner: Winner) -> Row:
    return next(row for row in done.board.rows if row.trial_id == winner.recommended)


def next_steps(done: Sweep, winner: Winner | None, called: str) -> None:
    """Print commands that can be typed as they are.

    `called` is the experiment with its overrides, as typed in a shell; empty for `rag study run`.
    """
    if winner is None:
        return
    trial = f"trial={winner.recommended}"
    verbs = [f"rag study compare {winner.rival} {winner.recommended}"] if winner.rival else []
    if called:
        experiment, *overrides = shlex.split(called)
        # The trial holds the overrides of this sweep.
        verbs += [f"rag study baseline {shlex.quote(experiment)}{f' {trial}' if overrides else ''}", f"rag report {called}"]
    examples = [example for planned in done.plan.trials for example in planned.golden.examples]
    verbs += [f"rag study dialogues {trial}"] if any(example.turn for example in examples) else []
    question = next((example.query.text for example in examples if example.has_gold and not example.query.history), "")
    elsewhere = done.plan.stages[next(each for each in done.plan.trials if each.trial_id == winner.recommended).ends.corpus]
    verbs += [ask_command(question, winner.recommended)] if question and elsewhere.name != PLACE else []
    next_commands([*verbs, *(["rag study ui"] if is_installed("mlflow") else [])])
