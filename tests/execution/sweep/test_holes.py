"""Gold that one search found shows nothing, through whole sweeps; a pool of both searches is reviewed and measured again."""

import random
from pathlib import Path

import numpy as np
import pytest
from support.collections_written import write_lines
from support.small_set import write_experiment

from rag.config.experiment import load
from rag.evaluation.scoring import document_rankings
from rag.execution.graph import plan
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep import holdout, sweep
from rag.execution.sweep.holdout import Conclusion
from rag.execution.sweep.holes import cut_off

Found = dict[str, set[tuple[str, str]]]
SETTINGS = {"mode": "inline", "workers": 1}
AXES = """  search:
    words: "index=[bm25s] fusion=single"
    hashes: "index=[dense] fusion=single embedder=hashing embedder.dimensions=512"
"""


@pytest.mark.parametrize(
    ("counts", "last"),
    [
        ([130, 100, 80, 70, 60], 5),  # a search whose hits were read down to the fifth
        ([90, 40, 9, 3], 0),  # falls by itself: a third of 3 are expected below
        ([200], 0),  # all at the first rank: an easy set
        ([6, 6, 4, 4], 0),  # too few to say
    ],
)
def test_gold_that_ends_at_a_rank_was_found_down_to_it(counts: list[int], last: int) -> None:
    ranks = np.repeat(np.arange(1, len(counts) + 1), counts).astype(np.int32)[:, None]
    assert cut_off(ranks) == last
    assert cut_off(np.append(ranks, [[0]], axis=0)) == 0, "one place is not found at all"


def drawn(folder: Path) -> None:
    """60 questions about 12 subjects of 20 documents each; all words of a subject are as likely in its documents."""
    dice = random.Random(3)
    word = lambda subject: f"{'abcdefghijkl'[subject]}w{dice.randrange(12)}"  # noqa: E731
    texts = [
        " ".join(word(subject if dice.random() < 0.4 else dice.randrange(12)) for _ in range(12))
        for subject in range(12)
        for _ in range(20)
    ]
    write_lines(folder / "corpus.jsonl", [{"_id": str(number), "title": "", "text": text} for number, text in enumerate(texts)])
    asked = [{"_id": f"q{number}", "text": " ".join(word(number % 12) for _ in range(3))} for number in range(60)]
    write_lines(folder / "queries.jsonl", asked)
    rows = [f"q{number}\t{20 * (number % 12) + each}\t1\n" for number in range(60) for each in range(20)]
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows), "utf-8")


def measured(
    folder: Path, gold: set[tuple[str, str]] | None = None, depth: int = 5
) -> tuple[dict[str, float], Conclusion, Found]:
    """Mean nDCG@10, the conclusion, and the first documents of each trial; of the gold only what is in `gold`."""
    path = folder / "qrels" / "test.tsv"
    head, *lines = path.read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    kept = [f"{row[0]}\t{row[1]}\t1\n" for row in rows if int(row[2]) > 0 and (gold is None or (row[0], row[1]) in gold)]
    path.write_text(f"{head}\n{''.join(kept)}", "utf-8")
    study = write_experiment(folder / "study.yaml", folder, AXES, ', chunker=whole, "metrics=[ndcg@10]"')
    study.write_text(study.read_text("utf-8").replace("dataset: native", "dataset: beir\ncontrols: false"), "utf-8")
    store = Store(str(folder / "store"))
    done = sweep.run(made := plan.make(load(str(study)), store), store, SETTINGS, lambda key, outcome: None)
    path.write_text("\n".join([head, *lines]) + "\n", "utf-8")
    first: Found = {}
    for trial in made.trials:
        ranking, corpus = (store.read(made.stages[key].entry) for key in (trial.ends.ranking, trial.ends.corpus))
        ranked = document_rankings(rankings_of(ranking), corpus_of(corpus, trial.golden))
        pairs = zip(trial.golden.examples, ranked, strict=True)
        first[trial.trial.name] = {(each.query.query_id, name) for each, row in pairs for name, _ in row[:depth]}
    return {row.name: row.value("ndcg@10") for row in done.board.rows}, holdout.reach(done, store, SETTINGS, None), first


def test_gold_of_one_search_shows_nothing(tmp_path: Path) -> None:
    drawn(folder := tmp_path / "set")
    _, concluded, first = measured(folder)
    assert not any("found with" in note for note in concluded.notes)
    for search in ("words", "hashes"):
        _, concluded, _ = measured(folder, first[search])
        assert concluded.winner
        assert len(concluded.winner.tied) == 2
        assert all(each.tied for each in concluded.winner.standings)
        assert "shown" not in concluded.winner.why
        assert any(f"the first 5 of {search}: it was found with that search" in note for note in concluded.notes)
        assert (concluded.wins, concluded.effects) == (None, None)
    _, concluded, _ = measured(folder, first["words"] | first["hashes"])
    assert not any("found with" in note for note in concluded.notes)
    assert concluded.bounds
