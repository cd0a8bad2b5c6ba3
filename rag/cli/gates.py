"""Verbs that hold a change against what is committed."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rag.cli.app import app
from rag.cli.options import Experiment, Json, Overrides

Kept = Annotated[Path | None, typer.Option("--baseline", help="The baseline, if not reports/baselines/<experiment>.json.")]

Previous = Annotated[
    Path | None, typer.Option(help="The baseline of the target branch of a pull request: the comment names a replacement.")
]
Bridge = Annotated[list[str] | None, typer.Option(help="What may differ: questions, corpus, metrics, coverage or judge.")]


@app.command()
def baseline(
    experiment: Experiment,
    trial: Annotated[str, typer.Argument(metavar="[trial=ID]", help="The recommended trial unless told.")] = "",
    path: Kept = None,
    as_json: Json = False,
) -> None:
    """Write the scores of a trial, question by question, to a file that is committed and that `rag gate` compares with.

    --json: experiment, path, split, questions and failed (how many), trial (its id) and name.
    """
    from rag.analysis import baseline as baselines
    from rag.analysis import gate
    from rag.config.experiment import load
    from rag.core.errors import ConfigError, DataError
    from rag.reporting.terminal import gate as shown
    from rag.reporting.terminal import print_json, progress

    declared = load(experiment)
    if trial and not trial.startswith("trial="):
        raise ConfigError(trial, "is no trial", "write trial=<id>; a baseline is a trial of a sweep as it was measured")
    ready = gate.to_keep(declared, trial.removeprefix("trial=") or gate.recommended(declared.name))
    with progress.SweepProgress(ready.plan) as bar:
        error = gate.run(ready, bar)
    if error:
        raise DataError(
            f"trial {ready.trial.trial_id}", f"did not run: {gate.last_line(error)}", "mend it, or name another trial"
        )
    kept = baselines.make_baseline(ready.trial, ready.plan, ready.store)
    place = path or baselines.path_of(declared.name)
    baselines.write(kept, place)
    whole = kept.split == "all" and "split" not in declared.gate
    if as_json:
        print_json(shown.baseline_json(kept, place))
    else:
        shown.baseline(kept, place, whole, gate.command(declared, kept))


@app.command(name="gate")
def gate_command(
    experiment: Experiment,
    overrides: Overrides = None,
    path: Kept = None,
    bridge: Bridge = None,
    previous: Previous = None,
    inconclusive: Annotated[str, typer.Option(help="What a gate is that cannot tell: warn (exit 3), fail or pass.")] = "",
    junit: Annotated[Path | None, typer.Option(help="Where to write JUnit XML.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Where to write Markdown.")] = None,
    as_json: Json = False,
) -> None:
    """Say whether a change, or today's conf, is worse than the baseline.

    A change is given as overrides, which may take the place of what the experiment holds fixed or an axis chose. A sample of
    questions is computed where the store has the scores: other scores are an error.
    Exit codes: 0 not worse, 1 worse, 2 wrong input, 3 cannot be told, 4 budget spent, 70 crashed, or no candidate ran.

    With --json, one object, the same bytes for the same change:
    experiment, split, questions (how many), compared (how many), apart (how the others differ), verdict, sentence, exit_code
    baseline, candidate: trial (its id) and name
    changed: key of the config, baseline, candidate
    rows: one per metric and slice, null for what cannot be known. Each has
    - column; slice, empty for all questions; margin; n questions in clusters
    - base, candidate: means; difference, with low and high beside all rows
    - verdict, why; needed: how many questions would settle it; advisory: a judge without a card, which fails nothing
    bounds: text, value, low, high, verdict, why, needed, advisory
    lost: query_id, text, kind, scores (was, is) by column, stage
    losses: how many questions lost by stage; error: why nothing ran; replaced: what became of the previous baseline
    """
    from rag.analysis import gate
    from rag.api.verdicts import gate as hold_gate
    from rag.core.errors import UserError
    from rag.reporting import terminal

    options = (bridge or (), inconclusive, previous)
    try:
        found = hold_gate(experiment, overrides or (), path, *options)
    except UserError as error:
        gate.write_refusal(Path(experiment).stem, error, junit, markdown)
        raise
    if found.messages:
        terminal.err.print(found.messages.rstrip(), markup=False, soft_wrap=True)
    told = found.told
    _show(told, junit, markdown, as_json)
    if told.exit_code:
        raise typer.Exit(told.exit_code)


def _show(told: Any, junit: Path | None, markdown: Path | None, as_json: bool) -> None:
    from rag.analysis import gate
    from rag.core.errors import StoreError
    from rag.execution.sweep import sweep
    from rag.reporting.terminal import gate as shown
    from rag.reporting.terminal import print_json

    try:
        written = gate.write(told, sweep.REPORTS / told.experiment / "gate", junit, markdown)
    except StoreError:
        # What was found is not lost because it cannot be kept.
        shown.gate(told, ())
        raise
    print_json(told.to_json()) if as_json else shown.gate(told, written)
