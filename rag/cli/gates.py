"""Verbs that write a baseline and compare a change with it."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import app, study, verb
from rag.cli.options import Bridge, Experiment, Inconclusive, Json, Lower, Overrides, print_json, print_line

BaselinePath = Annotated[
    Path | None, typer.Option("--baseline", help="The baseline, if not reports/baselines/<experiment>.json.")
]

Previous = Annotated[
    Path | None, typer.Option(help="The baseline of the target branch of a pull request: the comment names a replacement.")
]


@verb(study)
def baseline(
    experiment: Experiment,
    trial: Annotated[str, typer.Argument(metavar="[trial=ID]", help="Default: the recommended trial.")] = "",
    path: BaselinePath = None,
    as_json: Json = False,
) -> None:
    """Write the scores of a trial, question by question, to a file to commit, which `rag gate` compares with.

    --json: experiment, path, split, questions and failed (how many), trial (its id) and name.
    """
    from rag.analysis import baseline as baselines
    from rag.analysis import gate
    from rag.config.experiment import load
    from rag.core.errors import ConfigError, DataError
    from rag.reporting.terminal import gate as report
    from rag.reporting.terminal.progress import SweepProgress

    declared = load(experiment)
    if trial and not trial.startswith("trial="):
        raise ConfigError(trial, "is not a trial", "write trial=<id>; a baseline is a trial of a sweep as it was measured")
    ready = gate.to_keep(declared, trial.removeprefix("trial=") or gate.recommended(declared.name))
    with SweepProgress(ready.plan) as bar:
        error = gate.run(ready, bar)
    if error:
        what = f"did not run: {gate.last_line(error)}"
        raise DataError(f"trial {ready.trial.trial_id}", what, "fix it, or name another trial")
    kept = baselines.make_baseline(ready.trial, ready.plan, ready.store)
    place = path or baselines.path_of(declared.name)
    baselines.write(kept, place)
    whole = kept.split == "all" and "split" not in declared.gate
    if as_json:
        told = {"experiment": kept.experiment, "path": str(place), "split": kept.split, "questions": len(kept.result.questions)}
        failed = {"failed": int(kept.result.scores.failed.sum())}
        print_json(told | failed | {"trial": kept.result.trial_id, "name": kept.result.name})
    else:
        report.baseline(kept, place, whole, gate.command(ready.plan.experiment, kept, [f"--baseline={path}"] if path else ()))


@app.command(name="gate")
def gate_command(
    experiment: Experiment,
    overrides: Overrides = None,
    path: BaselinePath = None,
    bridge: Bridge = None,
    previous: Previous = None,
    inconclusive: Inconclusive = "",
    margin: Annotated[list[str] | None, typer.Option(metavar="METRIC=LOSS", help="Files of scores: what may be lost.")] = None,
    lower: Lower = None,
    junit: Annotated[Path | None, typer.Option(help="The file to write JUnit XML to.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="The file to write Markdown to.")] = None,
    as_json: Json = False,
) -> None:
    """Decide whether a change, or today's conf, is worse than the baseline.

    A change is given as overrides, which may replace fixed values of the experiment or choices of an axis. If the store has
    the scores, a sample of questions is computed again: other scores are an error.
    `rag gate BASE NEW` compares two files of scores of any tool, as `rag compare` reads them.
    Exit codes: 0 not worse, 1 worse, 2 wrong input, 3 undecided, 4 budget spent, 70 crashed, or no candidate ran.

    With --json, one object, the same bytes for the same change:
    experiment, split, questions (how many), compared (how many), apart (how the others differ), verdict, sentence, exit_code
    power: how likely the gate finds a loss; notes: sentences about files of scores
    baseline, candidate: trial (its id) and name
    changed: key of the config, baseline, candidate
    rows: one per metric and slice, null for what cannot be known. Each has
    - column; slice, empty for all questions; margin; n questions in clusters
    - base, candidate: means; difference, with joint low and high
    - verdict, why; loss and power: the share of tries in which it is found
    - needed: how many questions would settle it; advisory: a judge without a card, which fails nothing
    bounds: text, value, low, high, verdict, why, needed, advisory
    lost: query_id, text, kind, scores (was, is) by column, stage
    losses: how many questions lost by stage; error: why nothing ran; replaced: a comparison with the previous baseline
    """
    from rag.analysis import gate
    from rag.analysis.compare import score_files
    from rag.api.verdicts import gate as hold_gate
    from rag.core.errors import UserError
    from rag.execution.sweep import sweep
    from rag.reporting.terminal import gate as report
    from rag.reporting.terminal.output import err

    try:
        found = hold_gate(experiment, overrides or (), path, bridge or (), inconclusive, previous, margin or (), lower or ())
    except UserError as error:
        gate.write_refusal(Path(experiment).stem, error, junit, markdown)
        raise
    if found.messages:
        print_line(found.messages.rstrip(), err)
    verdict, of_files = found.told, score_files.given([experiment, *(overrides or ())])
    try:
        folder = None if of_files else sweep.REPORTS / verdict.experiment / "gate"
        written = gate.write(verdict, folder, junit, markdown)
    except OSError:
        # The verdict is printed although its files cannot be written.
        report.gate(verdict, ())
        raise
    print_json(verdict.to_json()) if as_json else report.gate(verdict, written)
    if verdict.exit_code:
        raise typer.Exit(verdict.exit_code)
