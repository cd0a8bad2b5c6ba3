"""Planted wrong labels are on a list as long as they are many, if they move the lead of the best trial."""

import random
from pathlib import Path

import pytest
from support.collections_written import DATA

from rag.authoring.doubts import doubted
from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep
from rag.execution.sweep.holes import Pool

SEARCHES = {
    "words": "index=[bm25s] fusion=single index.bm25s.analyser=words",
    "stems": "index=[bm25s] fusion=single index.bm25s.k1=0.9 index.bm25s.b=0.4",
    "hashes": "index=[dense] fusion=single embedder=hashing embedder.dimensions=512",
    "both": "index=[bm25s,dense] embedder=hashing embedder.dimensions=512",
}
MATTERS = 0.05
"""A label matters if the other one moves the difference of its question between the two best trials by so much."""
HEAD = "query-id\tcorpus-id\tscore\n"
Grades = dict[tuple[str, str], int]


def pooled(folder: Path, grades: Grades, store: Store) -> tuple[Pool, list[str]]:
    """The pool of a sweep over a collection with these grades, and its trials, best first."""
    (folder / "qrels").mkdir(exist_ok=True)
    rows = (f"{query}\t{name}\t{grade}\n" for (query, name), grade in grades.items())
    (folder / "qrels" / "own.tsv").write_text(HEAD + "".join(rows), "utf-8")
    axes = "".join(f"    {name}: {choice}\n" for name, choice in SEARCHES.items())
    fixed = f'["dataset.path={folder}", dataset.split=own, chunker=whole, generator=none, latency=0, "metrics=[recall@10]"]'
    text = f"question: Q?\ndataset: beir\nsplit: all\ncontrols: false\nobjective: maximize recall@10\nfixed: {fixed}\n"
    (folder / "study.yaml").write_text(f"{text}axes:\n  search:\n{axes}", "utf-8")
    made = plan.make(load(str(folder / "study.yaml")), store)
    done = sweep.run(made, store, {"mode": "inline", "workers": 1}, lambda key, outcome: None)
    return Pool(made, store, done.board.objective), [row.trial_id for row in done.board.rows]


def first_ten(pool: Pool, trial: str) -> list[set[str]]:
    """The first ten documents of each question."""
    found, places = pool.ranked(pool.trials[trial]), list(pool.known)
    return [{places[number] for number in row if number >= 0} for row in found.passages.tolist()] if found else []


def recalled(folder: Path, grades: Grades, seed: int) -> tuple[float, int, int]:
    """Of 5 % wrong labels that matter, the share on a list as long as all wrong ones; how many matter, and how many are wrong.

    Labels are gold, and the first ten documents of all trials, those without a grade as not relevant.
    """
    store = Store(str(folder / "store"))
    pool, best = pooled(folder, grades, store)
    names = [each.query.query_id for each in pool.examples]
    for trial in best:
        rows = zip(names, first_ten(pool, trial), strict=True)
        grades = {(name, place): 0 for name, row in rows for place in sorted(row)} | grades
    wrong = set(random.Random(seed).sample(sorted(grades), round(0.05 * len(grades))))
    told = {label: int(grade <= 0) if label in wrong else grade for label, grade in grades.items()}
    pool, best = pooled(folder, told, store)
    first, second = (dict(zip(names, first_ten(pool, trial), strict=True)) for trial in best[:2])

    def moved(name: str, place: str) -> float:
        gold = {other for (query, other), grade in told.items() if query == name and grade > 0}
        lead = [
            (len(first[name] & some) - len(second[name] & some)) / len(some) if some else 0 for some in (gold, gold ^ {place})
        ]
        return abs(lead[0] - lead[1])

    listed = doubted(pool, best)
    for label in listed[::50]:
        assert label.change == pytest.approx(moved(names[label.question], label.place))
    matter = {label for label in wrong if moved(*label) >= MATTERS}
    held = matter & {(names[label.question], label.place) for label in listed[: len(wrong)]}
    return len(held) / len(matter), len(matter), len(wrong)


def graded(folder: Path, name: str) -> Grades:
    """The texts of a public collection, written to a folder, and its grades."""
    source = DATA / "beir" / name
    if not source.is_dir():
        pytest.skip(f"{source} is not installed; set RAG_DATA")
    for file in ("corpus.jsonl", "queries.jsonl"):
        (folder / file).write_bytes((source / file).read_bytes())
    _, *lines = next((source / "qrels").iterdir()).read_text("utf-8").splitlines()
    return {(query, name): int(grade) for query, name, grade in (line.split("\t") for line in lines)}


@pytest.mark.parametrize("name", ["cranfield", "mtrag-human-179"])
def test_the_list_holds_half_of_the_wrong_labels_that_matter(tmp_path: Path, name: str) -> None:
    share, matter, wrong = recalled(tmp_path, graded(tmp_path, name), 1)
    assert (matter >= 5, share >= 0.5) == (True, True), (share, matter, wrong)
