"""How well a trial did, as a bundle tells it: metrics, scores question by question, cards of its judge."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from rag.analysis import baseline, gate
from rag.bundle import leaks
from rag.bundle.layout import SCORES
from rag.bundle.source_trial import Measured
from rag.config.experiment import load
from rag.config.identity import digest
from rag.core.errors import UserError
from rag.execution.judges import calibration
from rag.execution.judges.judge_report import identity


def metrics_of(found: Measured) -> dict[str, dict[str, float | None]]:
    """Mean, low, high and n by column, as the leaderboard has them."""
    summary = found.entry(found.trial.ends.score).meta["summary"]
    return {column: dict(told) for column, told in summary["columns"].items()}


def evidence(found: Measured) -> dict[str, bytes]:
    """Files by their names in a bundle: scores, and cards where a judge has some."""
    return {**dict(_cards(found)), SCORES: _scores(_compared(found))}


def _cards(found: Measured) -> Iterator[tuple[str, bytes]]:
    """The cards of the judge, where one judged: how well it agrees with people."""
    if found.trial.ends.assess is None:
        return
    for card in calibration.cards(found.runner.store, identity(found.made, found.config)):
        name = digest(card.judge, card.digest, card.data)[:16]
        yield f"cards/{name}.json", (json.dumps(card.to_json(), indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def _compared(found: Measured) -> baseline.Baseline:
    """The scores that a gate compares: on the questions it asks, where the trial was measured on these, else on its own."""
    kept = None
    with suppress(UserError):
        ready = gate.to_keep(load(found.experiment), found.trial.trial_id)
        if ready.store.read_meta(ready.plan.stages[ready.trial.ends.score].entry):
            kept = baseline.make_baseline(ready.trial, ready.plan, ready.store)
    kept = kept or baseline.make_baseline(found.trial, found.made, found.runner.store)
    return replace(kept, experiment=found.experiment, result=replace(kept.result, config=_anywhere(kept.result.config)))


def _scores(kept: baseline.Baseline) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.json"
        baseline.write(kept, path)
        return path.read_bytes()


def _anywhere(value: Any) -> Any:
    """A config for the record: of what lies outside of the working folder only the name is told."""
    if isinstance(value, Mapping):
        return {key: _anywhere(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_anywhere(part) for part in value]
    outside = isinstance(value, str) and (leaks.absolute(value) or value.startswith("../"))
    return PurePath(value).name if outside else value
