"""Exported bundles, and the result of verifying one."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.bundle.differences import Replay
from rag.bundle.golden_cases import cases_of
from rag.bundle.open_bundle import Bundle
from rag.bundle.seal import Sealed
from rag.reporting.terminal.output import escape, next_commands, out, print_line

MOST = 10
"""Mismatches that are printed."""
PLACES = {"here": "Opened here", "there": "Over HTTP"}


def exported_json(sealed: Sealed, archive: Path | None) -> dict[str, Any]:
    """The output of `rag export --json`."""
    manifest = sealed.manifest
    return {
        "path": str(sealed.path),
        "archive": archive and str(archive),
        "bundle": sealed.digest,
        "written": sealed.written,
        "needs": sealed.needs or None,
        "experiment": manifest.experiment,
        "trial": manifest.trial,
        "name": manifest.name,
        "stand_ins": list(manifest.stand_ins),
        "queries": sealed.queries,
        "bytes": sealed.bytes,
        "models": [vars(model) for model in manifest.models],
    }


def exported(sealed: Sealed, archive: Path | None) -> None:
    """Print the path of a bundle, its models, and the commands that verify and serve it."""
    manifest = sealed.manifest
    what = "Sealed" if sealed.written else "Was sealed already:"
    out.print(f"{what} [bold]{escape(manifest.name)}[/bold] ({manifest.trial}) of {escape(manifest.experiment)}")
    print_line(str(sealed.path))
    if archive:
        print_line(str(archive))
    size = f"{sealed.bytes / 1e6:,.2f} MB, {len(manifest.files)} files, {sealed.queries} golden questions"
    out.print(f"{size}\nbundle {sealed.digest}", highlight=False)
    for sentence in manifest.stand_ins:
        print_line(f"{sentence}.")
    for model in manifest.models:
        there = "inside" if model.inside else "not inside"
        print_line(
            f"{model.role}: {model.name}{f' at {model.revision}' if model.revision else ''} ({there}), {model.fingerprint}"
        )
        for name, known in model.weights.items():
            print_line(f"  {name} sha256:{known}")
    if sealed.needs:
        print_line(f"To open it, agree to: {sealed.needs}")
    place = shlex.quote(str(sealed.path))
    next_commands([f"rag bundle verify {place}", f"rag serve {place}"])


def verified_json(bundle: Bundle, found: Mapping[str, Replay]) -> dict[str, Any]:
    """The output of `rag bundle verify --json`."""
    places = {place: replay.to_json() for place, replay in found.items()}
    same = not any(replay.mismatches for replay in found.values())
    head = {"bundle": bundle.digest, "name": bundle.name, "stand_ins": list(bundle.stand_ins)}
    return head | {"queries": len(cases_of(bundle)), "same": same, **places}


def verified(bundle: Bundle, found: Mapping[str, Replay]) -> None:
    """Print whether a bundle answers as it was measured, opened here and over HTTP."""
    print_line(f"{bundle.name}, bundle {bundle.digest}")
    for sentence in bundle.stand_ins:
        print_line(f"{sentence}.")
    for place, replay in found.items():
        counts = replay.compared
        compared = f"{counts['passages']} rankings, {counts['prompt']} prompts and {counts['answer']} answers compared"
        out.print(f"{PLACES[place]}: {compared}, {_same(replay)}", highlight=False)
        for mismatch in replay.mismatches[:MOST]:
            print_line(f"  {mismatch}")
        if len(replay.mismatches) > MOST:
            print_line(f"  … and {len(replay.mismatches) - MOST} more")
        for why, count in replay.left_out.items():
            print_line(f"  {count} not asked: {why}")


def _same(replay: Replay) -> str:
    if replay.mismatches:
        return f"[red]{len(replay.mismatches)} differ[/red]"
    if not replay.compared["passages"]:
        return "[yellow]nothing to compare: its files alone are as they were sealed[/yellow]"
    return "[green]all as measured[/green]"
