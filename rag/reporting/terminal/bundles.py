"""What is said of bundles: sealed, and asked again."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.bundle.differences import Replay
from rag.bundle.golden_cases import cases_of
from rag.bundle.open_bundle import Bundle
from rag.bundle.seal import Sealed
from rag.reporting.terminal.next_commands import following
from rag.reporting.terminal.output import escape, out, visible

MOST = 10
"""Mismatches that are shown one by one."""
PLACES = {"here": "Opened here", "there": "Over HTTP"}


def exported_json(sealed: Sealed, archive: Path | None) -> dict[str, Any]:
    """What `rag export --json` prints."""
    manifest = sealed.manifest
    own = {"experiment": manifest.experiment, "trial": manifest.trial, "name": manifest.name}
    told: dict[str, Any] = {
        "path": str(sealed.path),
        "archive": archive and str(archive),
        "bundle": sealed.digest,
        "written": sealed.written,
    }
    told["needs"] = sealed.needs or None
    models = [vars(model) for model in manifest.models]
    return {**told, **own, "queries": sealed.queries, "bytes": sealed.bytes, "models": models}


def exported(sealed: Sealed, archive: Path | None) -> None:
    """Where a bundle lies, and what it needs beside itself."""
    manifest = sealed.manifest
    what = "Sealed" if sealed.written else "Was sealed already:"
    out.print(f"{what} [bold]{escape(manifest.name)}[/bold] ({manifest.trial}) of {escape(manifest.experiment)}")
    _line(str(sealed.path))
    if archive:
        _line(str(archive))
    size = f"{sealed.bytes / 1e6:,.2f} MB, {len(manifest.files)} files, {sealed.queries} golden questions"
    out.print(f"{size}\nbundle {sealed.digest}", highlight=False)
    for model in manifest.models:
        there = "inside" if model.inside else "not inside"
        _line(f"{model.role}: {model.name}{f' at {model.revision}' if model.revision else ''} ({there}), {model.fingerprint}")
        for name, known in model.weights.items():
            _line(f"  {name} sha256:{known}")
    if sealed.needs:
        _line(f"Whoever opens it must agree: {sealed.needs}")
    place = shlex.quote(str(sealed.path))
    following([f"rag verify {place}", f"rag serve {place}"])


def verified_json(bundle: Bundle, found: Mapping[str, Replay]) -> dict[str, Any]:
    """What `rag verify --json` prints."""
    told = {place: replay.to_json() for place, replay in found.items()}
    same = not any(replay.mismatches for replay in found.values())
    return {"bundle": bundle.digest, "name": bundle.name, "queries": len(cases_of(bundle)), "same": same, **told}


def verified(bundle: Bundle, found: Mapping[str, Replay]) -> None:
    """Whether a bundle answers as it was measured, here and over HTTP."""
    _line(f"{bundle.name}, bundle {bundle.digest}")
    for place, replay in found.items():
        counts = replay.compared
        told = f"{counts['passages']} rankings, {counts['prompt']} prompts and {counts['answer']} answers compared"
        out.print(f"{PLACES[place]}: {told}, {_same(replay)}", highlight=False)
        for mismatch in replay.mismatches[:MOST]:
            _line(f"  {mismatch}")
        if len(replay.mismatches) > MOST:
            _line(f"  … and {len(replay.mismatches) - MOST} more")
        for why, count in replay.left_out.items():
            _line(f"  {count} not asked: {why}")


def _same(replay: Replay) -> str:
    if replay.mismatches:
        return f"[red]{len(replay.mismatches)} differ[/red]"
    if not replay.compared["passages"]:
        return "[yellow]nothing to compare: its files alone are as they were sealed[/yellow]"
    return "[green]all as measured[/green]"


def _line(text: str) -> None:
    out.print(visible(text), markup=False, soft_wrap=True)
