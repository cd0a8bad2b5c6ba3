"""The content of a report, from the store and the files of a sweep. Missing parts get a reason."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag.config.validation import control_of
from rag.core.errors import DataError, UserError
from rag.execution.graph.plan import Plan, PlannedTrial, ends_of
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, leaderboard
from rag.execution.sweep.leaderboard import Leaderboard, Row
from rag.execution.sweep.reopen import leaderboard_rows
from rag.execution.sweep.selection import Mean, Standing, Winner
from rag.execution.sweep.sweep import REPORTS
from rag.execution.sweep.trial_scores import scores_of, seconds_of
from rag.reporting.html import explorer_data, findings
from rag.reporting.html.findings import Scored
from rag.reporting.html.view_model import UNKNOWN, Data, Material, Reuse, TrialRow
from rag.reporting.html.what_if import what_if
from rag.tracking import sweep_runs

MOST_OPENED = 300
"""Trials that are opened question by question, the most important ones: thousands would take gigabytes."""


def gather(made: Plan, store: Store, folder: Path = REPORTS) -> Material:
    """The content of the report of an experiment whose sweep is in the store; DataError if no trial has scores.

    `folder` holds the files of sweeps: the verdict, and which of the trials without scores failed.
    """
    board = leaderboard.build_leaderboard(made, {}, store)
    name = made.experiment.name
    if not any(row.status == "done" for row in board.rows):
        what = f"none of its {len(board.rows)} trials has scores in the store"
        raise DataError(f"experiment {name}", what, f"rag sweep {made.experiment.called}")
    missing: dict[str, str] = {}
    written = _concluded(made, store, board, folder / name / "verdict.json")
    winner = _winner(written, made.experiment.called, missing)
    rows = _rows(board, made, winner, leaderboard_rows(folder / name / "leaderboard.json"))
    scored = _scored(made, store, board, winner)
    found = findings.collect_findings(scored, written)
    settings = _what_if(scored, missing)
    apart = {"were asked other questions": scored.elsewhere, f"are behind the first {MOST_OPENED}": scored.behind}
    if said := [f"{count:,} trials {why}" for why, count in apart.items() if count]:
        found.missing.update(elsewhere=f"{', '.join(said)}: only the leaderboard has them.")
    return Material(
        experiment=name,
        question=made.experiment.question,
        objective=board.objective.text,
        column="objective" if board.objective.summed else board.objective.column,
        maximize=board.objective.sign > 0,
        digits=1 if board.objective.measured else 3,
        per_question=scored.column if board.objective.measured else "",
        columns=board.columns,
        data=_data(scored.trials[0]),
        reuse=_reuse(made, store),
        trials=rows,
        verdict=winner,
        held=int(written.get("holdout_questions") or 0),
        **found.parts,
        latency=_latency(made, store),
        explorer=explorer_data.explorer(scored, found.lost),
        what_if=settings,
        missing=missing | found.missing,
        wins=tuple(map(str, (written.get("wins") or {}).get("sentences", ()))),
    )


def _concluded(made: Plan, store: Store, board: Leaderboard, path: Path) -> Mapping[str, Any]:
    """The conclusion on file; if that is about other trials or scores, a new one from the store."""
    with suppress(OSError, ValueError):
        written = json.loads(path.read_text("utf-8"))
        if isinstance(written, dict) and _is_of(written, board):
            return written
    try:
        return holdout.reach(sweep_runs.recall(made, store), store, {}, None).to_json()
    except UserError as error:
        return {"notes": [f"Nothing could be concluded: {error.where}: {error.what}."]}


def _is_of(written: Mapping[str, Any], board: Leaderboard) -> bool:
    """True if a conclusion on file is about these trials with these scores."""
    if "expected" not in (written.get("winner") or {}):
        return False
    known = {standing["trial_id"]: standing["tune"] for standing in written["winner"]["standings"]}
    if known.keys() != {row.trial_id for row in board.rows}:
        return False
    reached = {row.trial_id: row.reached(board.objective).get("mean") for row in board.rows if row.status == "done"}
    pairs = [(known[trial_id]["mean"], mean) for trial_id, mean in reached.items()]
    return all(one == other or (one is not None and other is not None and math.isclose(one, other)) for one, other in pairs)


def _winner(written: Mapping[str, Any], name: str, missing: dict[str, str]) -> Winner | None:
    winner, notes = written.get("winner"), " ".join(map(str, written.get("notes") or ()))
    if not winner:
        missing["verdict"] = notes or f"No verdict was reached: rag sweep {name} gives one."
    elif notes:
        missing["holdout"] = notes
    return Winner.from_json(winner) if winner else None


def _rows(board: Leaderboard, made: Plan, winner: Winner | None, written: list[dict[str, str]]) -> tuple[TrialRow, ...]:
    standings = {standing.trial_id: standing for standing in winner.standings} if winner else {}
    planned = {trial.trial_id: trial for trial in made.trials}
    failed = {row["trial"] for row in written if row["status"] == "failed"}

    def trial_row(row: Row) -> TrialRow:
        lost = row.status == "not run" and row.trial_id in failed
        place = standings.get(row.trial_id, Standing(row.trial_id, row.name, UNKNOWN, admitted=False))
        return TrialRow(
            **vars(row) | ({"status": "failed", "error": "rag sweep says why, and tries again"} if lost else {}),
            **{name: getattr(place, name) for name in ("holdout", "tied", "p_best")},
            score=Mean.from_json(row.reached(board.objective)),
            front=winner is not None and row.trial_id in winner.front,
            control=control_of(planned[row.trial_id].trial.config),
        )

    return tuple(map(trial_row, board.rows))


def _scored(made: Plan, store: Store, board: Leaderboard, winner: Winner | None) -> Scored:
    """Trials with scores on the questions of the first of them, the most important first."""
    planned = {trial.trial_id: trial for trial in made.trials}
    done = [planned[row.trial_id] for row in board.rows if row.status == "done"]
    reading = [trial for trial in done if control_of(trial.trial.config) == "none"] or done
    wanted = [winner.recommended, winner.best, *winner.tied] if winner else []
    order = {trial_id: place for place, trial_id in reversed(list(enumerate(wanted)))}
    reading.sort(key=lambda trial: order.get(trial.trial_id, len(order) + len(wanted)))
    same = [trial for trial in reading if trial.golden.asked_digest == reading[0].golden.asked_digest]
    kept = [(trial, scores) for trial in same[:MOST_OPENED] if (scores := scores_of(trial, made, store))]
    if not kept:
        where = f"trial {same[0].trial_id}"
        raise DataError(where, "had scores in the store that could not be read", "run its sweep again: what is there is reused")
    scored, results = zip(*kept, strict=True)
    elsewhere, behind = len(reading) - len(same), len(same[MOST_OPENED:])
    return Scored(made, store, board.objective, scored, results, elsewhere, behind)


def _what_if(scored: Scored, missing: dict[str, str]) -> Mapping[str, Any]:
    try:
        return what_if(scored)
    except UserError as error:
        missing["what_if"] = f"{error.where} {error.what}."
        return {}


def _data(trial: PlannedTrial) -> Data:
    config, golden = trial.trial.config, trial.golden
    clusters = {example.cluster or example.query.query_id for example in golden.examples}
    return Data(
        Path(str(config["dataset"].get("path", "questions"))).name,
        len(golden.documents),
        sum(len(document.text) for document in golden.documents),
        len(golden.examples),
        sum(bool(example.ranked) for example in golden.examples),
        len(clusters),
        str(config["split"]) + (f"; {golden.sampled.rstrip('.')}" if golden.sampled else ""),
        golden.golden_digest[:12],
    )


def _reuse(made: Plan, store: Store) -> Reuse:
    needed = (key for trial in made.trials for key in made.graph.ancestors(*ends_of(trial)))
    alone = Counter(made.stages[key].name for key in needed)
    names = [stage.name for stage in made.stages.values()]
    costs = ((store.read_meta(stage.entry) or {}).get("cost", {}) for stage in made.stages.values())
    spent = sum(float(cost.get("seconds", 0.0)) for cost in costs)
    kinds = tuple((name, names.count(name), count) for name, count in alone.items())
    return Reuse(len(made.trials), alone.total(), len(names), spent, kinds)


def _latency(made: Plan, store: Store) -> dict[str, tuple[float, ...]]:
    timed = {trial.trial_id: seconds_of(trial, made, store) for trial in made.trials}
    return {trial_id: tuple((1000 * seconds).tolist()) for trial_id, seconds in timed.items() if seconds is not None}
