"""The scores of a sealed trial: metrics, scores of every question, calibration cards of its judge."""

from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath

from rag.analysis import baseline, gate
from rag.bundle import leaks
from rag.bundle.layout import SCORES
from rag.bundle.source_trial import Measured
from rag.bundle.strict_parse import json_bytes
from rag.config.experiment import load
from rag.config.identity import digest
from rag.core.errors import UserError
from rag.execution.judges import calibration
from rag.execution.judges.judge_report import identity


def evidence(source: Measured) -> dict[str, bytes]:
    """The files of a bundle that hold scores, and the cards of the judge if one judged, by name."""
    files = {SCORES: baseline.text_of(_compared(source)).encode()}
    if source.trial.ends.assess is not None:
        for card in calibration.cards(source.runner.store, identity(source.made, source.config)):
            name = f"cards/{digest(card.key, card.digest, card.data)[:16]}.json"
            files[name] = json_bytes(card.to_json(), indent=1)
    return files


def _compared(source: Measured) -> baseline.Baseline:
    """The scores that a gate compares: on the questions of the gate, if the trial was measured on these, else on its own."""
    scores = None
    with suppress(UserError):
        ready = gate.to_keep(load(source.experiment), source.trial.trial_id)
        if ready.store.read_meta(ready.plan.stages[ready.trial.ends.score].entry):
            scores = baseline.make_baseline(ready.trial, ready.plan, ready.store)
    scores = scores or baseline.make_baseline(source.trial, source.made, source.runner.store)
    config = baseline.with_texts(scores.result.config, _without_folder)
    return replace(scores, experiment=source.experiment, result=replace(scores.result, config=config), overrides=())


def _without_folder(text: str) -> str:
    """A text of a config for the record: a path outside of the working folder becomes its last name."""
    return PurePath(text).name if leaks.absolute(text) or text.startswith("../") else text
