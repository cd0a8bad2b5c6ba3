"""What the choices of a sweep do, as a table."""

from rag.evaluation.statistics.effects import Effect, Effects, Interaction
from rag.evaluation.statistics.paired import ALPHA
from rag.reporting.terminal.output import Table, escape, number

MOST_INTERACTIONS = 3


def effects(found: Effects) -> Table:
    """Every choice against the first of its axis, then the strongest pairs that are more or less than their sum.

    What is within noise stands back. Intervals and p-values are corrected for everything that was looked at.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    for title, side in (("choice", "left"), ("over", "left"), ("effect", "right"), ("p", "right"), ("pairs", "right")):
        table.add_column(title, justify="right" if side == "right" else "left", no_wrap=side == "right")
    for effect in found.effects:
        _row(table, effect, f"{effect.axis}={effect.choice}", effect.reference, str(effect.matched))
    known = [interaction for interaction in found.interactions if interaction.p_adjusted <= ALPHA]
    for interaction in known[:MOST_INTERACTIONS]:
        both = f"{interaction.axis}={interaction.choice} with {interaction.other_axis}={interaction.other_choice}"
        _row(table, interaction, both, "their sum", "")
    return table


def _row(table: Table, found: Effect | Interaction, choice: str, over: str, pairs: str) -> None:
    shown = f"{number(found.mean)} \\[{number(found.low)}, {number(found.high)}]"
    style = "" if found.p_adjusted <= ALPHA else "dim"
    table.add_row(escape(choice), escape(over), shown, number(found.p_adjusted), pairs, style=style)
