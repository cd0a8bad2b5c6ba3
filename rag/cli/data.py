"""Verbs about golden sets."""

from typing import Annotated

import typer

from rag.cli.app import datasets
from rag.cli.options import Experiment, Json, Overrides


@datasets.command()
def check(name: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Validate a golden set: all problems at once, files that are not read, counts, and the smallest difference it can show.

    Exit code 2 where there is a problem. A file that should be read and cannot be is one; the set can be used without it.
    """
    from rag.config.build import Components
    from rag.config.compose import plugins
    from rag.core.errors import together
    from rag.evaluation.data.validation import look
    from rag.execution.sweep.open_config import config_of
    from rag.reporting import terminal

    config = config_of([f"dataset={name}", *(overrides or ())])
    components = Components(plugins())
    seen = look(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))
    if as_json:
        terminal.print_json(seen.to_json())
    else:
        terminal.skipped(seen.skipped)
        if seen.check:
            terminal.dataset(name, seen.check)
    if seen.problems:
        raise together(seen.problems)


@datasets.command()
def fix(
    name: str,
    overrides: Overrides = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
    as_json: Json = False,
) -> None:
    """Show as a diff how quotes stand in their documents where they differ in Markdown, curly quotes or white space, or moved.

    The diff is written when it is accepted. --json asks no question. Exit code 2 where problems remain that need a person.
    """
    from rag.cli.review import question_file
    from rag.reporting import terminal

    file = question_file(name, overrides or ())
    made = file.fixes()
    diff = made.diff(str(file.path))
    accepted = bool(diff) and (yes or (not as_json and terminal.accepted(diff, made.count)))
    if accepted:
        file.write(made)
    if as_json:
        terminal.print_json({"questions": str(file.path), "quotes": made.count, "diff": diff, "written": accepted})
    else:
        terminal.out.print(
            f"{made.count if accepted else 'no'} {'quote' if accepted and made.count == 1 else 'quotes'} written."
        )
    file.golden()


@datasets.command()
def health(experiment: Experiment, overrides: Overrides = None, as_json: Json = False) -> None:
    """List questions of an experiment that deserve a look: near-duplicates, give-aways, never or always solved, suspect gold.

    The last three, and what approximate indexes lose, are read from the trials of its sweep that have run.
    """
    from rag.analysis import dataset_health as findings
    from rag.config.experiment import load
    from rag.execution.sweep import sweep
    from rag.reporting import terminal

    ready = sweep.prepare(load(experiment, overrides or ()))
    found = findings.check_health(ready.plan, ready.store)
    if as_json:
        terminal.print_json({"experiment": ready.plan.experiment.name, "sets": [each.to_json() for each in found]})
    for each in () if as_json else found:
        terminal.health(each)
