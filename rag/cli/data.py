"""Verbs about golden sets."""

from rag.cli.app import datasets
from rag.cli.options import Json, Overrides


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
