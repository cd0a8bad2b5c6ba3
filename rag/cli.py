"""The table of contents: every verb of `rag`. Heavy imports stay inside the verbs, so that help is instant."""

import os
import sys
from typing import Annotated, Any

import typer

from rag.errors import UserError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Assay: declared experiments for retrieval-augmented generation, every stage run once.",
)
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
    told = made.to_json()
    terminal.out.print(told["question"])
    terminal.out.print(terminal.plan(made))
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
        terminal.out.print(done.board.question)
        terminal.out.print(terminal.leaderboard(done.board))
        terminal.closing(done, folder)
    if done.interrupted:
        # Workers and models are let go of by the end of the process: nothing is owed to them.
        sys.stdout.flush()
        os._exit(INTERRUPTED)
    if track:
        from rag import runs

        runs.send(done, store)
    if any(row.status == "failed" for row in done.board.rows):
        raise typer.Exit(FAILED)


@app.command()
def search(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Find passages for a question with any config, or with trial=<id> of a sweep, and show where each came from."""
    from rag import terminal
    from rag.answering import config_of, open_config, provenance
    from rag.records import Query

    pipeline = open_config(config_of(overrides or ()))
    found = provenance(pipeline, pipeline.trace(Query("ask", _asked(question))))
    if as_json:
        terminal.print_json({"question": question, "passages": found})
    elif found:
        terminal.passages(found)
    else:
        terminal.out.print("No passage was found.")


@app.command()
def ask(question: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Answer a question with any config, or with trial=<id> of a sweep, and show the passages it was answered from."""
    from rag import terminal
    from rag.answering import answered, config_of, open_config
    from rag.records import Query

    pipeline = open_config(config_of(overrides or ()))
    told = answered(pipeline, Query("ask", _asked(question)), None if as_json else terminal.stream)
    if as_json:
        terminal.print_json(told)
        return
    if not told["answer"]:
        terminal.out.print("No answer: nothing in the passages speaks to the question.")
    terminal.out.print()
    terminal.passages(told["passages"])


def _asked(question: str) -> str:
    from rag.errors import UserError

    if not question.strip():
        raise UserError("question", "is empty", 'for example: rag ask "How many days of leave do I get?"')
    return question


@app.command()
def track(experiment: str, overrides: Overrides = None) -> None:
    """Send the finished trials of a sweep to MLflow, if that did not work when it ran."""
    from rag import plan as plans
    from rag import runs, sweep, terminal
    from rag.experiment import load

    declared = load(experiment, overrides or ())
    store, _ = sweep.store_of(declared)
    done = runs.recall(plans.make(declared, store), store)
    runs.send(done, store)
    terminal.out.print(f"{sum(row.status == 'done' for row in done.board.rows)} trials are in MLflow.")


@app.command()
def ui(port: int = 5000) -> None:
    """Look at the trials in MLflow, on 127.0.0.1."""
    from rag import runs

    # The server takes this process's place, so that Ctrl-C and a service manager reach it.
    os.execv(sys.executable, [sys.executable, *runs.server_command(port)])  # noqa: S606


@datasets.command()
def check(name: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Validate a golden set; print its counts, its weak spots, and the smallest difference that it can show."""
    from rag import golden, terminal
    from rag.answering import config_of
    from rag.build import Components
    from rag.compose import plugins
    from rag.dataset_check import check_dataset

    config = config_of([f"dataset={name}", *(overrides or ())])
    components = Components(plugins())
    loaded = golden.load(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))
    found = check_dataset(loaded)
    terminal.print_json(found.to_json()) if as_json else terminal.dataset(name, found)


@stores.command()
def stats(store: Annotated[str, typer.Option(help="Folder or fsspec URL.")] = ".rag/store", as_json: Json = False) -> None:
    """Count what is in the store."""
    from rag import terminal, upkeep
    from rag.store import Store

    found = upkeep.stats(Store(store))
    terminal.print_json(found) if as_json else terminal.spaces(found)


@stores.command()
def verify(store: Annotated[str, typer.Option(help="Folder or fsspec URL.")] = ".rag/store", as_json: Json = False) -> None:
    """Read every entry; remove those that are damaged, so that they are computed again."""
    from rag import terminal, upkeep
    from rag.store import Store

    found = upkeep.verify(Store(store))
    if as_json:
        terminal.print_json(found)
    else:
        terminal.out.print(f"{found['entries']} entries read, {len(found['damaged'])} damaged and removed.")


@stores.command()
def gc(
    store: Annotated[str, typer.Option(help="Folder or fsspec URL.")] = ".rag/store",
    days: Annotated[float, typer.Option(help="Remove stage results that are older than this.")] = 30.0,
    as_json: Json = False,
) -> None:
    """Remove old stage results and what killed processes left; vectors, scores by pair and replies stay."""
    from rag import terminal, upkeep
    from rag.store import Store

    found = upkeep.collect(Store(store), days)
    if as_json:
        terminal.print_json(found)
    else:
        terminal.out.print(f"{found['removed']} entries and {found['orphans']} left-overs removed, {found['bytes']:,} bytes.")
