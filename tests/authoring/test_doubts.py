"""Planted wrong labels are on a list as long as they are many, if they move the lead of the best trial."""

import random
from pathlib import Path

import pytest
from support.collections_written import DATA
from support.small_set import write_experiment

from rag.authoring.doubts import doubted
from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.store.store import Store
from rag.execution.sweep import sweep
from rag.execution.sweep.holes import Pool

AXES = """  search:
    words: "index=[bm25s] fusion=single index.bm25s.analyser=words"
    stems: "index=[bm25s] fusion=single index.bm25s.k1=0.9 index.bm25s.b=0.4"
    hashes: "index=[dense] fusion=single embedder.dimensions=512"
    both: "index=[bm25s,dense] embedder.dimensions=512"
"""
MATTERS = 0.05
"""A label matters if the other one moves the difference of its question between the two best trials by so much."""
Grades = dict[tuple[str, str], int]


def pooled(folder: Path, grades: Grades) -> tuple[Pool, list[dict[str, set[str]]], list[str]]:
    """The pool of a sweep with these grades; the first ten documents of questions by trial; the trials. Best first."""
    rows = (f"{query}\t{name}\t{grade}\n" for (query, name), grade in grades.items())
    (folder / "qrels" / "own.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), "utf-8")
    study = write_experiment(folder / "study.yaml", folder, AXES, ', chunker=whole, "metrics=[recall@10]"')
    text = study.read_text("utf-8").replace("dataset: native", "dataset: beir\ncontrols: false\nobjective: maximize recall@10")
    study.write_text(text, "utf-8")
    store = Store(str(folder / "store"))
    done = sweep.run(made := plan.make(load(str(study)), store), store, {"mode": "inline", "workers": 1}, lambda *_: None)
    pool, best = Pool(made, store, done.board.objective), [row.trial_id for row in done.board.rows]
    tables = [found.passages.tolist() for name in best if (found := pool.ranked(pool.trials[name]))]
    names, places = [each.query.query_id for each in pool.examples], list(pool.known)
    first = [dict(zip(names, ({places[at] for at in row if at >= 0} for row in table), strict=True)) for table in tables]
    return pool, first, best


@pytest.mark.parametrize("name", ["cranfield", "mtrag-human-179"])
def test_the_list_holds_half_of_the_wrong_labels_that_matter(tmp_path: Path, name: str) -> None:
    """Labels are gold, and the first ten documents of all trials, those without a grade as not relevant."""
    if not (source := DATA / "beir" / name).is_dir():
        pytest.skip(f"{source} is not installed; set RAG_DATA")
    for file in ("corpus.jsonl", "queries.jsonl"):
        (tmp_path / file).write_bytes((source / file).read_bytes())
    (tmp_path / "qrels").mkdir()
    _, *lines = (source / "qrels" / "test.tsv").read_text("utf-8").splitlines()
    grades = {(query, found): int(grade) for query, found, grade in (line.split("\t") for line in lines)}
    for table in pooled(tmp_path, grades)[1]:
        grades = {(query, found): 0 for query, some in table.items() for found in sorted(some)} | grades
    wrong = set(random.Random(1).sample(sorted(grades), round(0.05 * len(grades))))
    told = {label: int(grade <= 0) if label in wrong else grade for label, grade in grades.items()}
    pool, (first, second, *_), best = pooled(tmp_path, told)

    def moved(query: str, place: str) -> float:
        gold = {found for (asked, found), grade in told.items() if asked == query and grade > 0}
        sides = [(len(first[query] & some) - len(second[query] & some)) / max(len(some), 1) for some in (gold, gold ^ {place})]
        return abs(sides[0] - sides[1])

    listed = {(pool.examples[each.question].query.query_id, str(each.place)): each.change for each in doubted(pool, best)}
    for label in [*listed][::50]:
        assert listed[label] == pytest.approx(moved(*label))
    matter = {label for label in wrong if moved(*label) >= MATTERS}
    assert len(matter & {*[*listed][: len(wrong)]}) >= 0.5 * len(matter) >= 20
