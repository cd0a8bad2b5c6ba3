"""The table of contents: `rag` and its groups of verbs. What a verb needs is imported inside it, so that help is instant."""

import typer

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
