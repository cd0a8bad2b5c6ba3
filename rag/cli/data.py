"""Verbs about golden sets."""

from typing import Annotated

import typer

from rag.cli.app import datasets
from rag.cli.options import Experiment, Json, Overrides, prepared


@datasets.command()
def check(name: str, overrides: Overrides = None, as_json: Json = False) -> None:
    """Validate a golden set: all problems at once, files that are not read, counts, and the smallest difference it can show.

    Exit code 2 if there is a problem. A file that cannot be read is one; the set can be used without it.
    """
    from rag.core.errors import together
    from rag.evaluation.data.validation import look
    from rag.execution.graph.plan import components_for
    from rag.execution.store import maintenance
    from rag.execution.sweep.open_config import config_of
    from rag.reporting.terminal.output import print_json
    from rag.reporting.terminal.store_contents import dataset, skipped

    config = config_of([f"dataset={name}", *(overrides or ())])
    components = components_for(maintenance.at(config["store"]))
    seen = look(components.role("loader", config["loader"]), components.role("dataset", config["dataset"]))
    if as_json:
        print_json(seen.to_json())
    else:
        skipped(seen.skipped)
        if seen.check:
            dataset(name, seen.check)
    if seen.problems:
        raise together(seen.problems)


@datasets.command()
def fix(
    name: str,
    overrides: Overrides = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
    as_json: Json = False,
) -> None:
    """Show a diff that corrects quotes which differ from their documents in Markdown, curly quotes or white space, or moved.

    The diff is written when it is accepted. --json asks no question. Exit code 2 if problems remain that a person must fix.
    """
    from rag.cli.review import question_file
    from rag.reporting.terminal.output import amount, print_json, print_line
    from rag.reporting.terminal.store_contents import accepts

    file = question_file(name, overrides or ())
    fixes = file.fixes()
    diff = fixes.diff(str(file.path))
    accepted = bool(diff) and (yes or (not as_json and accepts(diff, fixes.count)))
    if accepted:
        file.write(fixes)
    if as_json:
        print_json({"questions": str(file.path), "quotes": fixes.count, "diff": diff, "written": accepted})
    else:
        print_line(f"{amount(fixes.count, 'quote') if accepted else 'no quotes'} written.")
    file.golden()


@datasets.command()
def health(experiment: Experiment, overrides: Overrides = None, as_json: Json = False) -> None:
    """List questions of an experiment to review: near-duplicates, give-aways, never or always solved, suspect gold.

    The last three, and the loss of approximate indexes, are read from the trials of its sweep that have run.
    """
    from rag.analysis.dataset_health import check_health
    from rag.reporting.terminal import health as report
    from rag.reporting.terminal.output import print_json

    ready = prepared(experiment, overrides)
    sets = check_health(ready.plan, ready.store)
    if as_json:
        print_json({"experiment": ready.plan.experiment.name, "sets": [each.to_json() for each in sets]})
    for each in () if as_json else sets:
        report.health(each)
