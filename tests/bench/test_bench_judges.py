"""The judge without a key against people, each set with the weights that the others give; and means that carry its error."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml
from bench.measuring import DATA, ROOT, Report, needs_data, timed
from bench.near_copies import KINDS, near_copies
from numpy.typing import NDArray

from rag.components.judges.local import LocalJudge
from rag.config.build import Components
from rag.evaluation.statistics.prediction_powered import powered_mean
from rag.execution.judges.calibration import Card, calibrate
from rag.execution.judges.human_labels import labelled

pytestmark = [pytest.mark.bench, needs_data]

SETS = ("mtrag", "wice", "scifact")
DRAWS, LABELS, TEXTS = 1000, 100, 400


@pytest.fixture(scope="module")
def cards() -> dict[str, Card]:
    judge = _judge()
    found, report = {}, Report("Cards of judge=local", ("set", "texts", "CPU s"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAG_DATA", str(DATA))
        for name in SETS:
            with timed() as taken:
                found[name] = calibrate(judge, labelled(name))
            report.row(name, found[name].texts, taken.cpu)
    report.show()
    return found


def test_the_judge_beats_word_overlap_on_sets_that_it_has_not_seen(cards: dict[str, Card], bench: Path) -> None:
    report = Report("judge=local, weights of the other sets", ("set, figure", "value", "low", "high"))
    for name, card in cards.items():
        assert card.held_out
        for figure in ("auc", "overlap_auc", "over_overlap", "length_auc", "kappa", "sensitivity", "specificity"):
            found = getattr(card, figure)
            report.row(f"{name} {figure}", found.value, found.low, found.high)
        report.row(f"{name} calibration error", card.error, float("nan"), float("nan"))
    report.show()
    assert all(card.auc.value > card.overlap_auc.value for card in cards.values())
    assert cards["wice"].over_overlap.low > 0
    assert cards["scifact"].over_overlap.low > 0
    assert cards["mtrag"].kappa.value >= 0.35


def test_means_that_carry_the_error_cover_what_people_say(cards: dict[str, Card], bench: Path) -> None:
    """Labelled and other texts are drawn from the same set, singly; then in whole clusters."""
    title = f"Share of {DRAWS} draws that cover people's mean"
    report = Report(title, ("set", "with labels", "judge alone", "with labels, by cluster"))
    for name, card in cards.items():
        singly, alone, clustered = _coverage(card)
        report.row(name, singly, alone, clustered)
        assert singly >= 0.93
        assert alone < 0.6
    report.show()


@pytest.mark.parametrize("name", ["handbook", "news"])
def test_a_changed_word_in_a_near_copy_is_seen_and_a_shorter_copy_is_supported(name: str, bench: Path) -> None:
    """The rules of `rag.components.judges.substitutions` were chosen on copies from the handbook, and on none from the news."""
    copies = near_copies(_documents(name), seed=17, per=4)
    supports = np.array([verdict.support for verdict in _judge().judge([copy.case for copy in copies])])
    said, right = supports >= 0.5, np.array([copy.supported for copy in copies])
    copied = supports == 1.0  # Word for word: no model decides on these.
    report = Report(f"Near copies from {name}", ("copies", "texts", "called supported"))
    for kind in sorted({copy.kind for copy in copies}):
        own = np.array([copy.kind == kind for copy in copies])
        report.row(kind, int(own.sum()), float(said[own].mean()))
    report.row("supported, not word for word", int((right & ~copied).sum()), float(said[right & ~copied].mean()))
    report.row("unsupported", int((~right).sum()), float(said[~right].mean()))
    report.show()
    assert said[right & ~copied].mean() >= 0.5
    changed = np.array([copy.kind in KINDS for copy in copies])
    assert said[changed].mean() <= 0.5


def _judge() -> LocalJudge:
    judge = Components().role("judge", yaml.safe_load((ROOT / "conf" / "judge" / "local.yaml").read_text("utf-8")))
    assert isinstance(judge, LocalJudge)
    return judge


def _documents(name: str) -> Sequence[str]:
    if name == "handbook":
        return [path.read_text("utf-8") for path in sorted((ROOT / "datasets/handbook/documents").rglob("*.md"))]
    articles = json.loads((DATA / "html-articles-181" / "ground-truth.json").read_text("utf-8"))
    return [articles[name]["articleBody"][:3000] for name in sorted(articles)[::3]]


def _coverage(card: Card) -> tuple[float, float, float]:
    said, people, cluster = (np.array(part, np.float64) for part in zip(*card.pairs, strict=True))
    random, truth, held = np.random.default_rng(17), people.mean(), np.zeros(3)
    groups = [np.flatnonzero(cluster == number) for number in np.unique(cluster)]
    for _ in range(DRAWS):
        labels, texts = random.integers(len(said), size=LABELS), random.integers(len(said), size=TEXTS)
        found = powered_mean(said[texts], said[labels], people[labels])
        reach = 1.96 * said[texts].std() / TEXTS**0.5
        (ours, here), (theirs, there) = (_drawn(groups, random) for _ in range(2))
        by_cluster = powered_mean(said[ours], said[theirs], people[theirs], here, there)
        held += [
            found.low <= truth <= found.high,
            abs(said[texts].mean() - truth) <= reach,
            by_cluster.low <= truth <= by_cluster.high,
        ]
    singly, alone, clustered = (held / DRAWS).tolist()
    return singly, alone, clustered


def _drawn(groups: list[NDArray[np.int64]], random: np.random.Generator) -> tuple[NDArray[np.int64], list[str]]:
    """The cases of as many clusters as there are, drawn with replacement, and which draw each comes from."""
    drawn = random.integers(len(groups), size=len(groups))
    rows = [groups[number] for number in drawn]
    return np.concatenate(rows), [str(place) for place, part in enumerate(rows) for _ in part]
