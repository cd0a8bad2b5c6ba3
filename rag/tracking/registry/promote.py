"""The alias `champion` moves to another version of a model when the gate of the experiment lets it."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rag.analysis import compare
from rag.analysis.compare.trials import Side, questions_of
from rag.analysis.gate import decide, latency, limits, spec
from rag.analysis.gate import verdict as told
from rag.analysis.gate.decide import FAIL, PASS, Pair, Row, Verdict
from rag.analysis.gate.limits import Kept
from rag.analysis.gate.spec import EXIT_CODES, RATIO, Gate
from rag.bundle.open_bundle import open_bundle
from rag.config import experiment
from rag.core.errors import ConfigError, DataError, ServiceError
from rag.execution.sweep.objective import Bound
from rag.tracking.registry import versions
from rag.tracking.registry.promotion_lock import alone
from rag.tracking.registry.register import CHALLENGER, CHAMPION
from rag.tracking.registry.service import registry
from rag.tracking.registry.uncalibrated_metrics import advisory
from rag.tracking.registry.versions import Version

if TYPE_CHECKING:
    from mlflow import MlflowClient


@dataclass(frozen=True)
class Promotion:
    """What a gate says of a version, and whether it is the champion now. `champion` is the one before, None for the first."""

    gate: Gate
    challenger: Version
    champion: Version | None
    verdict: Verdict
    sentence: str
    rows: tuple[Row, ...] = ()
    bounds: tuple[Kept, ...] = ()

    @property
    def promoted(self) -> bool:
        """Whether the alias points at it: past the gate, or where the gate is told to let pass what cannot be told."""
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """As that of `rag gate`."""
        return {PASS: 0, FAIL: 1}.get(self.verdict, EXIT_CODES[self.gate.inconclusive])

    def to_json(self) -> dict[str, Any]:
        """What `rag promote --json` prints."""
        sides = {"champion": self.champion, "challenger": self.challenger}
        return {
            "model": self.challenger.model,
            "promoted": self.promoted,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "split": self.challenger.scores.split,
            **{name: _called(side) for name, side in sides.items()},
            "rows": [row.to_json() for row in self.rows],
            "bounds": [kept.to_json() for kept in self.bounds],
        }


def _called(version: Version | None) -> dict[str, Any] | None:
    if version is None:
        return None
    found = version.scores.result
    return {"version": version.number, "bundle": version.digest, "trial": found.trial_id, "name": found.name}


@dataclass(frozen=True)
class PromotionRequest:
    """How a promotion is asked for: the experiment whose gate counts, what may differ, and what a gate is that cannot tell."""

    experiment: str = ""
    bridges: tuple[str, ...] = ()
    inconclusive: str = ""


def promote(model: str, number: int | None = None, asked: PromotionRequest = PromotionRequest()) -> Promotion:
    """Hold a version against the champion, by the scores that their bundles were measured with; move the alias if it passes.

    The version is that of the alias `challenger` unless told. Where there is no champion yet, the bounds of the gate decide
    alone. UserError for what cannot be compared, and where somebody moved the alias meanwhile.
    """
    with registry(f"rag promote {model}") as client, ExitStack() as open_until:
        new, known = versions.challenger(client, model, number), versions.champion(client, model)
        if known is not None and known.version == new.version:
            what = "is the champion already"
            raise DataError(f"{model} version {new.version}", what, "register another bundle, or name another --version")
        candidate = open_until.enter_context(versions.fetched(new))
        champion = open_until.enter_context(versions.fetched(known)) if known is not None else None
        found = held(candidate, champion, asked)
        if found.promoted:
            _move(client, found)
    return found


def _move(client: "MlflowClient", found: Promotion) -> None:
    """Point `champion` at the version, if it is still whom it was compared with."""
    with alone(client, found.challenger.model):
        _move_alone(client, found)


def _move_alone(client: "MlflowClient", found: Promotion) -> None:
    model, candidate = found.challenger.model, found.challenger
    known = versions.champion(client, model)
    if (known and int(known.version)) != (found.champion and found.champion.number):
        now = f"is version {known.version} by now" if known else "is none by now"
        raise ServiceError(f"{model}@{CHAMPION}", f"{now}: somebody moved it meanwhile", f"rag promote {model}")
    client.set_model_version_tag(model, str(candidate.number), "assay.gate", f"{found.verdict}: {found.sentence}"[:500])
    client.set_registered_model_alias(model, CHAMPION, str(candidate.number))
    if CHALLENGER in client.get_model_version(model, str(candidate.number)).aliases:
        client.delete_registered_model_alias(model, CHALLENGER)


def held(candidate: Version, champion: Version | None, asked: PromotionRequest) -> Promotion:
    """What the gate of the candidate's experiment says of it."""
    gate = _gate(candidate, asked)
    warned = advisory(gate, candidate)
    if champion is None:
        kept = tuple(_first(bound, candidate, bound.column in warned) for bound in gate.bounds)
        verdict = told.overall(kept)
        said = "The first champion: there is none to compare with. " + told.said_of(verdict, (), kept)
        return Promotion(gate, candidate, None, verdict, said, (), kept)
    same = champion.scores.score == candidate.scores.score
    pair = _pair(gate, candidate, champion, asked.bridges)
    rows = decide.decide(pair, gate.margins, same, warned)
    kept = tuple(_kept(bound, pair, candidate, champion, bound.column in warned) for bound in gate.bounds)
    verdict = told.overall((*rows, *kept))
    return Promotion(
        gate, candidate, champion, verdict, told.said_of(verdict, rows, kept) + _asked(gate, candidate), rows, kept
    )


def _gate(candidate: Version, asked: PromotionRequest) -> Gate:
    """The gate, as the experiment has it today."""
    name = asked.experiment or candidate.manifest.experiment
    if not name:
        raise ConfigError(
            candidate.where, "does not say which experiment it comes from", "--experiment NAME, whose gate counts"
        )
    try:
        declared = experiment.load(name)
    except ConfigError as error:
        raise ConfigError(error.where, error.what, f"--experiment NAME, whose gate counts; {error.remedy}") from error
    gate = spec.parse(declared.gate, declared.objective, candidate.scores.result.scores.columns)
    return replace(gate, inconclusive=spec.check_inconclusive(asked.inconclusive)) if asked.inconclusive else gate


def _pair(gate: Gate, candidate: Version, champion: Version, bridges: Sequence[str]) -> Pair:
    """The questions that both were measured on; UserError where they did not measure the same thing."""
    there, here = champion.scores, candidate.scores
    if there.split != here.split:
        what = f"was measured on {here.split!r}, and {champion.where} on {there.split!r}"
        raise DataError(candidate.where, what, "export both anew, from sweeps that ask the same questions")
    looked = (*gate.columns, *(bound.column for bound in gate.bounds))
    compare.comparable(there.result, here.result, bridges, looked)
    missing = [column for column in gate.columns if column not in there.result.scores.columns]
    if missing:
        raise DataError(champion.where, f"holds no scores of {missing[0]!r}", "export its trial anew, and register that")
    return decide.paired(there.result, here.result, questions_of([Side(here.result)]), gate.columns)


def _first(bound: Bound, candidate: Version, is_advisory: bool) -> Kept:
    if bound.column == RATIO:
        return Kept(bound.text, None, None, None, PASS, "not measured: there is nothing to be slower than")
    return limits.hold_scores(bound, candidate.scores.result, is_advisory)


def _kept(bound: Bound, pair: Pair, candidate: Version, champion: Version, is_advisory: bool) -> Kept:
    if bound.column != RATIO:
        return limits.hold_scores(bound, candidate.scores.result, is_advisory)
    if candidate.digest == champion.digest:
        return Kept(bound.text, None, None, None, PASS, "not measured: the bundles are the same")
    return limits.hold_ratio(bound, _ratio(pair, candidate, champion))


def _ratio(pair: Pair, candidate: Version, champion: Version) -> latency.Ratio:
    """How much slower the sealed pipelines answer here, timed in turns."""
    # Kept while they are timed: models that a bundle has inside go with it.
    before, after = open_bundle(champion.path), open_bundle(candidate.path)
    return latency.ratio_of_p95(latency.timed(before.pipeline, after.pipeline, pair.golden.examples))


def _asked(gate: Gate, candidate: Version) -> str:
    split = candidate.scores.split
    if split in (gate.split, "all"):
        return ""
    return f" These are the questions of {split}, by which the trials were chosen, and not of {gate.split}: expect less."
