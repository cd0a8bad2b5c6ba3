"""Limits for files of unknown origin."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one file may take.

    `memory`: bytes of address space of the process that parses it. `seconds`: its CPU time. `longest`: seconds of the clock.
    `file` and `answer`: bytes of the file, and of its content as JSON. `waiting`: bytes of all files that wait to be parsed.
    """

    memory: int = 512 << 20
    seconds: int = 20
    longest: float = 120.0
    file: int = 128 << 20
    answer: int = 64 << 20
    waiting: int = 192 << 20
