"""Compare trials, and compare a change with a baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rag.analysis import baseline
from rag.analysis import gate as gates
from rag.analysis.compare import score_files, trials
from rag.analysis.compare.trials import Compared
from rag.analysis.gate import GateReport, score_gate
from rag.api.progress import progress
from rag.api.tables import Table
from rag.config import experiment
from rag.core.errors import ConfigError


@dataclass(frozen=True)
class Comparison:
    """Trials compared with a base trial, question by question."""

    compared: Compared = field(repr=False)

    @cached_property
    def rows(self) -> Table:
        """One row per trial, metric and slice: means, difference, intervals, p, wins, ties, losses."""
        return Table.of(self.compared.table.to_json()["rows"])

    def to_json(self) -> dict[str, Any]:
        """The output of `rag study compare --json`."""
        return self.compared.to_json()

    def _repr_html_(self) -> str:
        return self.rows._repr_html_()


@dataclass(frozen=True)
class GateResult:
    """The verdict of a gate: PASS, FAIL or INCONCLUSIVE, a sentence on it, and the exit code of `rag gate`.

    `messages` are errors of stages that did not run.
    """

    told: GateReport = field(repr=False)
    messages: str = field(default="", repr=False)

    @property
    def verdict(self) -> str:
        """PASS, FAIL or INCONCLUSIVE."""
        return self.told.verdict

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        return self.told.sentence

    @property
    def exit_code(self) -> int:
        """0 not worse, 1 worse, 3 inconclusive, 70 no candidate ran."""
        return self.told.exit_code

    @cached_property
    def rows(self) -> Table:
        """One row per metric and slice: baseline, candidate, difference, interval, margin, verdict."""
        return Table.of(self.told.to_json()["rows"])

    def to_json(self) -> dict[str, Any]:
        """The output of `rag gate --json`."""
        return self.told.to_json()

    def _repr_html_(self) -> str:
        return f"<p><b>{self.verdict}</b></p>{self.rows._repr_html_()}"


def compare(
    base: str,
    *candidates: str,
    metrics: Sequence[str] = (),
    by: Sequence[str] | None = None,
    bridges: Sequence[str] = (),
    lower: Sequence[str] = (),
) -> Comparison:
    """Compare trials with the first of them, question by question; UserError where they do not measure the same thing.

    Trials are ids, or beginnings of ids, that a sweep printed, or paths of baselines; or all are files of scores of any tool,
    as `rag compare` reads them. Without `metrics` all common ones are compared; `by` names slices such as kind, and defaults
    to it. Of the metrics in `lower`, of files, less is better.
    """
    names = [base, *candidates]
    if score_files.given(names):
        _unused({"by": by}, "trials")
        return Comparison(score_files.compared(names, metrics, lower, bridges))
    _unused({"lower": lower}, "files of scores")
    return Comparison(trials.compared(names, metrics, by, bridges))


def gate(
    name: str,
    overrides: str | Sequence[str] = (),
    path: Path | None = None,
    bridges: Sequence[str] = (),
    inconclusive: str = "",
    previous: Path | None = None,
    margins: Sequence[str] = (),
    lower: Sequence[str] = (),
) -> GateResult:
    """Compare today's configuration, or a change of it, with the baseline of an experiment, as `rag gate` does.

    Missing results are computed. `path` is a baseline outside of `reports/baselines/`, `bridges` name what may differ,
    `inconclusive` is warn, fail or pass, `previous` is the baseline of the target branch of a pull request. The first two may
    be files of scores instead, base and new: then `margins` are METRIC=LOSS, and of the metrics in `lower` less is better.
    """
    changes = [overrides] if isinstance(overrides, str) else overrides
    if score_files.given([name, *changes]):
        _unused({"the path of a baseline": path, "previous": previous}, "a trial")
        return GateResult(score_gate.gate([name, *changes], margins, lower, bridges, inconclusive))
    _unused({"margin": margins, "lower": lower}, "files of scores")
    declared = experiment.load(name)
    if inconclusive:
        declared = gates.with_inconclusive(declared, inconclusive)
    gated = gates.prepare(declared, changes, path or baseline.path_of(declared.name))
    gates.check(gated, bridges)
    error = computed = ""
    if not gated.same:
        with progress(gated.candidate.plan) as listen:
            error = gates.run(gated.candidate, listen)
    if not error:
        computed, error = gates.computed(gated)
    return GateResult(gates.report_on(gated, error, computed, previous), error)


def _unused(options: Mapping[str, Any], kind: str) -> None:
    for name, value in options.items():
        if value:
            raise ConfigError(name, f"is for {kind} only", "leave it out")
