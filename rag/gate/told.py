"""The verdict of a gate, with everything that it was read from, as a record and as JSON: the same change, the same bytes."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rag import assessors, baseline, blame, compare, results
from rag.errors import ConfigError, DataError
from rag.gate import bounds, candidate, decide, measure
from rag.gate.bounds import Kept
from rag.gate.decide import FAIL, INCONCLUSIVE, PASS, Pair, Row, Verdict
from rag.gate.measure import Gated, Prepared
from rag.gate.spec import EXIT_CODES
from rag.redaction import shown

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
class Told:
    """What a gate says. `lost` are the questions that lost most, `losses` counts all of them by the stage that lost them.

    `changed` says where today's config differs from the baseline's: key, there, here.
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
        """0 for PASS, 1 for FAIL, and for INCONCLUSIVE what the gate says of it."""
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
            "questions": len(here.golden.examples),
            "baseline": {"trial": there.trial_id, "name": there.name},
            "candidate": {"trial": here.trial_id, "name": here.trial.name},
            "changed": [{"key": key, "baseline": old, "candidate": new} for key, old, new in self.changed],
            "rows": [row.to_json() for row in self.rows],
            "bounds": [kept.to_json() for kept in self.bounds],
            "lost": [asdict(question) for question in self.lost],
            "losses": dict(self.losses),
            "error": self.error,
        }


def changes(gated: Gated) -> tuple[tuple[str, Any, Any], ...]:
    """Where today's config, or the models behind it, differ from the baseline's: key, there, here."""
    ready = gated.candidate
    found = candidate.changed(gated.kept.result.config, baseline.portable(ready.trial.trial.config))
    sides = gated.kept.models, baseline.models_of(ready.trial, ready.plan)
    models = [(f"{role} model", sides[0].get(role), sides[1].get(role)) for role in dict.fromkeys((*sides[0], *sides[1]))]
    return (*found, *(model for model in models if model[1] != model[2]))


def check(gated: Gated, bridges: Collection[str]) -> None:
    """Raise DataError where baseline and candidate do not measure the same thing, before anything runs."""
    planned, kept = gated.candidate.trial, gated.kept.result
    names = (planned.trial_id, planned.trial.name, planned.trial.choices, planned.trial.config)
    questions = {example.query.query_id: results.question_digest(example) for example in planned.golden.examples}
    looked = (*gated.gate.columns, *(bound.column for bound in gated.gate.bounds))
    here = results.Result(*names, kept.scores, questions, results.fingerprints(planned))
    try:
        compare.comparable(kept, here, bridges, looked)
    except ConfigError as error:
        if error.where == "--bridge":
            raise
        remedy = f"make it again: rag baseline {gated.kept.experiment}; or, {error.remedy}"
        raise DataError(str(gated.path), error.what, remedy) from error


def of(gated: Gated, error: str = "") -> Told:
    """The verdict over a candidate that ran; `error` is what kept it from its scores."""
    if error:
        said = last_line(error)
        return Told(gated, FAIL, f"The candidate did not run: {said}", error=said, changed=changes(gated))
    found = measure.result(gated)
    warned = bounds.advisory(gated)
    pair = decide.paired(gated.kept.result, found, gated.candidate.trial.golden, gated.gate.columns)
    rows = decide.decide(pair, gated.gate.margins, gated.same, warned)
    held = bounds.hold(gated, found, warned)
    verdict = overall([*rows, *held])
    said = said_of(verdict, rows, held, gated.same) + _unjudged(gated)
    if gated.same:
        return Told(gated, verdict, said, rows, held)
    lost, losses = _lost(gated, pair, rows)
    changed = changes(gated)
    other = "" if changed else " The config is the baseline's: code, or the version of a library, differs."
    return Told(gated, verdict, said + other, rows, held, lost, losses, changed=changed)


def _unjudged(gated: Gated) -> str:
    """What judges could not judge of the candidate: a column that compares the rest alone may hide it."""
    ready = gated.candidate
    asked = (ready.plan, ready.store, [ready.trial])
    return "".join(f" {judge.lost}." for judge in (*assessors.assessors(*asked), *assessors.asking(*asked)) if judge.failed)


def last_line(error: str) -> str:
    """What an error says, without secrets: the first line of ours, the last one of a traceback."""
    lines = error.strip().splitlines() or [""]
    return shown("error", lines[-1 if lines[0].startswith("Traceback") else 0])


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
            return "Nothing that a score depends on differs from the baseline: nothing was computed."
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
    return {each.query_id: each.stage for each in blame.of(ready.trial, ready.plan, ready.store, wrong=wrong)}


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
