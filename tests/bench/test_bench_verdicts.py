"""How often verdicts are wrong: on differences that are none, on planted ones, and on published comparisons of BM25."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from bench.measuring import DATA, Report, declared, needs_data, swept, timed
from bench.test_bench_quality import binary
from numpy.typing import NDArray
from scipy import stats

from rag.analysis.compare import Comparison, compare
from rag.evaluation.statistics import effects, resampling
from rag.evaluation.statistics.paired import family
from rag.execution.store.store import Store
from rag.execution.sweep import trial_scores
from rag.execution.sweep.selection.contest import plausible
from rag.execution.sweep.sweep import Sweep

pytestmark = pytest.mark.bench

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TRIES = 1_000
ERROR = float(stats.binom.ppf(0.999, TRIES, 0.05) / TRIES)
"""What 5 % may look like in so many tries, once in a thousand."""


Shape = Callable[[np.random.Generator], Ints]
SHAPES: dict[str, Shape] = {
    "100 questions, each by itself": lambda random: np.ones(100, np.int64),
    "40 documents of 1 to 5": lambda random: random.integers(1, 6, 40),
    "24 documents of 1 to 7": lambda random: random.integers(1, 8, 24),
    "8 documents of 10": lambda random: np.full(8, 10),
    "5 documents of 20": lambda random: np.full(5, 20),
    "12 documents, one with half": lambda random: np.r_[44, np.full(11, 4)],
}


def split(random: np.random.Generator, sizes: Ints, ties: float) -> tuple[Floats, Ints]:
    """Two equally good trials: 5 metrics, over all and in 3 kinds. Questions of a document go up and down together."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    document, question = random.normal(0, 0.1, (len(sizes), 5))[cluster], random.normal(0, 0.1, (len(cluster), 1))
    metrics = np.clip(document + question + random.normal(0, 0.1, document.shape), -1, 1)
    metrics = np.where(random.random(len(cluster))[:, None] < ties, 0.0, np.round(metrics, 1))
    kind = random.integers(0, 3, len(cluster))
    parts = [metrics, *(np.where((kind == number)[:, None], metrics, np.nan) for number in range(3))]
    return np.concatenate(parts, axis=1), cluster


def test_equals_are_told_apart_at_most_one_time_in_twenty(bench: Path) -> None:
    columns = ("questions", "p alone", "interval alone", "family of 20", "without clusters")
    report = Report(f"A/A: false alarms in {TRIES:,} comparisons of equals", columns)
    random = np.random.default_rng(1)
    rates = []
    for name, shape in SHAPES.items():
        alarms = np.mean([alarm(*split(random, shape(random), 0.3)) for _ in range(TRIES)], axis=0)
        report.row(name, *(float(rate) for rate in alarms))
        rates.append(alarms[:3])
    report.note(f"5 % may look like {ERROR:.3f}. 30 % of the questions are ties. The last column forgets that documents exist.")
    report.show()
    assert np.max(rates) <= ERROR


def alarm(differences: Floats, cluster: Ints) -> tuple[bool, bool, bool, bool]:
    found = family(differences, cluster)
    wrong = found.significant | (found.corrected_low > 0) | (found.corrected_high < 0)
    careless = stats.ttest_1samp(differences[:, 0], 0).pvalue <= 0.05
    return bool(found.p[0] <= 0.05), bool(found.low[0] > 0 or found.high[0] < 0), bool(wrong.any()), bool(careless)


def test_differences_that_are_skewed_or_mostly_ties(bench: Path) -> None:
    columns = ("clusters of 6", "normal p", "interval", "skewed p", "interval", "ties p", "interval")
    report = Report("Means of 0: how often 5 % and the 95 % interval leave out 0", columns)
    random = np.random.default_rng(6)
    for clusters in (4, 6, 10, 20, 50, 100):
        rates = [rate for draw in KINDS.values() for rate in false_alarms(draw, clusters, random)]
        report.row(f"{clusters}", *rates)
        assert max(rates[:2] + rates[4:]) <= stats.binom.ppf(0.999, 2 * TRIES, 0.06) / (2 * TRIES)
        assert max(rates[2:4]) <= 0.1
    report.note(
        "Sign flips suppose that differences are as likely to go either way. Two equal trials are; a mean of 0 need not be."
    )
    report.show()


def normal(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.normal(0, 1, shape)


def skewed(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.exponential(1, shape) - 1


def ties(random: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return random.choice([-1.0, 1.0], shape) * (random.random(shape) < 0.1)


KINDS = {"normal": normal, "skewed": skewed, "ties": ties}


def false_alarms(draw: Callable[..., Floats], clusters: int, random: np.random.Generator) -> tuple[float, float]:
    """Shares of sign flips and of intervals that are wrong, of questions that have some of their difference in common."""
    own, common = draw(random, (clusters * 6, 2 * TRIES)), draw(random, (clusters, 2 * TRIES))
    sums = resampling.by_cluster(own, np.arange(clusters * 6) // 6, clusters) + 3 * common
    error = resampling.standard_error(sums, np.full(common.shape, 6.0))
    t = np.abs(sums.mean(axis=0) / 6) / error
    p, _ = resampling.sign_flip(sums, 4_000)
    return float((p <= 0.05).mean()), float((t > stats.t.ppf(0.975, clusters - 1)).mean())


def test_a_loss_of_five_points_is_found(bench: Path) -> None:
    random, tries = np.random.default_rng(2), 200
    report = Report("Power: nDCG@10 lost .05, 200 questions, paired standard deviation .15", ("family", "found", "detectable"))
    for size in (1, 5, 20, 100):
        shift = np.where(np.arange(size) == 0, -0.05, 0)
        found = [family(random.normal(0, 0.15, (200, size)) + shift, np.arange(200)) for _ in range(tries)]
        hits = float(np.mean([bool(one.corrected_high[0] < 0) for one in found]))
        report.row(f"{size}", hits, float(np.mean([one.detectable[0] for one in found])))
        assert hits >= 0.9 or size > 20
    report.note(f"{tries} tries each. In a family of 100 the same loss needs more questions.")
    report.show()


def test_corrected_intervals_hold_all_together(bench: Path) -> None:
    random, tries, truly = np.random.default_rng(3), 300, np.linspace(0, 1, 20)
    report = Report(
        "20 differences from 0 to 1, intervals that miss any",
        ("questions", "by themselves", "corrected", "but the first", "the first"),
    )
    for name, sizes in {"100": np.ones(100, np.int64), "30 documents of 4": np.full(30, 4)}.items():
        cluster = np.repeat(np.arange(len(sizes)), sizes)
        found = [family(random.normal(0, 0.4, (len(cluster), 20)) + truly, cluster) for _ in range(tries)]
        alone = np.mean([missed(one.low, one.high, truly) for one in found])
        together = np.mean([missed(one.corrected_low, one.corrected_high, truly) for one in found])
        wrong = np.mean([bool(one.corrected_low[0] > 0 or one.corrected_high[0] < 0) for one in found])
        others = np.mean([missed(one.corrected_low[1:], one.corrected_high[1:], truly[1:]) for one in found])
        report.row(name, float(alone), float(together), float(others), float(wrong))
        assert max(wrong, others) <= stats.binom.ppf(0.999, tries, 0.05) / tries
    report.note(
        "The one difference that is 0 is found where step-down finds it; an end that is drawn to 0 rests on that alone."
    )
    report.show()


def missed(low: Floats, high: Floats, truly: Floats) -> bool:
    return bool(((low > truly) | (high < truly)).any())


def test_the_best_trial_is_rarely_left_out_of_the_tied_set(bench: Path) -> None:
    columns = ("20 trials of 200 questions", "the best one left out", "any equal left out", "trials tied")
    report = Report("Who is left out of the tied set?", columns)
    random = np.random.default_rng(4)
    kinds = {"all equal": np.zeros(20), "ten equal, ten worse": np.repeat([0, -0.1], 10), "steps of .01": -0.01 * np.arange(20)}
    for name, truly in kinds.items():
        for share in (0.5, 0.9):
            out = np.mean([left_out(random, truly, share) for _ in range(TRIES)], axis=0)
            report.row(f"{name}, {share:.0%} in common", *(float(rate) for rate in out))
            assert out[0] <= ERROR
    report.note("The set holds the best trial; it need not hold all of several equals.")
    report.show()


def left_out(random: np.random.Generator, truly: Floats, share: float) -> tuple[bool, bool, int]:
    """Whether the first trial, one of the best, is left out; whether any of them is; and how many are tied."""
    common, own = random.normal(0, np.sqrt(share), (200, 1)), random.normal(0, np.sqrt(1 - share), (200, len(truly)))
    scores = 0.3 * (common + own) + truly
    out = plausible(scores, np.arange(200)) <= 0.05
    out[int(scores.mean(axis=0).argmax())] = False
    return bool(out[0]), bool(out[truly == truly.max()].any()), int((~out).sum())


def test_a_large_family_is_quick(bench: Path) -> None:
    random = np.random.default_rng(5)
    report = Report("Seconds for a family of 299 differences", ("clusters", "wall s", "CPU s"))
    for clusters in (120, 500):
        differences = random.normal(0, 0.2, (clusters * 4, 299))
        family(differences[:, :2], np.arange(clusters * 4) // 4)
        with timed() as taken:
            family(differences, np.arange(clusters * 4) // 4)
        report.row(f"{clusters} of 4", taken.wall, taken.cpu)
    report.show()


# Published comparisons

METRICS = ("ndcg@10", "recall@100", "map@100", "mrr@10")
K1_B = {f"{k1}/{b}": f"index.bm25s.k1={k1} index.bm25s.b={b}" for k1, b in ((0.9, 0.4), (1.2, 0.75), (1.5, 0.75))}
WORDS = {"stems": "index.bm25s.analyser=stems", "as written": "index.bm25s.analyser=words"}


def bm25(bench: Path, collection: Path, axes: dict[str, dict[str, str]]) -> tuple[Sweep, Store]:
    fixed = [f"dataset.path={collection}", "chunker=whole", "index=[bm25s]", "fusion=single", "generator=none", "latency=0"]
    fixed += [f"metrics=[{','.join(METRICS)}]", "split=all"]
    return swept(declared(bench / "study.yaml", "Does it matter?", "beir", fixed, axes))


def compared(done: Sweep, store: Store, base: str, *others: str) -> Iterator[Comparison]:
    """Every other trial against the base, in all metrics, as one family."""
    found = {trial.trial.name: trial_scores.read_scores(trial, done.plan, store) for trial in done.plan.trials}
    golden = done.plan.trials[0].golden
    yield from compare(found[base], [found[name] for name in others], golden, METRICS, ()).rows


def show(title: str, rows: list[Comparison]) -> dict[tuple[str, str], Comparison]:
    columns = ("trial", "metric", "difference", "corrected interval", "p adjusted", "won", "tied", "lost")
    report = Report(f"{title}, {rows[0].n} questions, family of {len(rows)}", columns)
    for row in rows:
        interval = f"[{row.corrected_low:+.4f}, {row.corrected_high:+.4f}]"
        report.row(
            row.candidate_name, row.column, f"{row.difference:+.4f}", interval, row.p_adjusted, row.wins, row.ties, row.losses
        )
    report.show()
    return {(row.candidate_name, row.column): row for row in rows}


@needs_data
def test_on_cranfield_it_matters_how_bm25_counts(bench: Path) -> None:
    done, store = bm25(bench, binary(DATA / "beir" / "cranfield", bench), {"bm25": K1_B})
    rows = show(
        "Cranfield, grades as binary, against k1/b .9/.4", list(compared(done, store, "0.9/0.4", "1.2/0.75", "1.5/0.75"))
    )
    found = rows["1.2/0.75", "ndcg@10"]
    assert found.difference == pytest.approx(0.03, abs=0.01)
    assert found.corrected_low > 0
    assert found.p_adjusted <= 0.05


@needs_data
def test_on_scifact_words_matter_and_counting_does_not(bench: Path) -> None:
    done, store = bm25(bench, DATA / "beir" / "scifact-train", {"words": WORDS, "bm25": K1_B})
    others = ("as written · 1.2/0.75", "stems · 0.9/0.4", "stems · 1.5/0.75")
    rows = show(
        "SciFact train, against stems without stop words, k1/b 1.2/.75",
        list(compared(done, store, "stems · 1.2/0.75", *others)),
    )
    words = rows["as written · 1.2/0.75", "ndcg@10"]
    assert words.difference == pytest.approx(-0.03, abs=0.01)
    assert words.corrected_high < 0
    for name in others[1:]:
        assert rows[name, "ndcg@10"].p_adjusted > 0.05
        assert rows[name, "ndcg@10"].corrected_low <= 0 <= rows[name, "ndcg@10"].corrected_high
    told = sentence(done, store)
    Report("SciFact train, effects of both axes", ("in a sentence",), [[told]]).show()
    assert told.startswith("words=as written -.0")
    assert "bm25 within noise" in told


def sentence(done: Sweep, store: Store) -> str:
    found = [trial_scores.read_scores(trial, done.plan, store) for trial in done.plan.trials]
    axes = {"words": tuple(WORDS), "bm25": tuple(K1_B)}
    trials = [(result.choices, result.scores.column("ndcg@10")) for result in found]
    return effects.choice_effects(trials, np.arange(len(trials[0][1])), axes).sentence
