"""Do generated questions rank trials as people's questions do? The grids, the scores of both sets, and their agreement.

`python -m bench.fidelity GRID questions.jsonl … --store FOLDER` compares files of questions in the native format (tests/ is the
working folder, or on PYTHONPATH). A second file over the same grid reuses the chunks, vectors and indexes of the store.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from bench.measuring import DATA, ROOT, Report, swept
from bench.test_bench_quality import scores_of

from rag.components.analysers.words import WordAnalyser
from rag.config.experiment import Choice, Experiment
from rag.core.arrays import Flags, Floats, Ints
from rag.core.records import Document, Example, spans_of
from rag.evaluation.data.golden import Golden
from rag.evaluation.statistics.paired import ALPHA
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep.selection.contest import plausible

DRAWS, SPLITS = 2_000, 500
"""Draws of the bootstrap, and random halves of a set."""
SAME = 1e-9
"""Means that differ by less are tied."""
TAIL = 0.025
METRIC, SOLVED = "ndcg@10", "recall@5"
FIXED = ("split=all", "generator=none", "latency=0", f"metrics=[{METRIC},{SOLVED}]")

BM25, BOTH = "index=[bm25s] fusion=single", "index=[bm25s,dense]"
DENSE, RRF = "index=[dense] fusion=single", f"{BOTH} fusion=rrf"


def convex(words: float, vectors: float) -> str:
    """A weighted sum of BM25 and MiniLM."""
    return f"{BOTH} fusion=weighted fusion.weights=[{words},{vectors}]"


CHUNKERS = {
    "recursive-400": "chunker=recursive chunker.size=400",
    "recursive-800": "chunker=recursive chunker.size=800",
    "token-128": "chunker=token chunker.target=96 chunker.max=128",
    "whole": "chunker=whole",
    "fixed-800": "chunker=fixed chunker.size=800",
    "fixed-1600": "chunker=fixed chunker.size=1600",
}
WORDS = {
    "bm25": BM25,
    "bm25 .9/.4": f"{BM25} index.bm25s.k1=0.9 index.bm25s.b=0.4",
    "bm25 b 0": f"{BM25} index.bm25s.b=0",
    "bm25 no stems": f"{BM25} index.bm25s.analyser=words",
}
FOUR = {"bm25": BM25, "dense": DENSE, "rrf": RRF, "weighted": convex(0.5, 0.5)}
SIX = FOUR | {name: WORDS[name] for name in ("bm25 b 0", "bm25 no stems")}
EIGHT = {name: WORDS[name] for name in ("bm25 .9/.4", "bm25")} | {"dense": DENSE, "rrf": RRF}
EIGHT |= {f"convex {each}": convex(each, round(1 - each, 1)) for each in (0.2, 0.4, 0.6, 0.8)}


@dataclass(frozen=True)
class Grid:
    """A corpus with people's questions, and trials: chunkers × searches of each block, with each reranker.

    `people` and `loader` are overrides: the dataset of people's questions, and the loader of the documents for another file.
    """

    people: tuple[str, ...]
    loader: tuple[str, ...]
    blocks: tuple[tuple[Sequence[str], Mapping[str, str]], ...]
    embedder: str = "minilm"
    rerankers: tuple[str, ...] = ("none",)

    def experiment(self, store: Path, questions: Path | None = None) -> Experiment:
        """The sweep of all trials over people's questions, or over a file of questions in the native format."""
        own = ("dataset=native", f"dataset.path={questions.parent}", f"dataset.questions={questions.name}") if questions else ()
        trials = [
            Choice(f"{chunker} · {name} · {reranker}", (*CHUNKERS[chunker].split(), *search.split(), f"reranker={reranker}"))
            for chunkers, searches in self.blocks
            for chunker in chunkers
            for name, search in searches.items()
            for reranker in self.rerankers
        ]
        fixed = (*(own + self.loader if questions else self.people), f"embedder={self.embedder}", f"store={store}", *FIXED)
        return Experiment("fidelity", "Which trial is best?", fixed, {"trial": tuple(trials)})


def beir(name: str, *questions: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The overrides of a collection in the BEIR layout."""
    folder = DATA / "beir" / name
    return ("dataset=beir", f"dataset.path={folder}", *questions), ("loader=beir", f"loader.path={folder}")


LONG = ("recursive-400", "recursive-800", "token-128")
STANDALONE = ("dataset.queries=queries.rewrite.jsonl", "dataset.conversations=''")
REPORTED = {
    "handbook": Grid(
        ("dataset=handbook",),
        (f"loader.path={ROOT / 'datasets' / 'handbook' / 'documents'}",),
        ((LONG, FOUR),),
        rerankers=("none", "maxsim"),
    ),
    "chroma-a": Grid(
        ("dataset=chroma", f"dataset.path={DATA / 'chroma-a'}"),
        ("loader=chroma", f"loader.path={DATA / 'chroma-a'}"),
        ((("fixed-800", "fixed-1600", "recursive-400", "recursive-800"), EIGHT),),
        embedder="minilm_windows",
    ),
    "cranfield": Grid(*beir("cranfield"), ((("whole", "recursive-400"), SIX),)),
    "scifact-train": Grid(
        *beir("scifact-train"),
        (
            (
                ("whole",),
                WORDS | {"dense": DENSE, "rrf": RRF, "weighted .3": convex(0.3, 0.7), "weighted .7": convex(0.7, 0.3)},
            ),
            (("recursive-400",), WORDS),
        ),
    ),
}
"""Figures are reported on these: no part of the generator is chosen by them.

The handbook's are the trials of experiments/quickstart.yaml, chroma-a's those of experiments/fusion.yaml at one k without its
near copies (bm25 1.5/.75, rrf 20, 40 and 80). With scifact-train only whole documents have vectors.
"""
DEVELOPED = {
    "squad2-a": Grid(
        ("dataset=squad", f"dataset.path={DATA / 'squad2-a'}"),
        ("loader=squad", f"loader.path={DATA / 'squad2-a'}"),
        ((LONG, FOUR),),
    ),
    "mtrag-human-179": Grid(*beir("mtrag-human-179", *STANDALONE), ((("whole", "recursive-400"), SIX),)),
}
"""Rules, prompts and filters of the generator are chosen by these."""
GRIDS = REPORTED | DEVELOPED


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

    def bootstrap(self, random: np.random.Generator, draws: int = DRAWS) -> Floats:
        """Means of resamples of whole clusters."""
        groups = int(self.clusters.max()) + 1
        return self.means(random.multinomial(groups, np.full(groups, 1 / groups), draws).astype(np.float64)[:, self.clusters])

    def halves(self, random: np.random.Generator) -> tuple[Floats, Floats]:
        """Means of the two halves of random splits by cluster."""
        groups = int(self.clusters.max()) + 1
        first = np.array([random.permutation(groups) < groups // 2 for _ in range(SPLITS)])[:, self.clusters]
        return self.means(first.astype(np.float64)), self.means(1.0 - first)

    def samples(self, random: np.random.Generator, size: int) -> Floats:
        """Means of random samples of so many questions, without replacement."""
        places = np.array([random.permutation(len(self.values)) < size for _ in range(SPLITS)])
        return self.means(places.astype(np.float64))

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
    names = tuple(trial.trial.name for trial in done.plan.trials)
    return Scored(golden, examples, names, values[known], solved[known] >= 1.0)


def taus(ours: Floats, theirs: Floats) -> Floats:
    """Kendall's tau-b (1945) between the rows of two tables of means, shape (draws, trials); NaN where a row is constant."""
    first, second = np.triu_indices(ours.shape[1], 1)
    one, two = (
        np.where(np.abs(apart) < SAME, 0.0, np.sign(apart)) for apart in (m[:, first] - m[:, second] for m in (ours, theirs))
    )
    with np.errstate(invalid="ignore"):
        found: Floats = (one * two).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    return found


@dataclass(frozen=True)
class Fidelity:
    """How a set of generated questions orders trials, against people's.

    `draws` are tau-b of resamples of both sets, which pull it towards 0: the interval is honest at its lower end and too low at
    its upper. `ceiling` is the mean tau-b between random halves of people's questions. Each half has half as many questions, so
    two whole sets by people would agree better. `small` is the mean tau-b of samples of the generated set with `size` questions.
    `best_tied`: the best trial by people's questions may be the best by the generated ones; `reverse` the other way round.
    """

    tau: float
    draws: Floats
    ceiling: float
    small: float
    best_tied: bool
    reverse: bool
    tied: int
    loss: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of tau-b."""
        return interval(self.draws)


def interval(draws: Floats) -> tuple[float, float]:
    """The percentile interval of 95 %."""
    low, high = np.nanquantile(draws, [TAIL, 1 - TAIL])
    return float(low), float(high)


def fidelity(people: Scored, made: Scored, size: int = 40) -> Fidelity:
    """The agreement of a generated set with people's, over the same trials."""
    assert people.trials == made.trials
    random = np.random.default_rng(0)
    theirs, ours = people.means(), made.means()
    size = min(size, len(made.values))
    best, chosen = int(theirs[0].argmax()), int(ours[0].argmax())
    return Fidelity(
        tau=float(taus(ours, theirs)[0]),
        draws=taus(made.bootstrap(random), people.bootstrap(random)),
        ceiling=float(np.nanmean(taus(*people.halves(random)))),
        small=float(np.nanmean(taus(made.samples(random, size), theirs))),
        best_tied=bool(made.tied[best]),
        reverse=bool(people.tied[chosen]),
        tied=int(made.tied.sum()),
        loss=float(theirs[0, best] - theirs[0, chosen]),
    )


@dataclass(frozen=True)
class Wording:
    """Figures of a set: questions, words of a question, share of its content stems in the evidence and in the whole document,
    and the shares of questions that every trial and no trial solves (all evidence in the first five)."""

    questions: int
    words: float
    overlap: float
    overlap_document: float
    every: float
    none: float


def wording(found: Scored) -> Wording:
    """Means over the questions with evidence."""
    documents = {document.doc_id: document for document in found.golden.documents}
    stems = WordAnalyser()
    shares = np.array([_overlaps(example, documents, stems) for example in found.examples])
    lengths = [len(example.query.text.split()) for example in found.examples]
    every, none = found.solved.all(axis=1).mean(), (~found.solved.any(axis=1)).mean()
    return Wording(len(lengths), float(np.mean(lengths)), *map(float, np.nanmean(shares, axis=0)), float(every), float(none))


def _overlaps(example: Example, documents: Mapping[str, Document], stems: WordAnalyser) -> tuple[float, float]:
    """The share of a question's distinct stems in its evidence, and in the documents of it."""
    asked = set(stems.terms(example.query.text))
    places = [group.alternatives[0] for group in example.evidence]
    whole = [documents[place if isinstance(place, str) else place.doc_id].text for place in places]
    quoted = [
        text if isinstance(place, str) else " ".join(text[span.start : span.end] for span in spans_of(place))
        for place, text in zip(places, whole, strict=True)
    ]
    if not asked:
        return float("nan"), float("nan")
    return tuple(len(asked & set(stems.terms(" ".join(texts)))) / len(asked) for texts in (quoted, whole))


def row(name: str, found: Scored, against: Fidelity | None = None) -> list[object]:
    """A line of the table."""
    said = wording(found)
    cells = [
        said.questions,
        f"{said.words:.1f}",
        *(f"{each:.2f}" for each in (said.overlap, said.overlap_document, said.every, said.none)),
    ]
    spread = f"{found.means().min():.2f}-{found.means().max():.2f}"
    if against is None:
        return [name, *cells, spread, *[None] * 6]
    low, high = against.interval
    tied = f"{'yes' if against.best_tied else 'no'} ({against.tied} of {len(found.trials)})"
    reverse = f"{'yes' if against.reverse else 'no'} (-{against.loss:.3f})"
    return [
        name,
        *cells,
        spread,
        f"{against.tau:.2f}",
        f"[{low:.2f}, {high:.2f}]",
        f"{against.small:.2f}",
        f"{against.ceiling:.2f}",
        tied,
        reverse,
    ]


COLUMNS = (
    "set",
    "questions",
    "words",
    "overlap",
    "in document",
    "every trial",
    "no trial",
    METRIC,
    "tau-b",
    "95 %",
    "tau of 40",
)
COLUMNS += ("ceiling", "best in tied set", "its best tied by people")


def main() -> None:
    """Print the table of a grid for some files of questions; with --each the mean of every trial."""
    parser = argparse.ArgumentParser(prog="python -m bench.fidelity", description=__doc__)
    parser.add_argument("grid", choices=GRIDS)
    parser.add_argument("questions", nargs="*", type=Path)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--each", action="store_true")
    given = parser.parse_args()
    grid = GRIDS[given.grid]
    people = scored(grid, given.store)
    report = Report(given.grid, COLUMNS)
    report.row(*row("people", people))
    sets = {str(path): scored(grid, given.store, path.resolve()) for path in given.questions}
    for name, made in sets.items():
        report.row(*row(name, made, fidelity(people, made)))
    report.show()
    if given.each:
        trials = Report("means by trial", ("trial", "people", *sets))
        means = [found.means()[0] for found in (people, *sets.values())]
        for place in np.argsort(-means[0]):
            trials.row(people.trials[place], *(float(each[place]) for each in means))
        trials.show()


if __name__ == "__main__":
    main()
