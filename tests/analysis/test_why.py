"""`rag study why`: one golden question after every step, as text and as JSON."""

import contextlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Verb, verb
from support.small_set import write_experiment, write_golden

from rag.analysis.blame.corridor import STAGES
from rag.analysis.headroom import CHUNKER, ORDER, READER
from rag.analysis.why.stage_sentence import Whereabouts, sentence_on_loss
from rag.config.experiment import load
from rag.documents.folder.file_tree import SkippedWarning
from rag.execution.store.store import Store
from rag.execution.sweep import sweep
from rag.reporting.terminal import output
from rag.reporting.terminal.lost_questions import blame as blame_table
from rag.reporting.terminal.passages import excerpt
from rag.tracking import trial_results

GIVEN = ("dataset=native", "dataset.path=../golden", "embedder=hashing", "embedder.dimensions=64", "split=all")
AXES = """\
  chunker: ["chunker=fixed chunker.size=10 chunker.overlap=0", chunker=whole]
  search: ["index=[bm25s] fusion=single", "index=[bm25s,dense] fusion=rrf"]
  reranker: reranker=none,mmr"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished sweep that generates answers from the first two passages."""
    folder = tmp_path_factory.mktemp("why") / "here"
    golden = write_golden(folder.parent / "golden")
    folder.mkdir()
    path = write_experiment(folder / "study.yaml", golden, AXES, ", k=2, depth=4, rerank_depth=3")
    path.write_text(path.read_text("utf-8").replace("generator=none", "generator=extractive"), "utf-8")
    with contextlib.chdir(folder):
        ready = sweep.prepare(load(str(path), ["split=all"]))
        sweep.write(sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None))
    return folder


@pytest.fixture
def rag(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.chdir(place)
    monkeypatch.setattr(output.out, "_width", 120)
    return verb(capsys, monkeypatch)


@pytest.fixture
def trials(place: Path) -> Mapping[str, str]:
    """The trial ids of the sweep by name."""
    return {row["name"]: row["trial"] for row in json.loads((place / "reports/study/trials.json").read_text("utf-8"))}


def named(trials: Mapping[str, str], *words: str) -> str:
    return next(f"trial={trial}" for name, trial in trials.items() if all(word in name for word in words))


def test_a_question_that_was_found(rag: Verb, trials: Mapping[str, str]) -> None:
    said = rag("why", "q4", named(trials, "whole", "bm25s+dense", "none"), "--json")
    assert said.code == 0
    question, (account,) = said.json["question"], said.json["trials"]
    assert (question["id"], question["kind"]) == ("q4", "factoid")
    (place,) = question["evidence"][0]["any"]
    assert (place["document"], place["quote"]) == ("rules.txt", "Lost property is kept for thirty days")
    assert list(account["ranks"]) == ["bm25s", "dense", "fused"]
    assert account["stages"] == [""]
    assert account["read"] == [True]
    assert account["answer"]["scores"]["token_f1"] > 0
    held = [passage for passage in account["passages"] if passage["gold"]]
    (mark,) = held[0]["gold"]
    assert held[0]["text"][mark["start"] : mark["end"]] == place["quote"]
    assert account["ranks"]["fused"] == [held[0]["steps"]["fused"]["rank"]]


def test_questions_that_are_lost_in_whole_or_part(rag: Verb, trials: Mapping[str, str]) -> None:
    (account,) = rag("why", "q4", named(trials, "fixed", "bm25s ", "none"), "--json").json["trials"]
    assert account["stage"] == "cut apart by the chunker"
    assert account["said"].startswith("Cut apart by the chunker: no chunk holds more than 27 % of it, where 50 % is needed")
    assert account["read"] == [False]
    (account,) = rag("why", "q3", named(trials, "whole", "bm25s ", "none"), "--json").json["trials"]
    assert len(account["stages"]) == len(account["ranks"]["bm25s"]) == len(account["told"]) == 2
    for stage, rank in zip(account["stages"], account["ranks"]["bm25s"], strict=True):
        assert (stage == "") == (0 < rank <= 2)


def test_a_question_is_found_by_its_words_too(rag: Verb, trials: Mapping[str, str]) -> None:
    trial = named(trials, "whole", "bm25s ")
    assert "This corpus has no answer to it" in rag("why", "q5", trial).out
    assert rag("why", "what does a BUS  ticket cost?", trial).out == rag("why", "q2", trial).out


def test_the_text_for_one_trial(rag: Verb, trials: Mapping[str, str]) -> None:
    trial = named(trials, "whole", "bm25s+dense", "mmr")
    said = rag("why", "q1", trial).out
    assert said.index("When does the ferry to Holm leave?") < said.index("Found: passage") < said.index("Evidence 1: ferry.md")
    assert "»The ferry to Holm leaves at seven.«" in said
    for step in ("bm25s", "dense", "fused", "reranked", "in the contexts"):
        assert f"\n{step}" in said
    assert "Answer (exact_match" in said


def test_stored_stages_do_not_run_again(rag: Verb, trials: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    trial = named(trials, "whole", "bm25s+dense", "mmr")
    first = rag("why", "q3", trial, "--json").out
    monkeypatch.setattr(Store, "write", lambda *_: pytest.fail("something ran"))
    assert rag("why", "q3", trial, "--json").out == first


def test_another_split_of_a_trial_is_logged_as_a_look(rag: Verb, trials: Mapping[str, str]) -> None:
    trial = named(trials, "whole", "bm25s+dense", "mmr")
    (usual,) = rag("why", "q2", trial, "--json").json["trials"]
    (account,) = rag("why", "q2", trial, "split=holdout", "--json").json["trials"]
    assert account["trial_id"] != usual["trial_id"]
    assert {**account, "trial_id": usual["trial_id"]} == usual
    said = rag("why", "q1", trial, "split=holdout")
    assert said.code == 2
    assert "add split=tune" in said.err
    assert len([path for path in Path(".rag/store/looks").rglob("*") if path.is_file()]) == 1


def test_a_config_that_has_not_run_is_run(rag: Verb) -> None:
    said = rag("why", "q2", *GIVEN, "chunker=whole", "generator=none", "--json")
    assert said.code == 0
    (account,) = said.json["trials"]
    assert account["answer"] is None
    assert account["read"] is None
    assert rag("why", "q2", *GIVEN, "chunker=whole", "generator=none", "--json").json["trials"] == [account]
    fixed = ("chunker=fixed", "chunker.size=60", "selector=neighbours", "index=[bm25s]", "fusion=single", "k=1")
    (account,) = rag("why", "q2", *GIVEN, *fixed, "--json").json["trials"]
    assert list(account["ranks"]) == ["bm25s", "selected"]


def test_a_quote_of_a_file_that_was_not_read(rag: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden" / "documents").mkdir(parents=True)
    (tmp_path / "golden" / "documents" / "fees.pdf").write_text("%PDF-1.4 and no more", "utf-8")
    (tmp_path / "golden" / "documents" / "pets.md").write_text("Dogs travel free.", "utf-8")
    place = {"doc": "fees.pdf", "quote": "The fee is 88 crowns."}
    question = {"id": "q1", "text": "What is the fee?", "evidence": [{"any": [place]}]}
    (tmp_path / "golden" / "questions.jsonl").write_text(json.dumps(question), "utf-8")
    fixed = "[dataset.path=golden, 'index=[bm25s]', fusion=single, embedder=hashing, latency=0]"
    (tmp_path / "study.yaml").write_text(f"question: Fees?\ndataset: native\nsplit: all\nfixed: {fixed}\n", "utf-8")
    with pytest.warns(SkippedWarning, match="1 not readable"):
        ready = sweep.prepare(load("study.yaml", []))
    done = sweep.run(ready.plan, ready.store, ready.settings, lambda *_: None)
    sweep.write(done)
    (row,) = trial_results.questions(done.plan.trials[0], done.plan, ready.store)
    assert row.expectations == {"evidence": ["fees.pdf: (lost before the chunker)"]}
    said = rag("why", "q1", f"trial={done.plan.trials[0].trial_id}", "--json")
    ((gold,),) = (group["any"] for group in said.json["question"]["evidence"])
    assert (gold["document"], gold["quote"], gold["fate"], gold["pieces"]) == ("fees.pdf", "", "parser", [])
    assert said.json["trials"][0]["stage"] == STAGES[0]


@pytest.mark.parametrize(
    ("question", "given", "error"),
    [
        ("q44", (), "did you mean 'q4'"),
        ("When does the ferry from Holm leave?", (), "did you mean 'q1'"),
        ("zzz", (), "none of its 6 names comes close"),
        ("", (), "is not a golden question"),
        ("q1", ("split=holdout",), "'q1' is in the split 'tune', the questions of the trial are in 'holdout'"),
        ("q1", ("trial=nowhere",), "there is no trial 'nowhere'"),
        ("q1", ("trial=a", "k=3"), "is given with"),
        ("q1", ("trial=a", "trial=b", "trial=c"), "is given 3 times"),
        ("q1", ("control=closed_book",), "its generator does not read the search results"),
    ],
)
def test_bad_input(rag: Verb, question: str, given: tuple[str, ...], error: str) -> None:
    base = () if any(each.startswith("trial=") for each in given) else tuple(each for each in GIVEN if each != "split=all")
    base = base if any(each.startswith(("split=", "trial=")) for each in given) else (*base, "split=all")
    said = rag("why", question, *base, *given)
    assert said.code == 2
    assert error in said.err
    assert said.out == ""
    assert "Traceback" not in said.err


def test_two_trials_with_different_questions(rag: Verb, place: Path, trials: Mapping[str, str]) -> None:
    path = write_experiment(place / "other.yaml", place.parent / "golden", "  k: k=1", ", split=holdout")
    rag("sweep", str(path), "--no-track", "--json")
    other = json.loads((place / "reports" / "other" / "trials.json").read_text("utf-8"))[0]["trial"]
    for question, error in ((["q1"], "'q1' is a question of only one of the trials"), ([], "the two trials have different")):
        said = rag("why", *question, named(trials, "whole"), f"trial={other}")
        assert (said.code, error in said.err) == (2, True)
    said = rag("why")
    assert (said.code, "QUESTION" in said.err) == (2, True)


def test_a_trial_of_an_older_version(rag: Verb, place: Path) -> None:
    old = place / "reports" / "old" / "trials.json"
    old.parent.mkdir()
    old.write_text('[{"trial": "00old00old", "name": "old", "config": {"k": 3}}]', "utf-8")
    said = rag("why", "q1", "trial=00old")
    shutil.rmtree(old.parent)
    assert said.code == 2
    assert "was written down before configs had" in said.err


def test_a_stage_that_fails_gives_an_error(rag: Verb) -> None:
    model = ("generator=openai", "generator.base_url=http://127.0.0.1:9/v1", "generator.model=m")
    said = rag("why", "q1", *GIVEN, *model, "generator.runtime.retries=0")
    assert said.code == 2
    assert "cannot be run" in said.err
    assert "127.0.0.1:9" in said.err


# Without a question


def test_the_lost_questions_of_one_and_two_trials(rag: Verb, trials: Mapping[str, str]) -> None:
    trial = named(trials, "fixed", "bm25s ", "none")
    (report,) = rag("why", trial, "--json").json["trials"]
    assert (report["questions"], report["answerable"]) == (6, 5)
    assert sum(report["counts"].values()) == len(report["lost"]) > 0
    assert list(report["counts"]) == list(STAGES)
    for lost in report["lost"]:
        (account,) = rag("why", lost["query_id"], trial, "--json").json["trials"]
        assert account["stage"] == lost["stage"]
    assert {part["part"] for part in report["headroom"]["ndcg@10"]} == {ORDER, CHUNKER}
    assert {part["part"] for part in report["headroom"]["token_f1"]} == {CHUNKER, READER}
    text = rag("why", trial).out
    for part in ("of 5 questions with evidence are lost.", "cut apart by the chunker", "on the table"):
        assert part in text
    said = rag("why", named(trials, "fixed", "bm25s ", "none"), named(trials, "whole", "bm25s+dense", "mmr"))
    assert said.code == 0
    assert "A: " in said.out
    assert any(line.split()[:1] == ["q4"] and "–" in line for line in said.out.splitlines())


# Sentences about stages


WHERE = Whereabouts(["a.md"], {"bm25s": 30, "dense": 0}, 12, 8, 7, 0.31, 0.5, 5, 0, 100)


def where(**changed: Any) -> Whereabouts:
    return Whereabouts(**{**WHERE.__dict__, **changed})


@pytest.mark.parametrize(
    ("stage", "changed", "text"),
    [
        ("", {"selected": 3}, "Found: passage 3, within the first 5."),
        (STAGES[0], {"documents": ["a.md", "b.md"]}, "Not in the corpus: there is no text of a.md or b.md."),
        (STAGES[1], {"rules": ["not read"]}, "Lost by the parser: a.md (not read)."),
        (STAGES[2], {"rules": ["several places"]}, "Not placed in its text: a.md (several places)."),
        (STAGES[3], {"rules": ["mail"]}, "Lost by redaction: a placeholder is in its place in a.md (mail)."),
        (STAGES[4], {"rules": ["header"]}, "Dropped as noise: a rule took it out of a.md (header)."),
        (STAGES[5], {}, "no chunk holds more than 31 % of it, where 50 % is needed, and the first 5 together do not either."),
        (STAGES[5], {"share": 0.0}, "no chunk holds any of it"),
        (STAGES[6], {}, "bm25s and dense do not have it in the first 100."),
        (STAGES[6], {"indexes": {"bm25s": 0}}, "bm25s does not have it in the first 100."),
        (STAGES[7], {}, "at best passage 30 in bm25s, where the first 5 count."),
        (STAGES[7], {"rerank_depth": 20}, "where the first 20 are looked at again."),
        (STAGES[7], {"indexes": {"bm25s": 0}}, "passage 12 when put together"),
        (STAGES[8], {"indexes": {"bm25s": 3, "dense": 9}}, "passage 3 in bm25s, 12 after fusion, where the first 5 count."),
        (STAGES[8], {"indexes": {"bm25s": 3}, "fused": 0}, "gone after fusion"),
        (STAGES[9], {"fused": 4}, "passage 4 before, 8 after it, where the first 5 count."),
        (STAGES[10], {"reranked": 2, "selected": 0}, "passage 2 before, gone after it"),
        (STAGES[11], {"unit": "document", "selected": 4}, "document 4, and not in the contexts"),
        (STAGES[12], {}, "all of its evidence was given to the generator."),
    ],
)
def test_one_sentence_for_each_stage(stage: str, changed: Mapping[str, Any], text: str) -> None:
    sentence = sentence_on_loss(stage, where(**changed))
    assert text in sentence
    assert sentence.lower().startswith(stage.split()[0] if stage else "found")


# Passages and tables


def test_gold_is_marked_in_a_passage() -> None:
    text = "The ferry\nleaves  at [seven]. Dogs travel free."
    passage = {"text": text, "gold": [{"group": 0, "start": 4, "end": 9}, {"group": 1, "start": 21, "end": 29}]}
    shown = excerpt(passage).replace("[bold green]", "").replace("[/bold green]", "")
    assert shown == "The »ferry« leaves at »\\[seven].« Dogs travel free."
    meeting = {"text": "abcdef", "gold": [{"group": 1, "start": 2, "end": 4}, {"group": 0, "start": 0, "end": 3}]}
    assert excerpt(meeting) == "[bold green]»abcd«[/bold green]ef"


def test_gold_far_from_the_start_is_shown_with_its_surroundings() -> None:
    text = "a " * 400 + "gold" + " b" * 400
    shown = excerpt({"text": text, "gold": [{"group": 0, "start": 800, "end": 804}]})
    assert shown.startswith("… a a")
    assert "»gold«" in shown
    assert shown.endswith("b …")
    assert excerpt({"text": "x" * 500}) == "x" * 400 + " …"


def test_blame_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    counts = {"a": dict.fromkeys(STAGES, 0) | {"lost in fusion": 3}, "b": dict.fromkeys(STAGES, 0) | {"lost in reranking": 2}}
    output.out.print(blame_table(counts))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["lost", "a", "b"],
        ["lost", "in", "fusion", "3", "·"],
        ["lost", "in", "reranking", "·", "2"],
        ["all", "3", "2"],
    ]
