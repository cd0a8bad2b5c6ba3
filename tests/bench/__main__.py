"""Measure and write one table: `python -m bench [speed|quality|MEASUREMENT …] [--to FILE]`, with tests/ on PYTHONPATH.

Every timing is compared with another one of the same run: a bare library, a no-op server, the first run, the stages alone. The
table is no test; the exit code is 1 only if a measurement breaks.
"""

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import (
    answers,
    conversion,
    documents,
    judging,
    reading,
    records,
    retrieval,
    safety,
    serving,
    sets,
    stores,
    sweeps,
    verdicts,
)
from bench.measuring import DATA, ROOT, Measurement, MissingSetError, Row

SPEED: Sequence[Measurement] = (
    *(sweeps.grid, sweeps.fusion),
    *(serving.clients, stores.vector_stores, reading.folder),
)
QUALITY: Sequence[Measurement] = (
    *(retrieval.references, retrieval.gap_loop, answers.declining, answers.numbers, records.routes, judging.judge),
    *(judging.correctness, safety.secrets, safety.personal, conversion.office),
    *(conversion.pages, conversion.tables, documents.evidence, documents.losses, sets.drift, sets.exchange),
    *(verdicts.verdicts, verdicts.intervals),
)
GROUPS = {"speed": SPEED, "quality": QUALITY}
HEAD = ("measurement", "value", "unit", "compared with", "value", "ratio", "note")


def name_of(measurement: Measurement) -> str:
    """Module and function, as the command line takes it: `sweeps.fusion`."""
    return f"{measurement.__module__.removeprefix('bench.')}.{measurement.__name__}"


def number(value: float | None) -> str:
    """Three digits, or all before the point; empty for None."""
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table as text."""
    ratio = number(row.value / row.other) if row.other else ""
    return row.what, number(row.value), row.unit, row.against, number(row.other), ratio, row.note


def measured(measurement: Measurement) -> Iterator[Row]:
    """The rows of a measurement in an empty folder, with the models that were distilled before."""
    models, began = ROOT / ".rag" / "models", Path.cwd()
    models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        (Path(folder) / ".rag").mkdir()
        (Path(folder) / ".rag" / "models").symlink_to(models)
        os.chdir(folder)
        try:
            yield from measurement(Path(folder))
        finally:
            os.chdir(began)


def write(target: Path, tables: dict[str, list[tuple[str, ...]]], seconds: float) -> None:
    """The table as Markdown, with a line of the machine."""
    lines = [f"Measured in {seconds / 60:.1f} minutes on {os.cpu_count()} cores, Python {sys.version.split()[0]}.", ""]
    lines += [f"| {' | '.join(HEAD)} |", "|" + " --- |" * len(HEAD)]
    for name, rows in tables.items():
        lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in [(f"**{name}**",), *rows]]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(lines) + "\n", "utf-8")


def main(arguments: Sequence[str]) -> int:
    """Measure what is named, show rows as they come, and write the table after each measurement."""
    known = {name_of(each): each for group in GROUPS.values() for each in group}
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", default=["speed"], choices=[*GROUPS, *known], metavar="NAME")
    parser.add_argument("--to", type=Path, default=ROOT / "reports" / "bench.md")
    given = parser.parse_args(arguments)
    chosen = [each for name in given.names for each in GROUPS.get(name, (known.get(name),)) if each]
    os.environ |= {"RAG_DATA": str(DATA), "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    tables: dict[str, list[tuple[str, ...]]] = {}
    target, began, broken = given.to.resolve(), time.perf_counter(), 0
    for each in chosen:
        rows = tables[name_of(each)] = []
        sys.stdout.write(f"\n{name_of(each)} ({time.perf_counter() - began:.0f} s)\n")
        try:
            for row in measured(each):
                rows.append(cells(row))
                sys.stdout.write("  " + " | ".join(filter(None, cells(row))) + "\n")
                sys.stdout.flush()
        except MissingSetError as missing:
            rows.append((f"left out: {missing}",))
        except Exception:
            traceback.print_exc()
            rows.append(("broken: see the traceback",))
            broken += 1
        write(target, tables, time.perf_counter() - began)
    sys.stdout.write(f"\n{target}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
