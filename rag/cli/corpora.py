"""The verb about documents and their chunks: inspect."""

from pathlib import Path
from typing import Annotated

import typer

from rag.cli.app import app
from rag.cli.options import Json


@app.command()
def inspect(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BUNDLE | KEY=VALUE …]",
            help="A bundle, or Hydra overrides, for example loader.path=docs; left out for the default dataset.",
        ),
    ] = None,
    chunkers: Annotated[str, typer.Option(help="One or two choices of chunker; a bundle has its own.")] = "recursive,token",
    html: Annotated[Path, typer.Option(help="The page to write.")] = Path("reports/documents.html"),
    as_json: Json = False,
) -> None:
    """Write one HTML page with documents, their pages and blocks, their chunks, gold, redactions and flags.

    The page opens from a disk and needs no network. Flags: tiny, huge, no words, repeated, mojibake, and cut by the window of
    the embedder. Chunks of two chunkers are side by side. Gold is that of dataset; loader.path without dataset
    has none.

    --json: page (its path), left_out (documents without text in the page), name, documents, pages, blocks, redactions by rule,
    gold by state, flags of documents, and chunkers: chunks, flags, gold_cut (evidence that no chunk holds whole).
    """
    from rag.analysis import corpus_view
    from rag.reporting.html import corpus_page
    from rag.reporting.terminal.corpora import inspected
    from rag.reporting.terminal.output import print_json

    given = what or []
    is_bundle = len(given) == 1 and "=" not in given[0]
    view = corpus_view.of_bundle(Path(given[0])) if is_bundle else corpus_view.of_config(given, chunkers.split(","))
    left_out = corpus_page.write(view, html)
    print_json({"page": str(html), "left_out": left_out, **view.to_json()}) if as_json else inspected(view, html, left_out)
