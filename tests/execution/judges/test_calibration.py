"""Cards, and the labels they are made on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import yaml
from sklearn.metrics import roc_auc_score
from support.command_line import Verb, verb
from support.judge_texts import OF_WORDS

from rag.core.assessments import Case, Claim, Verdict
from rag.core.errors import DataError, StoreError
from rag.execution.judges import calibration
from rag.execution.judges.calibration import Card, calibrate, card_of, cards, keep
from rag.execution.judges.human_labels import Labelled, fit, labelled
from rag.execution.store.store import Store


class Reader:
    """Reads the support of a text from its first word; `?` abstains, `!` fails."""

    threshold = 0.5

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        return [self._verdict(case.text.split()[0]) for case in cases]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        raise AssertionError("labels are about claims")

    def _verdict(self, output: str) -> Verdict:
        if output == "?":
            return Verdict(abstained=True)
        return Verdict((Claim(0, 1, float("nan"), failure="lost"),) if output == "!" else (Claim(0, 1, float(output)),))


def set_of(rows: Sequence[tuple[str, bool]], clusters: int = 50) -> Labelled:
    cases = tuple(Case(text, ("0 1 2",)) for text, _ in rows)
    return Labelled("own", "d", cases, tuple(label for _, label in rows), tuple(str(n % clusters) for n in range(len(rows))))


@pytest.fixture
def drawn() -> Labelled:
    random = np.random.default_rng(5)
    labels = random.random(200) < 0.5
    scores = np.clip(0.3 + 0.4 * labels + random.normal(scale=0.2, size=200), 0, 1)
    return set_of(
        [(f"{score:.3f} {'x' * random.integers(9)}", bool(label)) for score, label in zip(scores, labels, strict=True)]
    )


def test_a_card_counts_what_it_says(drawn: Labelled) -> None:
    card = calibrate(Reader(), drawn, "me", 500)
    scores = [float(case.text.split()[0]) for case in drawn.cases]
    assert card.auc.value == pytest.approx(roc_auc_score(drawn.labels, scores))
    assert card.length_auc.value == pytest.approx(roc_auc_score(drawn.labels, [-len(case.text) for case in drawn.cases]))
    assert (card.texts, card.clusters, card.held_out, card.failed, card.abstained) == (200, 50, False, 0, 0)
    assert card.auc.low < card.auc.value < card.auc.high
    assert card.over_length.value == pytest.approx(card.auc.value - card.length_auc.value)
    assert card.remarks == []
    assert Card.from_json(json.loads(json.dumps(card.to_json()))) == card


def test_a_judge_that_knows_nothing_says_so() -> None:
    random = np.random.default_rng(6)
    card = calibrate(Reader(), set_of([(f"{random.random():.3f}", bool(n % 2)) for n in range(100)]), draws=500)
    assert card.remarks[:2] == ["does not beat word overlap alone on own", "does not beat length alone on own"]
    figures = f"(sensitivity {card.sensitivity.value:.2f}, specificity {card.specificity.value:.2f})"
    assert card.remarks[2:] == [f"does not tell supported texts of own from others {figures}: no verdict rests on it"]


def test_abstentions_and_failures_are_counted_and_stand_in_no_figure(drawn: Labelled) -> None:
    more = set_of([("?", True), ("?", False), ("! lost", True)])
    both = Labelled("own", "d", drawn.cases + more.cases, drawn.labels + more.labels, drawn.clusters + more.clusters)
    card, plain = calibrate(Reader(), both, draws=200), calibrate(Reader(), drawn, draws=200)
    assert (card.texts, card.abstained, card.failed) == (203, 2, 1)
    assert card.auc.value == plain.auc.value
    assert card.remarks == ["1 of 203 texts could not be judged and are in no figure; the first: lost"]


def test_labels_of_one_kind_cannot_be_measured() -> None:
    with pytest.raises(DataError, match="only 2 of 3 texts have a score\n"):
        calibrate(Reader(), set_of([("0.1", True), ("0.2", True), ("?", False)]))
    with pytest.raises(DataError, match="only 1 of 2 texts have a score; the first that has none: lost"):
        calibrate(Reader(), set_of([("0.1", True), ("!", False)]))


def test_a_card_is_made_once_and_found_by_its_judge(drawn: Labelled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(str(tmp_path / "store"))
    card = card_of(Reader(), drawn, "me", store)
    assert cards(store, "me") == []
    keep(card, store)
    assert card_of(None, drawn, "me", store) == card  # type: ignore[arg-type]
    assert (cards(store, "me"), cards(store, "you")) == ([card], [])
    # A card of other code stays where it is, and that of today's goes before it, whichever name comes first.
    for code in ("a", "b", "c", "d"):
        monkeypatch.setattr(calibration, "code_identity", lambda _, code=code: code)
        keep(replace(card, texts=ord(code)), store)
        assert [found.texts for found in cards(store, "me")] == [ord(code)]


class Leak:
    """Says yes of what it was fitted on, and no of everything else; a text is the number of its set."""

    threshold = 0.5

    def __init__(self, weights: dict[str, float], fitted_on: dict[str, dict[str, float]] | None = None) -> None:
        self.weights, self.fitted_on = weights, fitted_on or {}

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        return [Verdict((Claim(0, 1, float(case.text in self.weights)),)) for case in cases]

    def relate(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        raise AssertionError("labels are about claims")

    def measure(self, cases: Sequence[Case]) -> Any:
        return np.array([[float(case.text)] for case in cases])

    def refitted(self, measures: Sequence[Any], labels: Sequence[Sequence[bool]]) -> "Leak":
        return Leak({f"{value:g}": 1.0 for rows in measures for value in rows[:, 0]})

    def without(self, digest: str) -> "Leak":
        return Leak(self.fitted_on[digest])


def numbered(number: int) -> Labelled:
    return replace(set_of([(str(number), bool(n % 3)) for n in range(60)]), digest=f"d{number}", name=f"set{number}")


def test_a_card_on_labels_of_the_fit_is_made_with_the_weights_of_the_others() -> None:
    sets = [numbered(number) for number in range(3)]
    result = fit(Leak({}), sets)
    assert (set(result["weights"]), set(result["fitted_on"]["d1"])) == ({"0", "1", "2"}, {"0", "2"})
    judge = Leak(**result)
    for one in sets:
        card = calibrate(judge, one, draws=50)
        assert (card.held_out, card.sensitivity.value) == (True, 0.0)
    assert calibrate(judge, numbered(7), draws=50).held_out is False


def test_a_judge_is_not_measured_on_all_that_it_was_fitted_on() -> None:
    result = fit(Leak({}), [numbered(1)])
    with pytest.raises(DataError, match=r"set1: is all that the judge was fitted on.*\n.*data=wice,set1"):
        calibrate(Leak(**result), numbered(1))


def test_a_card_knows_what_it_measured_and_what_people_would_say(drawn: Labelled) -> None:
    card = calibrate(Reader(), replace(drawn, kinds=("claim",)), draws=50)
    assert (card.kinds, card.speaks_of_answers, len(card.pairs)) == (("claim",), False, 200)
    card = calibrate(Reader(), drawn, draws=50)
    scores = np.array([float(case.text.split()[0]) for case in drawn.cases])
    output = np.linspace(0.2, 0.6, 40)
    found = card.people(output.tolist(), [str(number) for number in range(40)])
    assert found.value == pytest.approx(output.mean() + (np.array(drawn.labels) - scores).mean())
    tenth = np.minimum(scores * 10, 9).astype(int)
    shares = [abs((scores - drawn.labels)[tenth == part].sum()) for part in range(10)]
    assert card.error == pytest.approx(sum(shares) / 200)


def test_the_small_set_is_distinguished(shipped: Any, small_set: Path) -> None:
    """Written by us, quotations and paraphrases against changed numbers, names, negations and inventions."""
    card = calibrate(shipped, labelled(str(small_set)), draws=1000)
    assert card.auc.value >= 0.93
    assert card.overlap_auc.value < 0.75
    assert card.over_overlap.p < 0.01
    assert (card.sensitivity.value, card.specificity.value) >= (0.8, 0.85)


# The verbs


@pytest.fixture
def rag(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verb:
    monkeypatch.setenv("RAG_DATA", str(here / "nowhere"))
    return verb(capsys, monkeypatch)


def test_calibrate_prints_a_card_and_stores_it(rag: Verb, here: Path, small_set: Path) -> None:
    result = rag("judge", "calibrate", "judge=local", f"data={small_set}", "--json").json
    assert (result["texts"], result["data"], result["held_out"]) == (30, "small", False)
    assert len(cards(Store(str(here / ".rag" / "store")), result["judge"])) == 1
    shown = rag("judge", "calibrate", f"data={small_set}")
    assert shown.code == 0
    assert "word overlap" in shown.out


def test_a_card_that_cannot_be_kept_is_shown_all_the_same(rag: Verb, small_set: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Mock(side_effect=StoreError("store", "cannot be written (No space left on device)", "make room"))
    monkeypatch.setattr(Store, "write", full)
    shown = rag("judge", "calibrate", f"data={small_set}")
    assert (shown.code, "word overlap" in shown.out, "No space left" in shown.err) == (2, True, True), shown


def test_fit_prints_weights_as_the_yaml_has_them(rag: Verb, small_set: Path) -> None:
    other = small_set.with_name("other.jsonl")
    other.write_text("".join(small_set.read_text("utf-8").splitlines(keepends=True)[3:-2]), "utf-8")
    chosen = (f"data={small_set},{other}", *OF_WORDS)
    result = rag("judge", "fit", *chosen, "--json").json
    assert set(result["fitted_on"]) == {sha256(path.read_bytes()).hexdigest() for path in (small_set, other)}
    assert yaml.safe_load(rag("judge", "fit", *chosen).out) == result


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ('{"text": "a"}\n', "x.jsonl:1: has no 'contexts'"),
        ('{"text": "a", "contexts": "b", "supported": true}\n', "x.jsonl:1: does not fit: text is a text"),
        ('{"text": "a", "contexts": [], "supported": 1}\n', "x.jsonl:1: does not fit: supported is true or false"),
        ("\nno\n", "x.jsonl:2: does not fit"),
        ('{"text": "a", "contexts": [], "supported": true}\n', "holds 1 texts, not both"),
    ],
)
def test_labels_that_cannot_be_read(rag: Verb, here: Path, content: str, output: str) -> None:
    (here / "x.jsonl").write_text(content, encoding="utf-8")
    found = rag("judge", "calibrate", "data=x.jsonl")
    assert (found.code, output in found.err) == (2, True), found.err


def test_public_labels_need_their_folder(rag: Verb) -> None:
    found = rag("judge", "calibrate", "data=wice")
    assert (found.code, "set RAG_DATA" in found.err) == (2, True), found.err
