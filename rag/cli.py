"""The table of contents: every verb of `rag`. Heavy imports stay inside the verbs, so that help is instant."""

import os
import sys
from typing import Annotated, Any

import typer

from rag.errors import UserError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help=__doc__.split(":")[0] + ".")
datasets = typer.Typer(no_args_is_help=True, help="Golden sets: check one before trusting what it says.")
stores = typer.Typer(no_args_is_help=True, help="The store: what is in it, whether it is sound, what can go.")
app.add_typer(datasets, name="dataset")
app.add_typer(stores, name="store")

Overrides = Annotated[
    list[str] | None, typer.Argument(help="Hydra overrides, for example chunker=sentence k=10", metavar="KEY=VALUE …")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output, nothing else there.")]
Track = Annotated[bool, typer.Option(help="Send the trials to MLflow.")]
INTERRUPTED, FAILED, BAD_INPUT = 130, 1, 2


def main() -> None:
    """Run the command line; what a user can fix ends with exit code 2 and without a traceback."""
    try:
        app(standalone_mode=False)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(BAD_INPUT)
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(INTERRUPTED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does; writing the rest would only complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        usage = getattr(error, "show", None)
        if usage is None:
            raise
        usage()
        sys.exit(BAD_INPUT)


@app.command()
def plan(experiment: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Show what a sweep would run and reuse, and what it would take. Nothing is computed."""
    from rag import plan as plans
    from rag import sweep, terminal
    from rag.experiment import load

    declared = load(experiment, overrides or ())
    store, _ = sweep.store_of(declared)
    made = plans.make(declared, store)
    if as_json:
        terminal.print_json(made.to_json())
        return
    terminal.out.print(terminal.plan(made))
    told = made.to_json()
    terminal.out.print(
        f"{told['trials']} trials; {told['stages']['total']} stages one by one, {told['stages']['distinct']} distinct."
    )
    if told["unmeasured"]:
        terminal.out.print(
            f"{told['unmeasured']} stages are of a kind that never ran on this store: the seconds leave them out."
        )


@app.command(name="sweep")
def sweep_command(experiment: str, overrides: Overrides = None, as_json: Json = False, track: Track = True) -> None:
    """Run an experiment: every distinct stage once, what was computed before reused. Ctrl-C and run again goes on."""
    from rag.experiment import load

    _sweep(load(experiment, overrides or ()), as_json, track)


@app.command()
def run(
    overrides: Overrides = None,
    multirun: Annotated[bool, typer.Option("-m", "--multirun", help="Every override with several values is an axis.")] = False,
    as_json: Json = False,
    track: Track = True,
) -> None:
    """Run one trial; with -m, one for every combination of values."""
    from rag.errors import ConfigError
    from rag.experiment import ad_hoc

    declared = ad_hoc(overrides or ())
    if declared.axes and not multirun:
        raise ConfigError(" ".join(overrides or ()), "names several values", "add -m to run one trial for each")
    _sweep(declared, as_json, track)


def _sweep(declared: Any, as_json: bool, track: bool) -> None:
    from rag import plan as plans
    from rag import sweep, terminal

    store, settings = sweep.store_of(declared)
    store.clear_orphans()
    made = plans.make(declared, store)
    with terminal.SweepProgress(made) as progress:
        done = sweep.run(made, store, settings, progress)
    folder = sweep.write(done)
    if as_json:
        terminal.print_json(done.to_json())
    else:
        terminal.out.print(terminal.leaderboard(done.board))
        terminal.closing(done, folder)
    if done.interrupted:
        # Workers and models are let go of by the end of the process: nothing is owed to them.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    if track:
        from rag import tracking

        tracking.track(sweep.record(done, store), tracking.prepare(None, sweep.TRACKING))
    if any(row.status == "failed" for row in done.board.rows):
        raise typer.Exit(FAILED)
