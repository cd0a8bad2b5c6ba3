"""What a sweep says to do, under its leaderboard: the recommendation first, how sure it is, what it costs, what next."""

import math
import shlex
from pathlib import Path

from rag.execution.sweep.holdout import Conclusion
from rag.execution.sweep.leaderboard import Row
from rag.execution.sweep.selection import Mean, Standing, Winner
from rag.execution.sweep.sweep import Sweep
from rag.reporting.terminal.ablations import controls
from rag.reporting.terminal.leaderboards import counted, leaderboard
from rag.reporting.terminal.next_commands import following
from rag.reporting.terminal.output import err, escape, number, out

LEGEND = "> recommended   = not shown to be worse than the best   * on the front of quality, latency, cost and size"


def swept(done: Sweep, told: Conclusion, folder: Path, called: str = "") -> None:
    """A leaderboard and what follows from it; `called` is what names the experiment on a command line, if it is declared."""
    marks = _marks(told.winner) if told.winner and len(done.board.rows) > 1 else None
    out.print(done.board.question, markup=False)
    out.print(leaderboard(done.board, marks=marks))
    out.print(f"[dim]Brackets: 95 % intervals of each mean by itself.{'   ' + LEGEND if marks else ''}[/dim]\n")
    if told.winner:
        _recommended(done, told, told.winner)
    for note in told.notes:
        out.print(escape(note))
    if told.unread:
        out.print(escape(told.unread))
    if told.effects:
        out.print(f"Effects: {escape(told.effects.sentence)}.")
    if told.controls.results:
        out.print("Its answers, and what they owe to the contexts:")
        controls(told.controls.results)
    if told.controls.interrupted:
        out.print("Stopped while its controls ran: the same command goes on where it was.")
    counted(done)
    for name, error in (told.again.errors() if told.again else {}).items():
        err.print(f"[red]{escape(name)} on the holdout[/red]\n{escape(error.rstrip())}", soft_wrap=True)
    _next(done, told.winner, folder, called)


def _marks(winner: Winner) -> dict[str, str]:
    front = set(winner.front)

    def mark(standing: Standing) -> str:
        tied = ">" if standing.trial_id == winner.recommended else "=" if standing.tied else " "
        share = number(standing.p_best, 2) if standing.tied and standing.p_best is not None else ""
        return f"{tied}{'*' if standing.trial_id in front else ' '} {share}".rstrip()

    return {standing.trial_id: mark(standing) for standing in winner.standings}


def _recommended(done: Sweep, told: Conclusion, winner: Winner) -> None:
    taken = winner.of(winner.recommended)
    objective = done.board.objective
    lead = "First by its mean" if winner.untested and not objective.measured else "Recommended"
    out.print(f"[bold]{lead}: {escape(taken.name)}[/bold] ({taken.trial_id})")
    out.print(f"{escape(winner.why)}")
    if told.again and taken.holdout and taken.optimism:
        held, tuned = (len(plan.trials[0].golden.examples) for plan in (told.again.plan, done.plan))
        again = f"{_shown(taken.holdout)} on the holdout ({held} questions), {_shown(taken.tune)} on tune ({tuned} questions)"
        what = "objective" if objective.summed else objective.column
        out.print(f"{escape(what)} {again}: optimism {_shown(taken.optimism, True)}.")
    if winner.difference:
        best = escape(winner.of(winner.best).name)
        out.print(f"On the holdout it is {_shown(winner.difference, True)} against {best}, the best by mean on tune.")
    if told.again and told.again.looks:
        out.print(f"Looks at this holdout so far: {told.again.looks}.")
    if costs := _costs(next(row for row in done.board.rows if row.trial_id == taken.trial_id)):
        out.print(f"It takes {costs}.")


def _costs(row: Row) -> str:
    found = row.measured
    told = [
        f"{number(found.get('latency_p95_ms'), 1)} ms for a question (p95)" if "latency_p95_ms" in found else "",
        f"{found['index_bytes'] / 1e6:,.2f} MB of indexes" if found.get("index_bytes") else "",
        f"{found['cost_usd']:.4f} US dollars for these questions" if found.get("cost_usd") else "",
    ]
    return ", ".join(filter(None, told))


def _shown(found: Mean, signed: bool = False) -> str:
    low, high = number(found.low), number(found.high)
    sign = "+" if signed and found.mean > 0 else ""
    return f"{sign}{number(found.mean)}" + ("" if math.isnan(found.low) else f" \\[{low}, {high}]")


def _next(done: Sweep, winner: Winner | None, folder: Path, called: str) -> None:
    """Commands that run as they are printed, and the file that holds every figure."""
    if winner is None:
        return
    trial = f"trial={winner.recommended}"
    rivals = [found for found in winner.standings if found.trial_id != winner.recommended and found.admitted]
    rival = winner.best if winner.best != winner.recommended else rivals[0].trial_id if rivals else ""
    verbs = [f"rag compare {rival} {winner.recommended}"] if rival else []
    if called:
        experiment, *overrides = shlex.split(called)
        # The gate's baseline knows the experiment, and not the overrides of one sweep: the trial has them.
        verbs += [f"rag baseline {shlex.quote(experiment)}{f' {trial}' if overrides else ''}", f"rag report {called}"]
    examples = [example for planned in done.plan.trials for example in planned.golden.examples]
    verbs += [f"rag dialogues {trial}"] if any(example.turn for example in examples) else []
    asked = next((example.query.text for example in examples if example.has_gold and not example.query.history), "")
    verbs += [f"rag ask {shlex.quote(' '.join(asked.split()).lstrip('-'))} {trial}"] if asked else []
    following([*verbs, "rag ui"])
    out.print(f"[dim]Every figure: {escape(str(folder))}/leaderboard.json[/dim]", soft_wrap=True)
