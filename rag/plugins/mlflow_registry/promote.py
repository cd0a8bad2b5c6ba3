"""Move the alias `champion` to another version of a model if the gate of the experiment passes."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from random import SystemRandom
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rag.analysis import compare
from rag.analysis.compare.trials import Side, questions_of
from rag.analysis.gate import decide, latency, limits, spec
from rag.analysis.gate import verdict as verdicts
from rag.analysis.gate.decide import Pair, Row
from rag.analysis.gate.finding import FAIL, PASS, Verdict
from rag.analysis.gate.limits import BoundResult
from rag.analysis.gate.spec import EXIT_CODES, RATIO, Gate
from rag.bundle.open_bundle import open_bundle
from rag.config import experiment
from rag.core.errors import ConfigError, DataError, ServiceError
from rag.execution.sweep.objective import Bound
from rag.plugins.mlflow_registry import versions
from rag.plugins.mlflow_registry.register import CHALLENGER, CHAMPION
from rag.plugins.mlflow_registry.service import registry
from rag.plugins.mlflow_registry.uncalibrated_metrics import advisory
from rag.plugins.mlflow_registry.versions import Version

if TYPE_CHECKING:
    from mlflow import MlflowClient

CLAIM = "assay.promoting."
"""Prefix of the tags of a registered model by which promotions see each other."""
STALE = 600.0
"""Seconds after which a claim is that of a dead process: it is held only while the alias moves."""
TRIES, PAUSE = 20, 0.5
"""Number of attempts, and the longest pause between two, in seconds."""


@contextmanager
def alone(client: "MlflowClient", model: str) -> Iterator[None]:
    """Lock a model against other promotions; ServiceError if these hold it during all attempts.

    MLflow has no compare-and-set. So a promotion first writes its claim and then looks for others: of two that begin at once,
    at least one sees the other, and withdraws.
    """
    for _ in range(TRIES):
        claim = f"{CLAIM}{uuid4().hex}"
        client.set_registered_model_tag(model, claim, f"{time.time():.0f}")
        try:
            if not _has_others(client.get_registered_model(model).tags, claim):
                yield
                return
        finally:
            client.delete_registered_model_tag(model, claim)
        time.sleep(SystemRandom().uniform(0, PAUSE))
    raise ServiceError(f"model {model}", "is being promoted by another process", f"rag bundle promote {model}")


def _has_others(tags: Mapping[str, str], claim: str) -> bool:
    others = [began for name, began in tags.items() if name.startswith(CLAIM) and name != claim]
    return any(began.isdecimal() and float(began) > time.time() - STALE for began in others)


@dataclass(frozen=True)
class Promotion:
    """The verdict of a gate on a version; `champion` is the version before, None for the first."""

    gate: Gate
    challenger: Version
    champion: Version | None
    verdict: Verdict
    sentence: str
    rows: tuple[Row, ...] = ()
    bounds: tuple[BoundResult, ...] = ()

    @property
    def promoted(self) -> bool:
        """Whether the alias was moved: the gate passes, or an inconclusive one is set to pass."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """The exit code, as that of `rag gate`."""
        return {PASS: 0, FAIL: 1}.get(self.verdict, EXIT_CODES[self.gate.inconclusive])

    def to_json(self) -> dict[str, Any]:
        """What `rag bundle promote --json` prints."""
        sides = {"champion": self.champion, "challenger": self.challenger}
        return {
            "model": self.challenger.model,
            "promoted": self.promoted,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "split": self.challenger.scores.split,
            **{name: _version_json(side) for name, side in sides.items()},
            "rows": [row.to_json() for row in self.rows],
            "bounds": [kept.to_json() for kept in self.bounds],
        }


def _version_json(version: Version | None) -> dict[str, Any] | None:
    if version is None:
        return None
    result = version.scores.result
    return {"version": version.number, "bundle": version.digest, "trial": result.trial_id, "name": result.name}


@dataclass(frozen=True)
class PromotionRequest:
    """Options of a promotion: the experiment whose gate counts, what may differ, and what an inconclusive gate means."""

    experiment: str = ""
    bridges: tuple[str, ...] = ()
    inconclusive: str = ""


def promote(model: str, number: int | None = None, asked: PromotionRequest = PromotionRequest()) -> Promotion:
    """Compare a version with the champion, by the scores in their bundles, and move the alias if the gate passes.

    The default version is that of the alias `challenger`. Without a champion only the bounds of the gate decide. UserError for
    bundles that cannot be compared, and for an alias that was moved meanwhile.
    """
    with registry(f"rag bundle promote {model}") as client, ExitStack() as open_until:
        new, known = versions.challenger(client, model, number), versions.champion(client, model)
        if known is not None and known.version == new.version:
            what = "is the champion already"
            raise DataError(f"{model} version {new.version}", what, "register another bundle, or name another --version")
        candidate = open_until.enter_context(versions.fetched(new))
        champion = open_until.enter_context(versions.fetched(known)) if known is not None else None
        promotion = judged(candidate, champion, asked)
        if promotion.promoted:
            _move(client, promotion)
    return promotion


def _move(client: "MlflowClient", promotion: Promotion) -> None:
    """Set `champion` to the version; ServiceError if it is no longer the version that was compared with."""
    model, number = promotion.challenger.model, str(promotion.challenger.number)
    with alone(client, model):
        known = versions.champion(client, model)
        if (known and int(known.version)) != (promotion.champion and promotion.champion.number):
            what = f"was moved meanwhile: it is {f'version {known.version}' if known else 'not set'} now"
            raise ServiceError(f"{model}@{CHAMPION}", what, f"rag bundle promote {model}")
        client.set_model_version_tag(model, number, "assay.gate", f"{promotion.verdict}: {promotion.sentence}"[:500])
        client.set_registered_model_alias(model, CHAMPION, number)
        if CHALLENGER in client.get_model_version(model, number).aliases:
            client.delete_registered_model_alias(model, CHALLENGER)


def judged(candidate: Version, champion: Version | None, asked: PromotionRequest) -> Promotion:
    """The verdict of the experiment's gate on a candidate."""
    gate = _gate(candidate, asked)
    warned = advisory(gate, candidate)
    if champion is None:
        kept = tuple(_check_first(bound, candidate, bound.column in warned) for bound in gate.bounds)
        verdict = verdicts.overall(kept)
        sentence = "The first champion: there is none to compare with. " + verdicts.said_of(verdict, (), kept)
        return Promotion(gate, candidate, None, verdict, sentence, (), kept)
    same = champion.scores.score == candidate.scores.score
    pair = _pair(gate, candidate, champion, asked.bridges)
    rows = decide.decide(pair, gate.margins, same, warned)
    kept = tuple(_check_bound(bound, pair, candidate, champion, bound.column in warned) for bound in gate.bounds)
    verdict = verdicts.overall((*rows, *kept))
    sentence = verdicts.said_of(verdict, rows, kept) + _caveat(gate, candidate)
    return Promotion(gate, candidate, champion, verdict, sentence, rows, kept)


def _gate(candidate: Version, asked: PromotionRequest) -> Gate:
    """The gate of the experiment as it is now."""
    name = asked.experiment or candidate.manifest.experiment
    if not name:
        what = "does not name the experiment that it comes from"
        raise ConfigError(candidate.where, what, "--experiment NAME, whose gate counts")
    try:
        declared = experiment.load(name)
    except ConfigError as error:
        raise ConfigError(error.where, error.what, f"--experiment NAME, whose gate counts; {error.remedy}") from error
    gate = spec.parse(declared.gate, declared.objective, candidate.scores.result.scores.columns)
    return replace(gate, inconclusive=spec.check_inconclusive(asked.inconclusive)) if asked.inconclusive else gate


def _pair(gate: Gate, candidate: Version, champion: Version, bridges: Sequence[str]) -> Pair:
    """The questions that both were measured on; UserError if the measurements are not comparable."""
    there, here = champion.scores, candidate.scores
    if there.split != here.split:
        what = f"was measured on {here.split!r}, and {champion.where} on {there.split!r}"
        raise DataError(candidate.where, what, "export both again, from sweeps that ask the same questions")
    columns = (*gate.columns, *(bound.column for bound in gate.bounds))
    compare.comparable(there.result, here.result, bridges, columns)
    missing = [column for column in gate.columns if column not in there.result.scores.columns]
    if missing:
        raise DataError(champion.where, f"holds no scores of {missing[0]!r}", "export its trial again, and register that")
    return decide.paired(there.result, here.result, questions_of([Side(here.result)]), gate.columns)


def _check_first(bound: Bound, candidate: Version, is_advisory: bool) -> BoundResult:
    if bound.column == RATIO:
        return BoundResult(bound.text, None, None, None, PASS, "not measured: there is nothing to be slower than")
    return limits.hold_scores(bound, candidate.scores.result, is_advisory)


def _check_bound(bound: Bound, pair: Pair, candidate: Version, champion: Version, is_advisory: bool) -> BoundResult:
    if bound.column != RATIO:
        return limits.hold_scores(bound, candidate.scores.result, is_advisory)
    if candidate.digest == champion.digest:
        return BoundResult(bound.text, None, None, None, PASS, "not measured: the bundles are the same")
    return limits.hold_ratio(bound, _ratio(pair, candidate, champion))


def _ratio(pair: Pair, candidate: Version, champion: Version) -> latency.Ratio:
    """The ratio of latencies of the two pipelines on this machine, timed in turns."""
    # The bundles are kept in variables: their models are removed with them.
    before, after = open_bundle(champion.path), open_bundle(candidate.path)
    return latency.ratio_of_p95(latency.timed(before.pipeline, after.pipeline, pair.golden.examples))


def _caveat(gate: Gate, candidate: Version) -> str:
    split = candidate.scores.split
    if split in (gate.split, "all"):
        return ""
    return f" These are the questions of {split}, by which the trials were chosen, and not of {gate.split}: expect less."
