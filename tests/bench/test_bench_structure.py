"""What structure is worth: chunkers along headings and tables, and what the indexes read, on sets that chose none of them.

The trials were chosen on the tune half of the handbook (experiments/structure.yaml); nothing is chosen here.
"""

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

import numpy as np
import pytest
from bench import structure, tatqa
from bench.measuring import DATA, Report, declared, needs_data, swept
from bench.test_bench_quality import SPANS, TREC_NAMES, scores_of, trec_eval

from rag.core.corpus import Corpus
from rag.core.rankings import NOTHING
from rag.evaluation.statistics.paired import Family, family
from rag.evaluation.statistics.resampling import cluster_numbers
from rag.execution.graph.plan import PlannedTrial
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.execution.sweep.sweep import Sweep

pytestmark = [pytest.mark.bench, needs_data]

BASE = "recursive-800 · plain"
CHUNKERS = {
    "recursive-800": "chunker=recursive chunker.size=800",
    "markdown-800": "chunker=markdown chunker.size=800",
    "table-rows": "chunker=table_rows",
    "table-whole": "chunker=table_whole",
}
READINGS = {
    f"{name} · {text}": f"{cut} passage={text}" for name, cut in CHUNKERS.items() for text in ("plain", "titled", "row")
}
PARENTS = {
    f"{name} · {text} · parents": f"{READINGS[f'{name} · {text}']} selector=[parents]"
    for name, text in (("recursive-800", "plain"), ("table-rows", "plain"), ("table-rows", "titled"), ("table-rows", "row"))
}
"""Small chunks are found, and the sections around them read."""
WORDS, BOTH = ("index=[bm25s]", "fusion=single"), ("index=[bm25s,dense]", "fusion=weighted")
FIXED = ("generator=none", "latency=0", "metrics=[recall@5,ndcg@10,char_recall@5,iou@5,recall@2000chars]")
SHOWN = ("recall@5", "iou@5", "recall@2000chars")


def corpus(trial: PlannedTrial, done: Sweep, store: Store) -> Corpus:
    """The chunks of a trial, with the texts that its indexes read."""
    entry = store.read(done.plan.stages[trial.ends.corpus].entry)
    assert entry is not None
    return corpus_of(entry, trial.golden)


def against_base(trial: PlannedTrial, base: PlannedTrial, done: Sweep, store: Store, column: str) -> Family:
    """The difference of a column to another trial, question by question."""
    apart = scores_of(trial, done, store).column(column) - scores_of(base, done, store).column(column)
    return family(apart[:, None], cluster_numbers(trial.golden.examples))


def table(title: str, done: Sweep, store: Store, columns: Sequence[str], column: str, base: str = BASE) -> Report:
    """The means of all trials, and the difference of one column to that of the base."""
    report = Report(title, ("trial", *columns, f"{column} against the base", "low", "high"))
    trials = {trial.trial.name: trial for trial in done.plan.trials}
    for row in done.board.rows:
        found = against_base(trials[row.name], trials[base], done, store, column)
        ends = (f"{value:+.4f}" for value in (found.mean[0], found.low[0], found.high[0]))
        report.row(row.name, *(row.value(each) for each in columns), *ends)
    first = done.plan.trials[0].golden.examples
    report.note(f"{len(first)} questions in {cluster_numbers(first).max() + 1} clusters; intervals of 95 %, each by itself.")
    return report


@pytest.mark.parametrize("place", ["first", "last"])
def test_rows_of_gold_cells_in_tatqa(bench: Path, place: str) -> None:
    assert tatqa.write(DATA / "tatqa-dev", bench / "tables", place == "first") == 971
    fixed = [f"dataset.path={bench / 'tables'}", *WORDS, *FIXED]
    done, store = swept(declared(bench / "rows.yaml", "Are the rows found?", "native", fixed, {"reading": READINGS | PARENTS}))
    table(f"TAT-QA dev, rows of gold cells, BM25, table {place}", done, store, SHOWN, "recall@5").show()
    check_spans(done, store)
    show_losses(f"TAT-QA dev, structure, table {place}", done, store)


def test_rows_of_gold_cells_in_tatqa_with_vectors(bench: Path) -> None:
    tatqa.write(DATA / "tatqa-dev", bench / "tables", table_first=True)
    names = (BASE, "recursive-800 · row", "markdown-800 · row", "table-rows · row")
    axes = {"reading": {name: READINGS[name] for name in names} | PARENTS}
    fixed = [f"dataset.path={bench / 'tables'}", *BOTH, *FIXED]
    done, store = swept(declared(bench / "rows.yaml", "Are the rows found?", "native", fixed, axes))
    table("TAT-QA dev, rows of gold cells, BM25 and MiniLM, table first", done, store, SHOWN, "recall@5").show()
    check_spans(done, store)


def test_spans_of_chunking_evaluation(bench: Path) -> None:
    sizes = {
        f"{name}-{size}": f"chunker={name} chunker.size={size}"
        for name in ("recursive", "markdown")
        for size in (400, 800, 1600)
    }
    cuts = sizes | {"semantic-800": "chunker=semantic chunker.size=800", "semantic-1600": "chunker=semantic"}
    axes = {"reading": {f"{name} · {text}": f"{cut} passage={text}" for name, cut in cuts.items() for text in ("plain", "row")}}
    fixed = ["dataset.path=${data}/chroma-a", *WORDS, *FIXED]
    done, store = swept(declared(bench / "spans.yaml", "Which chunks?", "chroma", fixed, axes))
    report = table("chroma-a, character spans, BM25", done, store, ("ndcg@10", "char_recall@5", *SHOWN), "iou@5")
    for name, (recall, iou) in SPANS.items():
        report.note(f"published, {name}: char_recall@5 {recall}, iou@5 {iou}")
    report.show()
    check_spans(done, store)


def check_spans(done: Sweep, store: Store) -> None:
    """Recompute the scores of gold spans from the first five chunks of every question."""
    for trial in done.plan.trials:
        entry = store.read(done.plan.stages[trial.ends.ranking].entry)
        assert entry is not None
        cut, ours = corpus(trial, done, store), scores_of(trial, done, store)
        ranked = rankings_of(entry)
        ranks = np.arange(1, ranked.positions.shape[1] + 1) if ranked.ranks is None else ranked.ranks
        positions = np.where(ranks <= 5, ranked.positions, NOTHING)[:, :200].tolist()
        expected = [structure.by_characters(*each) for each in zip(trial.golden.examples, repeat(cut), positions)]
        found = np.stack([ours.column(name) for name in ("recall@5", "char_recall@5", "iou@5")], axis=1)
        assert found == pytest.approx(np.array(expected), abs=1e-9), trial.trial.name


def show_losses(title: str, done: Sweep, store: Store) -> dict[str, structure.Losses]:
    """Print what the chunks of every chunker and passage lose of structure."""
    report = Report(title, ("trial", "chunks", "end in a heading", "rows", "read without header"))
    found = {}
    for trial in done.plan.trials:
        reading = " · ".join(trial.trial.name.split(" · ")[:2])
        if reading not in found:
            lost = found[reading] = structure.losses(corpus(trial, done, store))
            report.row(reading, lost.chunks, lost.headings, lost.rows, lost.bare)
    report.show()
    return found


def test_no_heading_and_no_header_is_lost_in_the_handbook(bench: Path) -> None:
    done, store = swept(declared(bench / "lost.yaml", "What is lost?", "handbook", [*WORDS, *FIXED], {"reading": READINGS}))
    found = show_losses("Handbook, structure", done, store)
    assert found[BASE].headings
    assert found[BASE].bare
    for name in ("markdown-800", "table-rows", "table-whole"):
        assert not found[f"{name} · row"].headings
        assert not found[f"{name} · row"].bare


@pytest.mark.parametrize("name", ["scifact-train", "cranfield"])
def test_nothing_is_lost_on_whole_documents(bench: Path, name: str) -> None:
    path = f"dataset.path={DATA / 'beir' / name}"
    fixed = [path, "chunker=whole", *WORDS, "generator=none", "latency=0", "metrics=[ndcg@10,recall@100,map@100,precision@5]"]
    analysers = {each: f"index.bm25s.analyser={each}" for each in ("stems", "ids", "ids_and_words")}
    readings = {f"whole · {text}": f"passage={text}" for text in ("plain", "titled", "row")}
    axes = {"reading": readings, "analyser": analysers}
    done, store = swept(declared(bench / "whole.yaml", "Is nothing lost?", "beir", fixed, axes))
    table(f"{name}, whole documents, BM25", done, store, ("ndcg@10", "recall@100"), "ndcg@10", "whole · plain · stems").show()
    for trial in done.plan.trials:
        ours, theirs = scores_of(trial, done, store), trec_eval(bench, trial, done, store)
        for column, other in TREC_NAMES.items():
            expected = [theirs[query_id][other] for query_id in ours.query_ids]
            assert ours.column(column) == pytest.approx(expected, abs=1e-9), trial.trial.name
