"""The report of a gate as a record and as JSON; the same change gives the same bytes."""

import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rag.analysis import blame, compare
from rag.analysis.baseline import Baseline
from rag.analysis.compare.comparability import differences_in_words
from rag.analysis.gate import candidate, decide, differences, limits, measure, sample
from rag.analysis.gate.decide import Pair, Row
from rag.analysis.gate.finding import FAIL, INCONCLUSIVE, PASS, SLACK, Verdict
from rag.analysis.gate.limits import BoundResult
from rag.analysis.gate.measure import Gated
from rag.analysis.gate.power import power_in_words
from rag.analysis.gate.spec import EXIT_CODES, Margin
from rag.config.experiment import Experiment
from rag.core.errors import CRASHED, ConfigError, DataError
from rag.core.figures import amount
from rag.core.numbers import jsonable
from rag.core.redaction import redacted_text
from rag.evaluation.data.slices import slices_along
from rag.execution.graph.engine import cause_of
from rag.execution.judges import judge_report

MOST_LOST = 10
KEPT_PLACE = "found, but ranked lower"
"""The stage of a question that lost although its evidence is within the cut."""
OTHERWISE = "found, but answered otherwise"
"""The stage of a question that lost in columns of answers only."""


@dataclass(frozen=True)
class Lost:
    """A question that lost: its scores before and after by column, and the stage that lost it."""

    query_id: str
    text: str
    kind: str
    scores: dict[str, tuple[float, float]]
    stage: str


@dataclass(frozen=True)
class GateReport:
    """The result of a gate. `lost` are the questions that lost most, `losses` counts all losses by stage.

    `compared` counts the questions that baseline and candidate share, `questions` those of the candidate; `apart` describes
    the others. `baseline` and `candidate` are trial id and name. `changed` lists differences of config, models and data: key,
    baseline, candidate. `replaced` describes what a pull request did to its own baseline, `notes` are about files of scores.
    """

    experiment: str
    split: str
    questions: int
    inconclusive: str
    baseline: tuple[str, str]
    candidate: tuple[str, str]
    verdict: Verdict
    sentence: str
    rows: tuple[Row, ...] = ()
    bounds: tuple[BoundResult, ...] = ()
    lost: tuple[Lost, ...] = ()
    losses: tuple[tuple[str, int], ...] = ()
    error: str = ""
    changed: tuple[tuple[str, Any, Any], ...] = ()
    compared: int = 0
    apart: str = ""
    replaced: str = ""
    notes: tuple[str, ...] = ()

    @property
    def counted(self) -> str:
        """The number of compared questions, in words."""
        if self.compared == self.questions and not self.apart:
            return amount(self.questions, "question")
        since = f" (since the baseline: {self.apart})" if self.apart else ""
        return f"{self.compared} of {self.questions} questions{since}"

    @property
    def power(self) -> str:
        """How likely the gate finds a loss, by row."""
        return power_in_words((row.name, row.loss, row.power) for row in self.rows)

    @property
    def judged(self) -> tuple[Row | BoundResult, ...]:
        """Rows and bounds: everything with its own verdict."""
        return (*self.rows, *self.bounds)

    @property
    def exit_code(self) -> int:
        """0 for PASS, 1 for FAIL, CRASHED for a candidate that did not run, the code of the gate for INCONCLUSIVE."""
        if self.error:
            return CRASHED
        return {PASS: 0, FAIL: 1}.get(self.verdict, EXIT_CODES[self.inconclusive])

    def to_json(self) -> dict[str, Any]:
        """What `rag gate --json` prints; independent of timings and of what was computed."""
        told = jsonable(asdict(self)) | {"power": self.power, "exit_code": self.exit_code, "losses": dict(self.losses)}
        told |= {side: dict(zip(("trial", "name"), told[side], strict=True)) for side in ("baseline", "candidate")}
        told["changed"] = [{"key": key, "baseline": old, "candidate": new} for key, old, new in self.changed]
        return {name: value for name, value in told.items() if name != "inconclusive"}


def command(experiment: Experiment, kept: Baseline, changes: Sequence[str] = ()) -> str:
    """The command of a gate on the questions of a baseline, under some changes, with the store of the experiment."""
    own = candidate.of_data(kept.overrides)
    own += [override for override in experiment.typed[1:] if candidate.key_of(override) in ("store", "data")]
    return shlex.join(["rag", "gate", experiment.typed[0], *own, *candidate.under(own, changes)])


def check(gated: Gated, bridges: Collection[str]) -> None:
    """Raise DataError before anything runs if baseline and candidate are not comparable.

    Also for a baseline that lacks questions of its golden set, or contradicts the store.
    """
    ready = gated.candidate
    columns = (*gated.gate.columns, *(bound.column for bound in gated.gate.bounds))
    try:
        compare.comparable(gated.kept.result, measure.today(gated), bridges, columns)
    except (ConfigError, DataError) as error:
        if error.where == "--bridge":
            raise
        remedy = f"make it again: rag study baseline {gated.kept.experiment}; or, {error.remedy}"
        if candidate.of_data(gated.kept.overrides):
            remedy = f"ask its questions: {command(ready.plan.experiment, gated.kept, gated.changes)}; or {remedy}"
        raise DataError(str(gated.path), error.what, remedy) from error
    sample.check_store(gated.kept, ready.store, gated.path)


def report_on(gated: Gated, error: str = "", computed: str = "", previous: Path | None = None) -> GateReport:
    """The report on a candidate that ran; `error` is the error of a failed candidate, `computed` the result of `sample`.

    `previous` is the path of the baseline of the target branch of a pull request.
    """
    there, here = gated.kept.result, gated.candidate.trial
    sides = (there.trial_id, there.name), (here.trial_id, here.trial.name)
    about = (gated.kept.experiment, gated.gate.split, len(here.golden.examples), gated.gate.inconclusive, *sides)
    changed, replaced = differences.changes(gated), differences.replacement(gated, previous) if previous else ""
    if error:
        reason = last_line(error)
        said = f"The candidate did not run: {reason}"
        return GateReport(*about, FAIL, said, error=reason, changed=changed, replaced=replaced)
    result = measure.result(gated)
    warned = limits.advisory(gated)
    pair = decide.paired(gated.kept.result, result, gated.candidate.trial.golden, gated.gate.columns)
    left = _absent(gated, pair)
    rows = decide.decide(pair, [margin for margin in gated.gate.margins if margin not in left], gated.same, warned)
    held = limits.hold(gated, result, warned)
    verdict = overall([*rows, *held])
    ready = (gated.candidate.plan, gated.candidate.store, [gated.candidate.trial])
    judges = (*judge_report.assessors(*ready), *judge_report.asking(*ready))
    unjudged = "".join(f" {judge.lost}." for judge in judges if judge.failed)  # a comparison of the others may hide them
    sentence = said_of(verdict, rows, held, gated.same) + unjudged + differences.reason(gated, changed, computed)
    sentence += f" These documents have no question of {', '.join(margin.slice for margin in left)}." if left else ""
    lost, losses = ((), ()) if gated.same else _lost(gated, pair, rows)
    apart = differences_in_words(gated.kept.result, result)
    compared = len(pair.golden.examples)
    return GateReport(*about, verdict, sentence, rows, held, lost, losses, "", changed, compared, apart, replaced)


def _absent(gated: Gated, pair: Pair) -> list[Margin]:
    """The margins of slices without a question, where overrides name other data than the experiment was written for."""
    own = candidate.of_data((*gated.kept.overrides, *gated.changes))
    single = [margin for margin in gated.gate.margins if own and "=" in margin.slice]
    known = {part.name for part in slices_along(pair.golden, [margin.slice.partition("=")[0] for margin in single])}
    return [margin for margin in single if margin.slice not in known]


def last_line(error: str) -> str:
    """The message of an error without secrets."""
    return redacted_text("error", cause_of(error))


def overall(judged: Sequence[Row | BoundResult]) -> Verdict:
    """FAIL if anything failed, else INCONCLUSIVE if anything is open; advisory results do not count."""
    verdicts = {each.verdict for each in judged if not each.advisory}
    return FAIL if FAIL in verdicts else INCONCLUSIVE if INCONCLUSIVE in verdicts else PASS


def said_of(verdict: Verdict, rows: Sequence[Row], held: Sequence[BoundResult], same: bool = False) -> str:
    """The verdict in one or two sentences."""
    judged: list[Row | BoundResult] = [*rows, *held]
    decisive = [each for each in judged if each.verdict == verdict and not each.advisory]
    names = "; ".join(each.name for each in decisive)
    if verdict == PASS:
        passed = "Nothing is worse by more than its margin." if rows else "Every bound is kept."
        sentence = "Nothing that a score depends on differs from the baseline." if same else passed
    elif verdict == FAIL:
        sentence = f"{names}: {'worse' if decisive[0] in rows else 'broken'}."
    else:
        most = max((each.needed for each in decisive if each.needed), default=None)
        which = "it" if len(decisive) == 1 else "what needs most"
        settle = f" About {most:,} questions would settle {which}." if most else ""
        sentence = f"These questions cannot settle it: {names}.{settle}"
    warned = "; ".join(each.name for each in judged if each.label == "WARN")
    return sentence + (f" No calibration card, so a warning: {warned}." if warned else "")


def _lost(gated: Gated, pair: Pair, rows: Sequence[Row]) -> tuple[tuple[Lost, ...], tuple[tuple[str, int], ...]]:
    """The questions that lost most, in the columns that did not pass or, if all passed, in all; and all losses by stage."""
    ready = gated.candidate
    doubtful = [row.column for row in rows if row.verdict != PASS] or list(pair.columns)
    places = [pair.columns.index(column) for column in dict.fromkeys(doubtful)]
    if not places:
        return (), ()
    lost = -np.nansum(pair.differences[:, places], axis=1)
    order = [int(row) for row in np.lexsort((np.arange(len(lost)), -lost)) if lost[row] > SLACK]
    if not order:
        return (), ()
    parts = (ready.trial, ready.plan, ready.store)
    stages = {each.query_id: each.stage for each in blame.lost_questions(*parts, wrong=blame.wrong(*parts))}
    questions = [_question(pair, row, places, stages) for row in order]
    return tuple(questions[:MOST_LOST]), tuple(Counter(each.stage for each in questions).most_common())


def _question(pair: Pair, row: int, places: Sequence[int], stages: dict[str, str]) -> Lost:
    example = pair.golden.examples[row]
    sides = {
        pair.columns[place]: (float(pair.base[row, place]), float(pair.candidate[row, place]))
        for place in places
        if not np.isnan(pair.differences[row, place])
    }
    ranked = any("@" in column and is_ < was for column, (was, is_) in sides.items())
    query, default = example.query, KEPT_PLACE if ranked else OTHERWISE
    return Lost(query.query_id, query.text, example.kind, sides, stages.get(query.query_id, default))
