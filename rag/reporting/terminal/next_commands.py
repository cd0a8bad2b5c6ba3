"""The commands that can follow a command, each as it can be typed."""

from collections.abc import Iterable

from rag.reporting.terminal.output import out, visible


def following(commands: Iterable[str]) -> None:
    """One command a line, behind `Next:`; nothing where there is none."""
    for place, command in enumerate(commands):
        out.print(f"{'' if place else 'Next:':<7}{visible(command)}", markup=False, soft_wrap=True)
