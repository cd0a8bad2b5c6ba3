"""Verbs about the store."""

from typing import Annotated

import typer

from rag.cli.app import study, verbs
from rag.cli.options import Json, Place, print_json, print_line

stores = typer.Typer(no_args_is_help=True, help="The store: count, verify and remove entries.")
verbs(study, stores, "store")


@stores.command()
def stats(store: Place = ".rag/store", as_json: Json = False) -> None:
    """Count the entries of the store, and those of other versions of the code."""
    from rag.execution.graph.stage_graph import stage_code
    from rag.execution.store import maintenance
    from rag.reporting.terminal.store_contents import spaces

    found = maintenance.stats(maintenance.existing(store), stage_code())
    print_json(found) if as_json else spaces(found)


@stores.command()
def verify(store: Place = ".rag/store", as_json: Json = False) -> None:
    """Read every entry; remove those that are damaged, so that they are computed again."""
    from rag.execution.store import maintenance

    found = maintenance.verify(maintenance.existing(store))
    summary = f"{found['entries']} entries read, {len(found['damaged'])} damaged and removed."
    print_json(found) if as_json else print_line(summary)


@stores.command()
def gc(
    store: Place = ".rag/store",
    days: Annotated[float, typer.Option(min=0, help="Remove stage results and parsed files that no run used since.")] = 30.0,
    old: Annotated[bool, typer.Option("--old", help="Also remove stage results of other versions of the code.")] = False,
    as_json: Json = False,
) -> None:
    """Remove old stage results, parsed files and leftovers of killed processes; vectors, scores by pair and replies stay."""
    from rag.execution.graph.stage_graph import stage_code
    from rag.execution.store import maintenance

    found = maintenance.collect(maintenance.existing(store), days, stage_code() if old else "")
    summary = f"{found['removed']} entries and {found['orphans']} left-overs removed, {found['bytes']:,} bytes."
    print_json(found) if as_json else print_line(summary)
