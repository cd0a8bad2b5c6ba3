"""Verbs about the store."""

from typing import Annotated

import typer

from rag.cli.app import stores
from rag.cli.options import Json, Place


@stores.command()
def stats(store: Place = ".rag/store", as_json: Json = False) -> None:
    """Count what is in the store."""
    from rag.execution.store import maintenance
    from rag.reporting import terminal

    found = maintenance.stats(maintenance.existing(store))
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
    as_json: Json = False,
) -> None:
    """Remove old stage results and what killed processes left; vectors, scores by pair and replies stay."""
    from rag.execution.store import maintenance
    from rag.reporting import terminal

    found = maintenance.collect(maintenance.existing(store), days)
    said = f"{found['removed']} entries and {found['orphans']} left-overs removed, {found['bytes']:,} bytes."
    terminal.print_json(found) if as_json else terminal.out.print(said)
