"""Verbs about the store."""

from typing import Annotated

import typer

from rag.cli.app import stores
from rag.cli.options import Json, Place


@stores.command()
def stats(store: Place = ".rag/store", as_json: Json = False) -> None:
    """Count what is in the store, and what other versions of the code left there."""
    from rag.execution.graph.stage_graph import stage_code
    from rag.execution.store import maintenance
    from rag.reporting import terminal

    found = maintenance.stats(maintenance.existing(store), stage_code())
    terminal.print_json(found) if as_json else terminal.spaces(found)


@stores.command()
def verify(store: Place = ".rag/store", as_json: Json = False) -> None:
    """Read every entry; remove those that are damaged, so that they are computed again."""
    from rag.execution.store import maintenance
    from rag.reporting import terminal

    found = maintenance.verify(maintenance.existing(store))
    said = f"{found['entries']} entries read, {len(found['damaged'])} damaged and removed."
    terminal.print_json(found) if as_json else terminal.out.print(said)


@stores.command()
def gc(
    store: Place = ".rag/store",
    days: Annotated[float, typer.Option(min=0, help="Remove stage results that are older than this.")] = 30.0,
    old: Annotated[bool, typer.Option("--old", help="Also remove stage results of other versions of the code.")] = False,
    as_json: Json = False,
) -> None:
    """Remove old stage results and files of killed processes; vectors, scores by pair and replies stay."""
    from rag.execution.graph.stage_graph import stage_code
    from rag.execution.store import maintenance
    from rag.reporting import terminal

    found = maintenance.collect(maintenance.existing(store), days, stage_code() if old else "")
    said = f"{found['removed']} entries and {found['orphans']} left-overs removed, {found['bytes']:,} bytes."
    terminal.print_json(found) if as_json else terminal.out.print(said)
