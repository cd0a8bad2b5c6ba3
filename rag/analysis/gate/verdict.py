"""The verdict of a gate, with everything that it was read from, as a record and as JSON: the same change, the same bytes."""

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
from rag.analysis.gate import candidate, decide, limits, measure, sample
from rag.analysis.gate.decide import FAIL, INCONCLUSIVE, PASS, Pair, Row, Verdict
from rag.analysis.gate.differences import changes, reason, replacement
from rag.analysis.gate.limits import Kept
from rag.analysis.gate.measure import Gated, Prepared
from rag.analysis.gate.spec import EXIT_CODES
from rag.config.experiment import Experiment
from rag.core.errors import CRASHED, ConfigError, DataError
from rag.core.redaction import redacted_text
from rag.execution.judges import judge_report
from rag.execution.sweep import trial_scores

MOST_LOST = 10
KEPT_PLACE = "found, but ranked lower"
"""Where a question lost that is still found within its cut."""
OTHERWISE = "found, but answered otherwise"
"""Where one lost whose answer alone did."""


@dataclass(frozen=True)
class Lost:
    """A question that lost: its scores before and after by column, and the stage that lost it now, if one did."""

    query_id: str
    text: str
    kind: str
    scores: dict[str, tuple[float, float]]
    stage: str


@dataclass(frozen=True)
class GateReport:
    """What a gate says. `lost` are the questions that lost most, `losses` counts all of them by the stage that lost them.

    `compared` are the questions that baseline and candidate share, `questions` those of the candidate, and `apart` says how
    the others differ. `changed` says where today's config, models and data differ from the baseline's: key, there, here.
    `replaced` says what a pull request did to its own baseline.
    """

    gated: Gated
    verdict: Verdict
    sentence: str
    rows: tuple[Row, ...] = ()
    bounds: tuple[Kept, ...] = ()
    lost: tuple[Lost, ...] = ()
    losses: tuple[tuple[str, int], ...] = ()
    error: str = ""
    changed: tuple[tuple[str, Any, Any], ...] = ()
    compared: int = 0
    apart: str = ""
    replaced: str = ""

    @property
    def questions(self) -> int:
        """How many questions the candidate was planned for."""
        return len(self.gated.candidate.trial.golden.examples)

    @property
    def counted(self) -> str:
        """How many questions were compared, in words."""
        if self.compared == self.questions and not self.apart:
            return f"{self.questions} question{'' if self.questions == 1 else 's'}"
        since = f" (since the baseline: {self.apart})" if self.apart else ""
        return f"{self.compared} of {self.questions} questions{since}"

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return self.gated.kept.experiment

    @property
    def judged(self) -> tuple[Row | Kept, ...]:
        """Everything that has a verdict of its own."""
        return (*self.rows, *self.bounds)

    @property
    def exit_code(self) -> int:
        """0 for PASS, 1 for FAIL, CRASHED for a candidate that did not run, the code of the gate for INCONCLUSIVE."""
        if self.error:
            return CRASHED
        return {PASS: 0, FAIL: 1}.get(self.verdict, EXIT_CODES[self.gated.gate.inconclusive])

    def to_json(self) -> dict[str, Any]:
        """What `rag gate --json` prints; nothing in it tells how long it took, or what was computed for it."""
        there, here = self.gated.kept.result, self.gated.candidate.trial
        return {
            "experiment": self.experiment,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "exit_code": self.exit_code,
            "split": self.gated.gate.split,
            "questions": self.questions,
            "compared": self.compared,
            "apart": self.apart,
            "baseline": {"trial": there.trial_id, "name": there.name},
            "candidate": {"trial": here.trial_id, "name": here.trial.name},
            "changed": [{"key": key, "baseline": old, "candidate": new} for key, old, new in self.changed],
            "rows": [row.to_json() for row in self.rows],
            "bounds": [kept.to_json() for kept in self.bounds],
            "lost": [asdict(question) for question in self.lost],
            "losses": dict(self.losses),
            "error": self.error,
            "replaced": self.replaced,
        }


def command(experiment: Experiment, kept: Baseline, changes: Sequence[str] = ()) -> str:
    """The command that asks the questions of a baseline of an experiment, under some changes."""
    own = candidate.asking(experiment, kept.result.config)
    others = candidate.under(["dataset=", *own], changes) if own else changes
    return shlex.join(["rag", "gate", experiment.name, *own, *others])


def check(gated: Gated, bridges: Collection[str]) -> None:
    """Raise DataError where baseline and candidate do not measure the same thing, before anything runs.

    Also for a baseline that does not hold the questions of its golden set, or contradicts the store.
    """
    ready = gated.candidate
    looked = (*gated.gate.columns, *(bound.column for bound in gated.gate.bounds))
    try:
        compare.comparable(gated.kept.result, _today(gated), bridges, looked)
    except (ConfigError, DataError) as error:
        if error.where == "--bridge":
            raise
        remedy = f"make it again: rag baseline {gated.kept.experiment}; or, {error.remedy}"
        if candidate.asking(ready.plan.experiment, gated.kept.result.config):
            remedy = f"ask its questions: {command(ready.plan.experiment, gated.kept, gated.changes)}; or {remedy}"
        raise DataError(str(gated.path), error.what, remedy) from error
    sample.check_store(gated.kept, ready.store, gated.path)


def _today(gated: Gated) -> trial_scores.Result:
    """The candidate before it ran: its questions and fingerprints, with the scores of the baseline in their place."""
    planned = gated.candidate.trial
    names = (planned.trial_id, planned.trial.name, planned.trial.choices, planned.trial.config)
    questions = {example.query.query_id: trial_scores.question_digest(example) for example in planned.golden.examples}
    return trial_scores.Result(*names, gated.kept.result.scores, questions, trial_scores.fingerprints(planned))


def report_on(gated: Gated, error: str = "", computed: str = "", previous: Path | None = None) -> GateReport:
    """The verdict over a candidate that ran; `error` is what kept it from its scores, `computed` what `sample` says.

    `previous` is the baseline of the branch that a pull request goes to, or where it would be.
    """
    changed, replaced = changes(gated), replacement(gated, previous) if previous else ""
    if error:
        said = last_line(error)
        return GateReport(gated, FAIL, f"The candidate did not run: {said}", error=said, changed=changed, replaced=replaced)
    found = measure.result(gated)
    warned = limits.advisory(gated)
    pair = decide.paired(gated.kept.result, found, gated.candidate.trial.golden, gated.gate.columns)
    rows = decide.decide(pair, gated.gate.margins, gated.same, warned)
    held = limits.hold(gated, found, warned)
    verdict = overall([*rows, *held])
    said = said_of(verdict, rows, held, gated.same) + _unjudged(gated) + reason(gated, changed, computed)
    lost, losses = ((), ()) if gated.same else _lost(gated, pair, rows)
    apart = differences_in_words(gated.kept.result, _today(gated))
    compared = len(pair.golden.examples)
    return GateReport(gated, verdict, said, rows, held, lost, losses, "", changed, compared, apart, replaced)


def _unjudged(gated: Gated) -> str:
    """What judges could not judge of the candidate: a column that compares the rest alone may hide it."""
    ready = gated.candidate
    asked = (ready.plan, ready.store, [ready.trial])
    return "".join(
        f" {judge.lost}." for judge in (*judge_report.assessors(*asked), *judge_report.asking(*asked)) if judge.failed
    )


def last_line(error: str) -> str:
    """What an error says, without secrets: the first line of ours, the last one of a traceback."""
    lines = error.strip().splitlines() or [""]
    return redacted_text("error", lines[-1 if lines[0].startswith("Traceback") else 0])


def overall(judged: Sequence[Row | Kept]) -> Verdict:
    """FAIL if anything failed, else INCONCLUSIVE if anything is open; what only advises does not count."""
    found = {each.verdict for each in judged if not each.advisory}
    if FAIL in found:
        return FAIL
    return INCONCLUSIVE if INCONCLUSIVE in found else PASS


def said_of(verdict: Verdict, rows: Sequence[Row], held: Sequence[Kept], same: bool = False) -> str:
    """The verdict in a sentence or two."""
    judged: list[Row | Kept] = [*rows, *held]
    warned = [each.name for each in judged if each.shown == "WARN"]
    return _said(verdict, rows, held, same) + (f" No calibration card, so a warning: {'; '.join(warned)}." if warned else "")


def _said(verdict: Verdict, rows: Sequence[Row], held: Sequence[Kept], same: bool) -> str:
    if verdict == PASS:
        if same:
            return "Nothing that a score depends on differs from the baseline."
        return "Nothing is worse by more than its margin." if rows else "Every bound is kept."
    judged: list[Row | Kept] = [*rows, *held]
    decisive = [each for each in judged if each.verdict == verdict and not each.advisory]
    if verdict == FAIL:
        return f"{'; '.join(each.name for each in decisive)}: {'worse' if decisive[0] in rows else 'broken'}."
    most = max((each.needed for each in decisive if each.needed), default=None)
    which = "it" if len(decisive) == 1 else "what needs most"
    settle = f" About {most:,} questions would settle {which}." if most else ""
    return f"Not to be told from these questions: {'; '.join(each.name for each in decisive)}.{settle}"


def _lost(gated: Gated, pair: Pair, rows: Sequence[Row]) -> tuple[tuple[Lost, ...], tuple[tuple[str, int], ...]]:
    """The questions that lost most, in the columns that did not pass or, if all did, in all; and all losses by stage."""
    ready = gated.candidate
    doubtful = [row.column for row in rows if row.verdict != PASS] or list(pair.columns)
    places = [pair.columns.index(column) for column in dict.fromkeys(doubtful)]
    if not places:
        return (), ()
    lost = -np.nansum(pair.differences[:, places], axis=1)
    order = [int(row) for row in np.lexsort((np.arange(len(lost)), -lost)) if lost[row] > decide.SLACK]
    stages = _stages(ready) if order else {}
    found = [_question(pair, row, places, stages) for row in order]
    return tuple(found[:MOST_LOST]), tuple(Counter(each.stage for each in found).most_common())


def _stages(ready: Prepared) -> dict[str, str]:
    wrong = blame.wrong(ready.trial, ready.plan, ready.store)
    return {each.query_id: each.stage for each in blame.lost_questions(ready.trial, ready.plan, ready.store, wrong=wrong)}


def _question(pair: Pair, row: int, places: Sequence[int], stages: dict[str, str]) -> Lost:
    example = pair.golden.examples[row]
    sides = {
        pair.columns[place]: (float(pair.base[row, place]), float(pair.candidate[row, place]))
        for place in places
        if not np.isnan(pair.differences[row, place])
    }
    ranked = any("@" in column and is_ < was for column, (was, is_) in sides.items())
    query, kept = example.query, KEPT_PLACE if ranked else OTHERWISE
    return Lost(query.query_id, query.text, example.kind, sides, stages.get(query.query_id, kept))
