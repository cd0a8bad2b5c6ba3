"""An experiment's trials are the configs that composing each of them alone would give, and its mistakes are told together."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag.config import experiment, search_space
from rag.config.compose import compose, resolve, shipped
from rag.config.experiment import Choice, Experiment, ad_hoc, label, load, locate
from rag.core.errors import ConfigError, ProblemsError, UserError


@pytest.fixture
def study(here: Path) -> Callable[[str], str]:
    """Write an experiment; its path."""

    def write(text: str) -> str:
        path = here / "study.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def declared(fixed: Sequence[str], **axes: Sequence[Sequence[str]]) -> Experiment:
    choices = {
        axis: tuple(Choice(f"{axis}{number}", tuple(bundle)) for number, bundle in enumerate(bundles))
        for axis, bundles in axes.items()
    }
    return Experiment("study", "Does it work?", tuple(fixed), choices)


def one_by_one(found: Experiment) -> tuple[dict[tuple[str, ...], Any], set[str]]:
    """Every combination composed alone, and what is wrong with those that cannot be."""
    configs: dict[tuple[str, ...], Any] = {}
    problems: set[str] = set()
    for picked in itertools.product(*found.axes.values()):
        try:
            config = resolve(compose([*found.fixed, *(each for choice in picked for each in choice.overrides)]))
        except UserError as error:
            problems.add(str(error))
            continue
        configs[tuple(choice.label for choice in picked)] = config
    return configs, problems


def assert_equals_one_by_one(found: Experiment) -> None:
    configs, problems = one_by_one(found)
    if problems:
        with pytest.raises(ProblemsError) as caught:
            found.trials()
        assert {str(problem) for problem in caught.value.problems} <= problems
        return
    trials = found.trials()
    distinct = {
        json.dumps([config, list(config["index"])], sort_keys=True): labels for labels, config in reversed(configs.items())
    }
    assert [tuple(trial.choices.values()) for trial in trials] == [labels for labels in configs if labels in distinct.values()]
    for trial in trials:
        assert trial.config == configs[tuple(trial.choices.values())]
        assert list(trial.config["index"]) == list(configs[tuple(trial.choices.values())]["index"])


# Trials are what composing each alone gives


NASTY: dict[str, Experiment] = {
    "interpolations of another axis": declared(
        ["chunker=token", "reranker=mmr"],
        embedder=[["embedder=minilm"], ["embedder=hashing"], ["embedder=hashing", "embedder.dimensions=99"]],
        rerank=[["reranker.relevance_weight=0.5"], ["reranker=maxsim"]],
    ),
    "axes that set the same key": declared(
        [],
        chunker=[["chunker=fixed"], ["chunker=recursive"]],
        size=[["chunker.size=100"], ["chunker.size=200", "k=3"]],
        k=[["k=3"], ["k=5"]],
    ),
    "lists that keep their order": declared(
        [],
        index=[["index=[dense,bm25s]"], ["index=[bm25s,dense]"], ["index=[bm25]"]],
        fusion=[["fusion=single"], ["fusion=rrf"]],
    ),
    "values that equal the default": declared(
        [], one=[["k=5"], ["k=6"]], two=[["chunker=recursive"], ["chunker=recursive", "chunker.size=800"], ["chunker=whole"]]
    ),
    "one mistake among many": declared([], chunker=[["chunker=fixed"], ["chunker=nope"]], k=[["k=1"], ["kk=2"]]),
    "a mistake that one combination makes": declared(
        [], chunker=[["chunker=whole"], ["chunker=fixed"]], size=[["k=3"], ["chunker.size=3"]]
    ),
}


@pytest.mark.parametrize("name", NASTY)
def test_nasty_experiments_compose_as_if_each_trial_were_alone(here: Path, name: str) -> None:
    assert_equals_one_by_one(NASTY[name])


# Forms of axes


def test_every_form_of_an_axis(study: Callable[[str], str]) -> None:
    found = load(
        study(
            """\
question: Which?
dataset: handbook
split: tune
fixed: [k=3, "index=[bm25s]"]
axes:
  swept: chunker=fixed,recursive
  single: chunker.size=300
  listed: [depth=10, "depth=20 coverage=0.7", [depth=30, "prompt.system=a b c"]]
  lists: index=[bm25s],[dense],[bm25s,dense]
  named:
    short: rerank_depth=5
    long: rerank_depth=50 latency=0
    text: ["prompt.no_contexts='none, at all'"]
  ranged: latency=range(1,4)
  matched: embedder=glob(h*)
"""
        ),
        ["store=elsewhere"],
    )
    assert found.name == "study"
    assert found.question == "Which?"
    assert found.objective == "maximize ndcg@10"
    assert found.fixed == ("dataset=handbook", "split=tune", "k=3", "index=[bm25s]", "store=elsewhere")
    result = {axis: [(choice.label, choice.overrides) for choice in choices] for axis, choices in found.axes.items()}
    assert result == {
        "swept": [("fixed", ("chunker=fixed",)), ("recursive", ("chunker=recursive",))],
        "single": [("size 300", ("chunker.size=300",))],
        "listed": [
            ("depth 10", ("depth=10",)),
            ("depth 20-0.7", ("depth=20", "coverage=0.7")),
            ("depth 30 abc", ("depth=30", "prompt.system=a b c")),
        ],
        "lists": [("bm25s", ("index=[bm25s]",)), ("dense", ("index=[dense]",)), ("bm25s+dense", ("index=[bm25s,dense]",))],
        "named": [
            ("short", ("rerank_depth=5",)),
            ("long", ("rerank_depth=50", "latency=0")),
            ("text", ("prompt.no_contexts='none, at all'",)),
        ],
        "ranged": [(f"latency {n}", (f"latency={n}",)) for n in (1, 2, 3)],
        "matched": [("hashing", ("embedder=hashing",))],
    }


@pytest.mark.parametrize(
    ("overrides", "shown"),
    [
        (["chunker=recursive", "chunker.size=512"], "recursive-512"),
        (["chunker=fixed"], "fixed"),
        (["k=5"], "k 5"),
        (["chunker.size=400"], "size 400"),
        (["index=[bm25s,dense]", "fusion=rrf", "fusion.k=20"], "bm25s+dense rrf-20"),
        (["+extra.a=x"], "a x"),
        (["~chunker.overlap"], "~chunker.overlap"),
        (["prompt.system="], "system prompt.system="),
    ],
)
def test_labels(overrides: list[str], shown: str) -> None:
    assert label(overrides) == shown


def test_two_choices_are_never_called_the_same(study: Callable[[str], str]) -> None:
    found = load(
        study(
            "question: q\naxes:\n  b: depth=7,7\n"
            '  a: ["chunker=fixed chunker.size=4", "chunker=fixed chunker.overlap=4", k=3]\n'
        )
    )
    assert [choice.label for choice in found.axes["a"]] == [
        "chunker=fixed chunker.size=4",
        "chunker=fixed chunker.overlap=4",
        "k 3",
    ]
    assert len(found.axes["b"]) == 1


# Mistakes


def test_what_is_fixed_may_be_one_text_and_an_objective_a_list(study: Callable[[str], str]) -> None:
    assert load(study("question: q\nfixed: k=3 depth=20")).fixed == ("k=3", "depth=20", "split=all")
    assert load(study("question: q\nfixed:")).fixed == ("split=all",)
    listed = load(study("question: q\nobjective: [maximize ndcg@10, latency_p95_ms <= 200]"))
    assert listed.objective == "maximize ndcg@10, latency_p95_ms <= 200"


def test_a_declared_experiment_asks_all_questions_unless_it_has_a_holdout(study: Callable[[str], str]) -> None:
    assert load(study("question: q"), ["k=3"]).fixed == ("split=all", "k=3")
    assert load(study("question: q\nholdout: 3"), ["k=3"]).fixed == ("split=tune", "k=3")
    assert load(study("question: q\nfixed: split=holdout")).fixed == ("split=holdout",)
    assert load(study("question: q"), ["split=all"]).fixed == ("split=all",)
    assert load(study("question: q\naxes: {s: 'split=tune,holdout'}")).fixed == ()
    assert "split" not in " ".join(ad_hoc([]).fixed)


def test_how_many_are_measured_again(study: Callable[[str], str]) -> None:
    assert load(study("question: q")).holdout == 5
    assert (load(study("question: q\nholdout: 0")).holdout, load(study("question: q\nholdout: 0")).fixed) == (0, ("split=all",))
    assert ad_hoc([]).holdout == 0
    with pytest.raises(ConfigError, match="holdout: is 3, and split: all keeps nothing back"):
        load(study("question: q\nsplit: all\nholdout: 3"))


def test_an_experiment_is_found_by_path_then_here_then_among_ours(here: Path) -> None:
    assert locate("quickstart") == shipped("experiments") / "quickstart.yaml"
    (here / "experiments").mkdir()
    (here / "experiments" / "quickstart.yaml").write_text("question: mine\n", encoding="utf-8")
    assert load("quickstart").question == "mine"
    (here / "quickstart").write_text("question: a path\n", encoding="utf-8")
    assert load("quickstart").question == "a path"


def test_every_mistake_of_every_trial_is_reported_once(study: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOPE_MODEL", raising=False)
    found = load(
        study(
            "question: q\naxes:\n  chunker: chunker=fixd,whole,recursve\n  k: kk=3,4\n  fusion: fusion=rrf,single\n"
            "  depth: ['depth=${oc.env:NOPE_MODEL}', depth=5]\n  dataset: dataset=native,handbook\n"
        )
    )
    with pytest.raises(ProblemsError) as caught:
        found.trials()
    places = sorted(problem.where for problem in caught.value.problems)
    assert places == ["chunker", "chunker", "kk"]
    clean = Experiment(
        "study", "q", (), {axis: choices for axis, choices in found.axes.items() if axis not in ("chunker", "k")}
    )
    with pytest.raises(ProblemsError) as caught:
        clean.trials()
    assert sorted(problem.where for problem in caught.value.problems) == ["dataset.path", "depth"]
    assert str(caught.value).count("\n") == 3


def test_too_many_trials_are_refused_before_anything_is_composed(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_space, "compose", None)
    sizes: Any = [[f"k={n}"] for n in range(50)]
    with pytest.raises(ConfigError, match="span 6,250,000 trials"):
        declared([], a=sizes, b=sizes, c=sizes, d=sizes).trials()
    assert experiment.MOST_TRIALS < 6_250_000


# The command line


def test_overrides_of_the_command_line_join_what_is_fixed(study: Callable[[str], str]) -> None:
    path = study("question: q\nfixed: [k=3]\naxes: {depth: 'depth=10,20'}\n")
    assert [trial.config["k"] for trial in load(path, ["k=4", "split=tune"]).trials()] == [4, 4]
    with pytest.raises(ProblemsError, match="names several values"):
        load(path, ["k=4,5"]).trials()


@pytest.mark.parametrize("override", ["++depth=5", "chunker=whole", "chunker.size=4"])
def test_an_override_that_every_trial_would_overrule_is_reported(study: Callable[[str], str], override: str) -> None:
    path = study('question: q\naxes: {depth: "depth=10,20", cut: ["chunker=fixed chunker.size=3"]}\n')
    with pytest.raises(ConfigError, match=r"is what the axis '(depth|cut)' varies") as caught:
        load(path, ["k=4", override])
    assert caught.value.where == override


def test_an_override_takes_the_place_of_the_axis_that_is_called_after_its_key(study: Callable[[str], str]) -> None:
    path = study('question: q\naxes: {depth: "depth=10,20", k: {few: k=1 coverage=0.4, many: k=9}}\n')
    found = load(path, ["depth=30,40,50", "k=2", "rerank_depth=7"])
    assert set(found.fixed) == {"split=all", "rerank_depth=7"}
    assert [(trial.config["depth"], trial.config["k"]) for trial in found.trials()] == [(30, 2), (40, 2), (50, 2)]
    assert {axis: [choice.label for choice in choices] for axis, choices in found.axes.items()} == {
        "depth": ["depth 30", "depth 40", "depth 50"],
        "k": ["k 2"],
    }


def test_an_ad_hoc_run_makes_an_axis_of_every_sweep(here: Path) -> None:
    found = ad_hoc(["k=3,5", "depth=20", "index=[bm25s],[dense]", "+own=range(0,2)"])
    assert found.fixed == ("depth=20",)
    assert {axis: len(choices) for axis, choices in found.axes.items()} == {"k": 2, "index": 2, "own": 2}
    trials = found.trials()
    assert len(trials) == 8
    assert {trial.config["depth"] for trial in trials} == {20}
    assert trials[0].name == "k 3 · bm25s · own 0"
    assert found.name == "run"
    assert "k=3,5" in found.question


def test_an_ad_hoc_run_says_what_it_cannot_read(here: Path) -> None:
    with pytest.raises(ConfigError, match="write key=value"):
        ad_hoc(["k"])
    for overrides in (["k=3,5", "k=7"], ["k=7", "k=3,5"], ["k=3,5", "k=7,9"]):
        with pytest.raises(ConfigError, match="is what the axis 'k' varies"):
            ad_hoc(overrides)
