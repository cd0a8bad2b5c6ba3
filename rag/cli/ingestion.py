"""Verbs about the folder of a corpus: the manifest, and proposals of rules."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rag.cli.app import data, verbs
from rag.cli.options import INTERRUPTED, Json, print_json, print_line

DEFAULT, PROPOSED = "run", Path("conf/ingest/proposed.yaml")


class WithDefault(TyperGroup):
    """A group whose arguments belong to the verb DEFAULT unless they begin with another verb."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put DEFAULT in front of arguments without a verb."""
        return super().parse_args(ctx, args if args and args[0] in (*self.commands, "--help") else [DEFAULT, *args])


ingestion = typer.Typer(cls=WithDefault, help="The folder of a corpus: manifest, coverage, rules. Without a verb: run.")
verbs(data, ingestion, "ingest")
Folder = Annotated[
    list[str] | None,
    typer.Argument(
        help="A folder or a dataset, and Hydra overrides: loader.ingest=documentation.", metavar="[FOLDER] KEY=VALUE …"
    ),
]


@ingestion.command(DEFAULT)
def run(
    what: Folder = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Parse nothing that is not in the store.")] = False,
    as_json: Json = False,
    html: Annotated[Path | None, typer.Option(help="Write the manifest as one HTML page.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every file.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Run again when a file changes, until Ctrl-C.")] = False,
) -> None:
    """Parse the files of a folder into the store, and show what becomes a document and what not, with reasons.

    With --dry-run nothing is parsed that is not in the store: rules about paths, types, sizes and ages decide, and files that
    must be parsed are counted with estimated seconds. Exit code 0 also where files failed: each is a line of the manifest.
    """
    from rag.api.ingestion import config_of_folder, watched
    from rag.reporting.terminal import manifest

    config = config_of_folder(what or ())
    try:
        for done in watched(config, dry_run, watch):
            print_json(done.to_json()) if as_json else manifest.ingested(done, verbose)
            if html:
                from rag.reporting.html import manifest_page

                manifest_page.write(done, html)
                if not as_json:
                    print_line(f"Page: {html}")
            if not as_json:
                manifest.next_steps(done, what or (), advises=not PROPOSED.exists())
    except KeyboardInterrupt:
        raise typer.Exit(0 if watch else INTERRUPTED) from None


@ingestion.command()
def advise(
    what: Folder = None,
    to: Annotated[Path, typer.Option(help="The new file; an existing one is not overwritten.")] = PROPOSED,
    model: Annotated[bool, typer.Option("--model", help="Ask the generator of the config, too.")] = False,
    as_json: Json = False,
) -> None:
    """Propose rules from the coverage of a folder, and write them into a file that a person reads, edits and commits.

    Files that are not parsed yet are parsed. With --model the generator gets counts and names of files, no texts; it only
    proposes: a rule that is not valid, or matches nothing, is left out and listed.
    """
    from rag.api.ingestion import advise as propose
    from rag.reporting.terminal import manifest

    made = propose(what or (), to, model)
    print_json(made.to_json()) if as_json else manifest.advised(made, what or ())
