"""The table of contents: `rag` and its groups of verbs. What a verb needs is imported inside it, so that help is instant."""

from typing import Any

import typer
from typer.core import TyperGroup

VERBS = (
    "sweep",
    "plan",
    "run",
    "report",
    "compare",
    "baseline",
    "gate",
    "export",
    "verify",
    "serve",
    "key",
    "register",
    "promote",
    "search",
    "ask",
    "chat",
    "why",
    "dialogues",
    "abstention",
    "track",
    "trec",
    "ui",
)
"""The verbs in the order in which they are met; groups stand behind them."""


class ByAcquaintance(TyperGroup):
    """Lists verbs in the order of VERBS."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, verbs first."""
        return sorted(self.commands, key=lambda name: VERBS.index(name) if name in VERBS else len(VERBS))


app = typer.Typer(
    cls=ByAcquaintance,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Assay: declared experiments for retrieval-augmented generation, every stage run once.",
    epilog="Exit codes: 0 done; 1 worse, or a trial failed; 2 wrong input; 3 cannot be told; 4 budget spent; "
    "70 crashed, or the output cannot be written; 130 interrupted.",
)
datasets = typer.Typer(no_args_is_help=True, help="Golden sets: check one before trusting what it says.")
stores = typer.Typer(no_args_is_help=True, help="The store: what is in it, whether it is sound, what can go.")
app.add_typer(datasets, name="dataset")
app.add_typer(stores, name="store")
