"""The judge without a key against people.

No weight was fitted on what is shown: each set has the weights that the others give. The rules of correctness were read against
halueval and the first half of SQuAD.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from bench.altered_answers import altered_answers
from bench.measuring import Row, Rows, chosen, public

from rag.core.assessments import Case
from rag.evaluation.statistics.prediction_powered import powered_mean
from rag.execution.judges.calibration import Card, calibrate
from rag.execution.judges.human_labels import CORRECTNESS, Labelled, labelled

DRAWS, LABELS, TEXTS = 1000, 100, 400


def carded(what: str, data: Labelled) -> tuple[Row, Card]:
    """The area under the curve of the judge, with weights that did not see these labels, beside the overlap of words."""
    card = calibrate(chosen("judge", "local"), data)
    own, over, kappa = card.auc, card.over_overlap, card.kappa.value
    note = f"[{own.low:.3f}, {own.high:.3f}], over it {over.value:+.3f} [{over.low:.3f}, {over.high:.3f}], kappa {kappa:.3f}"
    return Row(f"{what}, {card.texts} texts", own.value, "AUC", "overlap of words", card.overlap_auc.value, note), card


def judge(folder: Path) -> Rows:
    """Supported or not; and how often means with some labels carry the judge's error."""
    public("mtrag-faithfulness-dev")
    for name in ("mtrag", "wice", "scifact"):
        row, card = carded(f"faithfulness, judge=local on {name}", labelled(name))
        yield row
        held, alone = covered(card)
        yield Row(f"{name}: draws of {LABELS} labels that cover people's mean", held, f"of {DRAWS}", "the judge alone", alone)


def covered(card: Card) -> tuple[float, float]:
    """How often the interval of a mean with labels, and that of the judge alone, holds people's mean."""
    said, people, _ = (np.array(part, np.float64) for part in zip(*card.pairs, strict=True))
    random, truth, held = np.random.default_rng(17), people.mean(), np.zeros(2)
    for _ in range(DRAWS):
        labels, texts = random.integers(len(said), size=LABELS), random.integers(len(said), size=TEXTS)
        found = powered_mean(said[texts], said[labels], people[labels])
        reach = 1.96 * said[texts].std() / TEXTS**0.5
        held += [found.low <= truth <= found.high, abs(said[texts].mean() - truth) <= reach]
    return float(held[0] / DRAWS), float(held[1] / DRAWS)


def labelled_sets() -> Iterator[tuple[str, Labelled]]:
    """Right and made-up answers; and of the half of SQuAD on which nothing was chosen, with a number or name altered."""
    for name in ("halueval", "halueval-multi", "mtrag"):
        yield name, labelled(name, CORRECTNESS)
    rows = list(altered_answers(public("squad2-a") / "squad2.json", 1))
    for form in ("short", "sentence"):
        own = [row for row in rows if row.form == form]
        cases = tuple(Case(row.text, (row.reference,), row.question) for row in own)
        yield (
            f"SQuAD, altered, {form}",
            Labelled("squad", "", cases, tuple(r.right for r in own), tuple(r.article for r in own), task=CORRECTNESS),
        )


def correctness(folder: Path) -> Rows:
    """Correctness with judge=local against labels."""
    public("halueval-qa-500")
    yield from (carded(f"correctness, {name}", data)[0] for name, data in labelled_sets())
