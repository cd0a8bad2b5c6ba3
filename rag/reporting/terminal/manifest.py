"""The manifest of a folder, its coverage, and proposals of rules."""

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from rag.analysis.ingestion.advice import Advice
from rag.analysis.ingestion.coverage import DENSE, HUGE, TINY, Coverage
from rag.analysis.ingestion.ingest import Ingestion
from rag.core.figures import amount
from rag.documents.manifest import ManifestLine
from rag.reporting.terminal.output import escape, next_commands, out, table

FEW, SHOWN = 30, 5
"""Files up to which all are listed, and examples of a finding."""
Columns = Mapping[str, Sequence[str]]
WORDS = ("file", "folder", "type", "decision", "reason")
"""The columns of a manifest that hold text."""
COUNTS: Mapping[str, Callable[[ManifestLine], int]] = {
    "pages": lambda line: line.pages,
    "blocks": lambda line: sum(line.blocks.values()),
    "redactions": lambda line: sum(line.redactions.values()),
    "noise": lambda line: sum(line.dropped.values()),
    "characters": lambda line: line.characters,
    "chunks": lambda line: line.chunks or 0,
}
"""The columns that hold counts, with the count of one file."""


def ingested(done: Ingestion, verbose: bool = False) -> None:
    """Print the manifest, folded by folder and type if it is long, and the coverage."""
    out.print(f"[bold]{escape(done.folder)}[/bold]: {escape(done.purpose)}", soft_wrap=True)
    _print_columns(_each(done.files) if verbose or len(done.files) <= FEW else _folded(done.files))
    _totals(done)
    _remarks(done.files)
    _coverage(done.coverage)


def _each(files: Sequence[ManifestLine]) -> Columns:
    named = {name: [str(getattr(line, name)) for line in files] for name in ("decision", "reason")}
    return {"file": [line.path for line in files], **named, **_figures([[line] for line in files])}


def _folded(files: Iterable[ManifestLine]) -> Columns:
    """One row for each topmost folder, type and decision."""
    found: dict[tuple[str, str, str], list[ManifestLine]] = defaultdict(list)
    for file in files:
        parts = PurePosixPath(file.path).parts
        found[f"{parts[0]}/" if len(parts) > 1 else "", file.type, file.decision].append(file)
    keys = sorted(found)
    groups = [found[key] for key in keys]
    named = {name: [key[place] for key in keys] for place, name in enumerate(("folder", "type", "decision"))}
    return {**named, "files": [_count(len(group)) for group in groups], **_figures(groups)}


def _figures(groups: Sequence[Sequence[ManifestLine]]) -> Columns:
    """Sums over the files of each group, and the estimated seconds."""
    sums = {name: [_count(sum(map(count, group))) for group in groups] for name, count in COUNTS.items()}
    return {**sums, "seconds": [_seconds(group) for group in groups]}


def _print_columns(columns: Columns) -> None:
    shown = {name: values for name, values in columns.items() if any(values)}
    words = len([name for name in shown if name in WORDS])
    printed = table(*shown, words=words)
    for row in zip(*shown.values(), strict=True):
        printed.add_row(*map(escape, row))
    out.print(printed)


def _seconds(files: Sequence[ManifestLine]) -> str:
    """Estimated seconds of parsing and embedding; empty if none is known."""
    known = [s for file in files for s in (file.seconds_to_parse, file.seconds_to_embed) if s is not None]
    return f"{sum(known):,.1f}" if sum(known) else ""


def _count(value: int) -> str:
    return f"{value:,}" if value else ""


def _totals(done: Ingestion) -> None:
    decisions = ", ".join(f"{count:,} {name}" for name, count in done.coverage.decisions.items())
    chunks = sum(file.chunks or 0 for file in done.files)
    what = (
        f"{amount(len(done.files), 'file')}: {decisions}; {done.coverage.characters:,} characters in {amount(chunks, 'chunk')}."
    )
    out.print(escape(what), soft_wrap=True)
    waiting = [file for file in done.files if file.decision == "unparsed"]
    unknown = sum(file.seconds_to_parse is None for file in waiting)
    if waiting:
        seconds = sum(file.seconds_to_parse or 0.0 for file in waiting)
        left = f"; {unknown} of formats that were never parsed on this store" if unknown else ""
        out.print(f"{amount(len(waiting), 'file')} must be parsed, about {seconds:,.0f} seconds{left}.")
    embedding = [file.seconds_to_embed for file in done.files if file.seconds_to_embed is not None]
    if embedding:
        out.print(f"Embedding all chunks anew takes about {sum(embedding):,.0f} seconds, at the rate of the last sweep.")


def _remarks(files: Iterable[ManifestLine]) -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for line in files:
        for said in (line.detail,) if line.detail else () if line.characters else line.notes:
            found[said].append(line.path)
    for said, names in found.items():
        out.print(escape(f"{said}: {_some(names)}"), soft_wrap=True)


def _coverage(found: Coverage) -> None:
    for reason, count in found.reasons.items():
        out.print(f"not included: {count:,} × {escape(reason)}", soft_wrap=True)
    if found.blind:
        out.print(f"[yellow]nothing included[/yellow] of {escape(_some(found.blind))}", soft_wrap=True)
    kinds: dict[str, list[str]] = defaultdict(list)
    for outlier in found.outliers:
        kinds[outlier.kind].append(f"{outlier.path} ({outlier.figure:,.0f})")
    limits = {
        "tiny": f"fewer than {TINY} characters",
        "huge": f"more than {HUGE} × the median of characters",
        "dense pages": f"more than {DENSE} × the median of characters on a page",
    }
    for kind, names in kinds.items():
        limit = f" ({limits[kind]})" if kind in limits else ""
        out.print(f"{kind}{limit}: {len(names):,}: {escape(_some(names))}", soft_wrap=True)
    groups: dict[str, list[str]] = defaultdict(list)
    for each in found.duplicates:
        share = f" ({each.alike:.0%})" if each.alike < 1 else ""
        groups[each.kind].append(f"{_some(each.paths, ' = ')}{share}")
    for kind, names in groups.items():
        limit = f" (from {found.near_duplicate_from:.0%} of common shingles)" if kind == "near-duplicates" else ""
        out.print(f"{kind}{limit}: {amount(len(names), 'group')}: {escape(_some(names, '; '))}", soft_wrap=True)
    if found.unused_rules:
        out.print(f"[yellow]rules that match no file[/yellow]: {escape(', '.join(found.unused_rules))}", soft_wrap=True)


def _some(names: Sequence[str], between: str = ", ") -> str:
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return between.join(names[:SHOWN]) + more


def next_steps(done: Ingestion, what: Sequence[str], advises: bool) -> None:
    """Print the commands that can follow; with `advises` rules can be proposed."""
    found = done.is_dry or done.coverage.outliers or done.coverage.duplicates
    verbs = [["ingest"]] * done.is_dry + [["ingest", "advise"]] * bool(advises and found)
    next_commands(shlex.join(["rag", "data", *verb, *what]) for verb in verbs)


def advised(made: Advice, what: Sequence[str]) -> None:
    """Print the proposed rules and what to do with them."""
    for each in made.proposals:
        patterns = each.rule.get("exclude", "")
        shown = _some(patterns) if isinstance(patterns, list) else str(patterns)
        effect = f"{amount(each.files, 'file')}, {each.share:.1%} of the characters ({each.source})"
        out.print(f"exclude {escape(shown)}: {escape(str(each.rule['reason']))}\n  [dim]{escape(effect)}[/dim]", soft_wrap=True)
    for reason in made.left_out:
        out.print(f"[yellow]left out[/yellow]: {escape(reason)}", soft_wrap=True)
    if made.path is None:
        out.print("Nothing to propose.")
        return
    out.print(f"Written: {escape(str(made.path))}. Nothing is excluded until a config names it.", soft_wrap=True)
    others = [each for each in what if not each.startswith("loader.ingest=")]
    next_commands([shlex.join(["rag", "data", "ingest", *others, f"loader.ingest={made.path.stem}", "--dry-run"])])
