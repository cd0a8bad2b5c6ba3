"""Do generated questions rank trials as people's questions do? The scores of both sets over a grid, and their agreement.

`python -m bench.fidelity GRID [questions.jsonl …] --store FOLDER` (with tests/ on PYTHONPATH) compares files of questions in
the native format with people's. A second file over the same grid reuses the chunks, vectors and indexes in the store.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from bench.fidelity_grids import GRIDS, METRIC, SOLVED, Grid
from bench.measuring import Report, swept
from bench.test_bench_quality import scores_of

from rag.components.analysers.words import WordAnalyser
from rag.core.arrays import Flags, Floats, Ints
from rag.core.types import Document, Example, spans_of
from rag.evaluation.data.golden import Golden
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep.selection.contest import plausible

DRAWS, SPLITS = 2_000, 500
"""Draws of the bootstrap, and random samples of a set."""
SAME, SMALL = 1e-9, 40
"""Means that differ by less are tied; questions of the samples by which sets of different sizes are compared."""


@dataclass(frozen=True)
class Scored:
    """The questions of a set with evidence, and their scores: `values` and `solved` have shape (questions, trials)."""

    golden: Golden
    examples: tuple[Example, ...]
    trials: tuple[str, ...]
    values: Floats
    solved: Flags

    @cached_property
    def clusters(self) -> Ints:
        """The number of the cluster of every question."""
        return cluster_numbers(self.examples)

    def means(self, weights: Floats | None = None) -> Floats:
        """Means by draw and trial, shape (draws, trials), with weights of shape (draws, questions)."""
        drawn = np.ones((1, len(self.values))) if weights is None else weights
        found: Floats = (drawn @ self.values) / drawn.sum(axis=1, keepdims=True)
        return found

    def bootstrap(self, random: np.random.Generator) -> Floats:
        """Means of resamples of whole clusters."""
        groups = int(self.clusters.max()) + 1
        return self.means(random.multinomial(groups, np.full(groups, 1 / groups), DRAWS).astype(np.float64)[:, self.clusters])

    def samples(self, random: np.random.Generator, size: int) -> tuple[Floats, Floats]:
        """Means of random samples of whole clusters with about so many questions, and those of the questions left."""
        groups = int(self.clusters.max()) + 1
        drawn = min(groups - 1, max(1, round(groups * size / len(self.values))))
        weights = np.array([random.permutation(groups) < drawn for _ in range(SPLITS)])[:, self.clusters].astype(np.float64)
        return self.means(weights), self.means(1.0 - weights)

    @cached_property
    def tied(self) -> Flags:
        """The trials that may be the best, by the contest of a sweep."""
        return plausible(self.values, self.clusters) > ALPHA


def scored(grid: Grid, store: Path, questions: Path | None = None) -> Scored:
    """Sweep a grid over people's questions or a file; what was computed before comes from the store."""
    done, kept = swept(grid.experiment(store, questions))
    table = [scores_of(trial, done, kept) for trial in done.plan.trials]
    values, solved = (np.column_stack([each.column(name) for each in table]) for name in (METRIC, SOLVED))
    known = ~np.isnan(values).any(axis=1)
    golden = done.plan.trials[0].golden
    examples = tuple(example for example, asked in zip(golden.examples, known, strict=True) if asked)
    return Scored(golden, examples, tuple(trial.trial.name for trial in done.plan.trials), values[known], solved[known] >= 1.0)


def taus(ours: Floats, theirs: Floats) -> Floats:
    """Kendall's tau-b (1945) between the rows of two tables of means, shape (draws, trials); NaN where a row is constant."""
    first, second = np.triu_indices(ours.shape[1], 1)
    leads = (means[:, first] - means[:, second] for means in (ours, theirs))
    one, two = (np.where(np.abs(lead) < SAME, 0.0, np.sign(lead)) for lead in leads)
    with np.errstate(invalid="ignore"):
        found: Floats = (one * two).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    return found


@dataclass(frozen=True)
class Fidelity:
    """How a set of generated questions orders trials, against people's.

    `draws` are tau-b of resamples of both sets. Resampling adds noise, which pulls tau-b to 0: the interval reaches too low,
    and the value may be near its upper end. `ceiling` is the mean tau-b of random samples of people's questions, as many as
    the set has but at most half, with people's other questions; two whole sets by people would agree better than halves.
    `small` and `small_ceiling` are the same for samples of SMALL questions. `best_tied`: the best trial by people's questions
    may be the best by the generated set; `reverse` the other way round; `loss` is what the set's best loses by people's
    questions.
    """

    tau: float
    draws: Floats
    ceiling: float
    small: float
    small_ceiling: float
    best_tied: bool
    reverse: bool
    tied: int
    loss: float


def interval(draws: Floats) -> str:
    """The percentile interval of 95 %."""
    low, high = np.nanquantile(draws, [ALPHA / 2, 1 - ALPHA / 2])
    return f"[{low:.2f}, {high:.2f}]"


def fidelity(people: Scored, made: Scored) -> Fidelity:
    """The agreement of a generated set with people's, over the same trials."""
    assert people.trials == made.trials
    random, half = np.random.default_rng(0), len(people.values) // 2
    theirs, ours = people.means(), made.means()
    best, chosen = int(theirs[0].argmax()), int(ours[0].argmax())
    small = made.samples(random, SMALL)[0] if len(made.values) > SMALL else ours
    return Fidelity(
        tau=float(taus(ours, theirs)[0]),
        draws=taus(made.bootstrap(random), people.bootstrap(random)),
        ceiling=float(np.nanmean(taus(*people.samples(random, min(half, len(made.values)))))),
        small=float(np.nanmean(taus(small, theirs))),
        small_ceiling=float(np.nanmean(taus(*people.samples(random, min(half, SMALL))))),
        best_tied=bool(made.tied[best]),
        reverse=bool(people.tied[chosen]),
        tied=int(made.tied.sum()),
        loss=float(theirs[0, best] - theirs[0, chosen]),
    )


def wording(found: Scored) -> tuple[float, float, float]:
    """Three means over questions: words, share of content stems in the evidence, and in its paragraphs."""
    documents = {document.doc_id: document for document in found.golden.documents}
    stems = WordAnalyser()
    shares = [_overlaps(example, documents, stems) for example in found.examples]
    quoted, around = np.nanmean(np.array(shares), axis=0)
    return float(np.mean([len(example.query.text.split()) for example in found.examples])), float(quoted), float(around)


def _overlaps(example: Example, documents: Mapping[str, Document], stems: WordAnalyser) -> tuple[float, ...]:
    asked = set(stems.terms(example.query.text))
    texts: tuple[list[str], list[str]] = ([], [])
    for place in (group.alternatives[0] for group in example.evidence):
        text = documents[place if isinstance(place, str) else place.doc_id].text
        for start, end in [(0, len(text))] if isinstance(place, str) else [(span.start, span.end) for span in spans_of(place)]:
            after = text.find("\n\n", end)
            texts[0].append(text[start:end])
            texts[1].append(text[max(text.rfind("\n\n", 0, start), 0) : after if after >= 0 else len(text)])
    return tuple(len(asked & set(stems.terms(" ".join(each)))) / len(asked) if asked else float("nan") for each in texts)


COLUMNS = ("set", "questions", "words", "in evidence", "in paragraph", "every trial", "no trial", METRIC)
COLUMNS += ("tau-b", "95 %", "ceiling", f"tau-b of {SMALL}", "ceiling", "best in tied set", "its best tied by people")


def line(name: str, found: Scored, against: Fidelity | None = None) -> list[object]:
    """A row of the table: size, wording, discrimination, the range of means, and the agreement with people's questions."""
    shares = (*wording(found)[1:], found.solved.all(axis=1).mean(), (~found.solved.any(axis=1)).mean())
    cells = [name, len(found.values), f"{wording(found)[0]:.1f}", *(f"{share:.2f}" for share in shares)]
    cells.append(f"{found.means().min():.2f}-{found.means().max():.2f}")
    if against is None:
        return [*cells, *[None] * 7]
    yes = {True: "yes", False: "no"}
    figures = (f"{each:.2f}" for each in (against.ceiling, against.small, against.small_ceiling))
    tied = f"{yes[against.best_tied]} ({against.tied} of {len(found.trials)})"
    end = (tied, f"{yes[against.reverse]} (-{against.loss:.3f})")
    return [*cells, f"{against.tau:.2f}", interval(against.draws), *figures, *end]


def compared(name: str, store: Path, files: Mapping[str, Path], each: bool = False) -> dict[str, Fidelity]:
    """Print the table of a grid for files of questions, with `each` also the means of all trials; the agreement by file."""
    people = scored(GRIDS[name], store)
    sets = {label: scored(GRIDS[name], store, path.resolve()) for label, path in files.items()}
    found = {label: fidelity(people, made) for label, made in sets.items()}
    report = Report(name, COLUMNS)
    for label, made in {"people": people, **sets}.items():
        report.row(*line(label, made, found.get(label)))
    report.show()
    if each:
        trials = Report("means by trial", ("trial", "people", *sets))
        means = [those.means()[0] for those in (people, *sets.values())]
        for place in np.argsort(-means[0]):
            trials.row(people.trials[place], *(float(those[place]) for those in means))
        trials.show()
    return found


def main() -> None:
    """Compare the files that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m bench.fidelity", description=__doc__)
    parser.add_argument("grid", choices=GRIDS)
    parser.add_argument("questions", nargs="*", type=Path)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--each", action="store_true")
    given = parser.parse_args()
    compared(given.grid, given.store.resolve(), {path.name: path for path in given.questions}, given.each)


if __name__ == "__main__":
    main()
