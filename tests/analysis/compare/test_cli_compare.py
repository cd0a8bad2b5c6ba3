"""`rag study compare` on the stored trials of a real sweep."""

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb
from support.small_set import write_experiment, write_golden

from rag.analysis import baseline
from rag.config.experiment import load
from rag.execution.graph import plan
from rag.execution.store import maintenance
from rag.execution.sweep import sweep
from rag.execution.sweep.reopen import stored_trial

pytestmark = pytest.mark.usefixtures("here")

AXES = '  chunker: ["chunker=fixed chunker.size=40", chunker=whole]\n  k: k=1,3'
METRICS = ', "metrics=[recall@k,ndcg@10,hit@1,exact_match]"'


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a golden set, and a folder in which a sweep of four trials ran."""
    folder = tmp_path_factory.mktemp("once")
    write_golden(folder / "golden")
    (folder / "here").mkdir()
    with contextlib.chdir(folder / "here"):
        sweep_in_place("study")
    return folder


@pytest.fixture
def here(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(once, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy" / "here")
    return tmp_path / "copy" / "here"


@pytest.fixture
def golden(here: Path) -> Path:
    return here.parent / "golden"


@pytest.fixture
def ids(here: Path) -> dict[str, str]:
    """Ids of the four trials of the sweep, by name."""
    return recorded_in("study")


def sweep_in_place(name: str, axes: str = AXES, fixed: str = "") -> dict[str, str]:
    """Run a small sweep in the working folder; the ids of its trials by name."""
    given = f', "index=[bm25s]", fusion=single{METRICS}{fixed}'
    path = Path(f"{name}.yaml")
    ready = sweep.prepare(load(str(write_experiment(path, Path("../golden"), axes, given))))
    sweep.write(sweep.run(ready.plan, ready.store, ready.settings, lambda key, outcome: None))
    return recorded_in(name)


def recorded_in(name: str) -> dict[str, str]:
    trials = json.loads(Path(f"reports/{name}/trials.json").read_text("utf-8"))
    return {trial["name"]: trial["trial"] for trial in trials}


# Output


def test_two_trials_as_json(rag: Verb, ids: dict[str, str]) -> None:
    said = rag("compare", ids["fixed-40 · k 1"], ids["whole · k 1"][:6], "--json")
    assert (said.code, said.err) == (0, "")
    report = said.json
    assert report["base"] == {"trial": ids["fixed-40 · k 1"], "name": "fixed-40 · k 1"}
    assert report["candidates"] == [{"trial": ids["whole · k 1"], "name": "whole · k 1"}]
    assert (report["added"], report["removed"], report["changed"]) == ([], [], [])
    overall = [row for row in report["rows"] if not row["slice"]]
    # exact_match has no value without a generator; the column that is compared by slice comes first.
    assert [row["column"] for row in overall] == ["ndcg@10", "recall@k", "hit@1"]
    assert {row["slice"] for row in report["rows"] if row["column"] == "ndcg@10"} == {"", "kind=factoid", "kind=multi_hop"}
    board = json.loads(Path("reports/study/leaderboard.json").read_text("utf-8"))["trials"]
    means = {trial["trial"]: trial["metrics"]["recall@k"]["mean"] for trial in board}
    row = overall[1]
    assert row["n"] == 5, "the question that the corpus cannot answer has no retrieval score"
    assert row["base_mean"] == pytest.approx(means[row["base_id"]])
    assert row["candidate_mean"] == pytest.approx(means[row["candidate_id"]])
    assert row["difference"] == pytest.approx(row["candidate_mean"] - row["base_mean"])
    assert row["wins"] + row["ties"] + row["losses"] == 5
    single = next(row for row in report["rows"] if row["slice"] == "kind=multi_hop")
    assert (single["n"], single["p_adjusted"], single["detectable"]) == (1, None, None)
    assert report["family"] == 4


def test_nothing_runs_and_the_same_comparison_gives_the_same_bytes(rag: Verb, ids: dict[str, str]) -> None:
    def stored() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in Path(".rag/store").rglob("*") if path.is_file()}

    before = stored()
    first, second = (rag("compare", *ids.values(), "--by", "kind,doc", "--json") for _ in range(2))
    assert (first.code, first.out, before) == (0, second.out, stored())


def test_chosen_columns_and_slices(rag: Verb, ids: dict[str, str]) -> None:
    sides = (ids["fixed-40 · k 1"], ids["whole · k 3"])
    chosen = ("--metric", "hit@1", "--metric", "recall@k", "--by", "answerable, words,doc", "--json")
    rows = rag("compare", *sides, *chosen).json["rows"]
    assert list(dict.fromkeys(row["column"] for row in rows)) == ["hit@1", "recall@k"]
    names = ["", "answerable=yes", "words=1-8", "doc=bus.md", "doc=ferry.md", "doc=rules.txt", "doc=winter.md"]
    assert [row["slice"] for row in rows if row["column"] == "recall@k"] == names
    assert all(not row["slice"] for row in rag("compare", *sides, "--by", "", "--json").json["rows"])


# Baselines


def baseline_of(trial_id: str, path: Path) -> str:
    trial = stored_trial(trial_id).trial
    store = maintenance.at(trial.config["store"])
    made = plan.assemble(load("study.yaml"), [trial], store)
    baseline.write(baseline.make_baseline(made.trials[0], made, store), path)
    return str(path)


def test_a_baseline_is_compared_like_a_trial(rag: Verb, ids: dict[str, str]) -> None:
    one, other = ids["fixed-40 · k 1"], ids["whole · k 3"]
    kept, copy = (baseline_of(trial, Path(f"kept/{trial}.json")) for trial in (one, other))
    direct = rag("compare", one, other, "--json").json
    for sides in ((kept, other), (one, copy), (kept, copy)):
        told = rag("compare", *sides, "--json").json
        assert (told["base"], told["candidates"], told["family"]) == (direct["base"], direct["candidates"], direct["family"])
        for row, same in zip(told["rows"], direct["rows"], strict=True):
            assert row["difference"] == pytest.approx(same["difference"], abs=1e-5)
            assert [row[name] for name in ("slice", "n", "wins")] == [same[name] for name in ("slice", "n", "wins")]
    same_trial = rag("compare", kept, one, "--json").json
    assert {row["difference"] for row in same_trial["rows"]} == {0}


def test_baselines_of_public_data_find_it_in_another_folder(
    rag: Verb, here: Path, golden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The id of a trial does not depend on the folder of its data.
    shutil.rmtree("reports/study")
    monkeypatch.setenv("RAG_DATA", str(golden.parent))
    ids = sweep_in_place("public", "  k: k=1,3", ', "dataset.path=${data}/golden", chunker=whole')
    kept = [baseline_of(trial, Path(f"kept/{trial}.json")) for trial in ids.values()]
    assert "${data}/golden" in Path(kept[0]).read_text("utf-8")
    shutil.move(golden, here / "moved" / "golden")
    monkeypatch.setenv("RAG_DATA", str(here / "moved"))
    assert rag("compare", *kept).code == 0


# Bad input


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("{one}",), "is all there is to compare"),
        (("{one}", "{one:.5}"), "names the same as"),
        (("{one}", "zzz"), "there is no trial 'zzz'"),
        (("{one}", "{other}", "--metric", "exact_match"), "has no value in trial"),
        (("{one}", "{other}", "--by", "kinds"), "did you mean 'kind'"),
        (("{one}", "{other}", "--by", "kind,tag"), "--by tag: no question of this golden set has one"),
        (("{one}", "{other}", "--by", "meta.titel"), "did you mean 'meta.title'"),
        (("{one}", "study.yaml"), "study.yaml: is not a valid baseline"),
    ],
)
def test_invalid_arguments(rag: Verb, ids: dict[str, str], arguments: tuple[str, ...], error: str) -> None:
    named = {"one": ids["fixed-40 · k 1"], "other": ids["whole · k 1"]}
    said = rag("compare", *(argument.format(**named) for argument in arguments))
    assert (said.code, said.out) == (2, "")
    assert error in said.err
    assert "\n  → " in said.err
    assert "Traceback" not in said.err


def test_a_prefix_that_names_several_trials(rag: Verb, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("reports/study/trials.json")
    trials = json.loads(path.read_text("utf-8"))
    for number, trial in enumerate(trials):
        trial["trial"] = f"aa{number}"
    path.write_text(json.dumps(trials), "utf-8")
    said = rag("compare", "aa0", "aa")
    assert (said.code, "'aa' names 4 trials" in said.err) == (2, True)
    assert "write more of it: aa0, aa1, aa2, aa3" in said.err


def test_documents_that_changed_or_are_gone(rag: Verb, ids: dict[str, str], golden: Path) -> None:
    (golden / "documents" / "bus.md").write_text("# Bus\n\nA ticket costs four crowns.", "utf-8")
    said = rag("compare", *list(ids.values())[:2])
    assert said.code == 2
    assert "its documents or its questions changed since it ran" in said.err
    assert "run its sweep again" in said.err
    shutil.rmtree(golden)
    said = rag("compare", *list(ids.values())[:2])
    assert (said.code, "Traceback" in said.err) == (2, False)


def test_a_trial_that_failed(rag: Verb, golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rag.components.chunkers.fixed import FixedChunker

    def broken(*_: Any) -> Any:
        raise RuntimeError("broken")

    shutil.rmtree(".rag/store")
    with monkeypatch.context() as patch:
        patch.setattr(FixedChunker, "chunk", broken)
        ids = sweep_in_place("study")
    said = rag("compare", ids["whole · k 1"], ids["fixed-40 · k 1"])
    assert said.code == 2
    assert f"trial {ids['fixed-40 · k 1']} (fixed-40 · k 1): failed in its sweep and has no scores" in said.err
    assert "→ its sweep says why" in said.err, "`rag sweep study` finds no file of this name"
    Path("experiments").mkdir(exist_ok=True)
    shutil.copy("study.yaml", "experiments/study.yaml")
    again = rag("compare", ids["whole · k 1"], ids["fixed-40 · k 1"])
    assert "→ rag sweep study says why" in again.err
