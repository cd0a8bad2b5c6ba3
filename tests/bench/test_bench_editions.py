"""Newer editions before superseded ones: the handbook with the editions of three policies in a table of metadata."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from bench.measuring import Report, declared, swept
from support.printed_handbook import HANDBOOK

from rag.core.types import document_of
from rag.evaluation.data.golden import Golden
from rag.evaluation.scores import Scores
from rag.evaluation.statistics.paired import family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.sweep import trial_scores

pytestmark = pytest.mark.bench

EDITIONS = [
    ("leave/annual-leave-2024.md", "HB-110", "2024-04-01", "superseded"),
    ("leave/annual-leave.md", "HB-110", "2025-04-01", "current"),
    ("pay/pay-bands-2024.md", "pay bands", "2024-04-01", "superseded"),
    ("pay/pay-bands-2025.md", "pay bands", "2025-04-01", "current"),
    ("hire/hire-rates-2024.md", "hire rates", "2024-04-01", "superseded"),
    ("hire/hire-rates-2025.md", "hire rates", "2025-04-01", "current"),
]
OLD = frozenset(name for name, _, _, status in EDITIONS if status == "superseded")
NEW = frozenset(name for name, _, _, status in EDITIONS if status == "current")
COLUMNS = ("ndcg@10", "recall@5", "token_f1", "evidence_cited")
SELECTORS = {"none": "selector=none"} | {
    f"share {share}": f"selector=editions selector.editions.share={share}" for share in (0, 0.5, 0.8, 1)
}
SEARCHES = {"lexical": "index=[bm25s] fusion=single", "hybrid": "k=5"}


def groups(golden: Golden) -> dict[str, np.ndarray]:
    """Masks of questions: about the present edition, about an old one, about both, and about other documents."""
    gold = [{document_of(place) for group in example.evidence for place in group.alternatives} for example in golden.examples]
    old, new = np.array([bool(names & OLD) for names in gold]), np.array([bool(names & NEW) for names in gold])
    known = np.array([bool(names) for names in gold])
    return {"present": new & ~old, "old": old & ~new, "both": old & new, "others": known & ~old & ~new, "all": known}


@pytest.mark.parametrize("search", SEARCHES)
def test_newer_editions_win(bench: Path, search: str) -> None:
    shutil.copytree(HANDBOOK, bench / "handbook")
    with (bench / "handbook" / "documents" / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("path", "series", "date", "status"), *EDITIONS])
    fixed = ["generator=extractive", "latency=0", f"dataset.path={bench / 'handbook'}", f"metrics=[{','.join(COLUMNS)}]"]
    study = declared(
        bench / "x.yaml", "Do editions help?", "native", [*fixed, *SEARCHES[search].split()], {"selector": SELECTORS}
    )
    done, store = swept(study)
    scores = {each.trial.name: trial_scores.read_scores(each, done.plan, store).scores for each in done.plan.trials}
    golden = done.plan.trials[0].golden
    report = Report(
        f"Editions, {search}", ("selector", "questions", "n", "metric", "without", "with", "difference", "low", "high")
    )
    for name, found in scores.items():
        if name != "none":
            rows(report, name, golden, scores["none"], found)
    report.show()
    masks, before, after = groups(golden), scores["none"].column("ndcg@10"), scores["share 0.8"].column("ndcg@10")
    assert np.nanmean((after - before)[masks["present"]]) > 0.05
    assert abs(np.nanmean((after - before)[masks["others"]])) < 0.005
    assert np.nanmean((scores["share 1"].column("ndcg@10") - before)[masks["old"]]) > np.nanmean(
        (scores["share 0"].column("ndcg@10") - before)[masks["old"]]
    ), "a share protects questions about an old edition"


def rows(report: Report, name: str, golden: Golden, before: Scores, after: Scores) -> None:
    """The metrics of every group of questions, with an interval of the paired difference over clusters."""
    clusters = cluster_numbers(golden.examples)
    for group, members in groups(golden).items():
        for column in COLUMNS:
            old, new = before.column(column)[members], after.column(column)[members]
            number = np.unique(clusters[members], return_inverse=True)[1].astype(np.int64)
            found = family((new - old)[:, None], number)
            ends = (float(found.mean[0]), float(found.low[0]), float(found.high[0]))
            report.row(name, group, int(members.sum()), column, float(np.nanmean(old)), float(np.nanmean(new)), *ends)
