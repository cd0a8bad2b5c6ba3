"""Correctness with judge=local against labels of people and against altered answers; the same of words alone.

No weight was fitted. The rules were read against halueval and the first half of SQuAD, and the way in which claims are combined
was chosen with a look at mtrag: the second half of SQuAD is the only set here that nothing was chosen on.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from bench.altered_answers import altered_answers
from bench.measuring import DATA, Report, needs_data
from numpy.typing import NDArray
from support.choices import node

from rag.components.metrics.token_f1 import TokenF1
from rag.components.metrics.token_recall import TokenRecall
from rag.config.build import Components
from rag.core.assessments import Case
from rag.core.text.sentences import blocks, sentences
from rag.core.types import Answer, Example, Query, Reply
from rag.evaluation.correctness import claims
from rag.evaluation.statistics.agreement import Auc, RankCorrelation, Resampled
from rag.execution.judges import calibration
from rag.execution.judges.human_labels import CORRECTNESS, Labelled, labelled

pytestmark = [pytest.mark.bench, needs_data]
SQUAD = DATA / "squad2-a" / "squad2.json"


@pytest.fixture(scope="module")
def report() -> Report:
    return Report("Correctness, judge=local", ("set, figure", "value", "low", "high"))


def compared(name: str, data: Labelled, report: Report) -> tuple[NDArray[np.float64], Resampled]:
    """The correctness of all texts; a line for its AUC and for those of token recall and token F1 of the same texts."""
    judge = calibration._unbiased(Components(()).role("judge", node("judge", "local")), data)
    verdicts = claims.verdicts(judge, data.cases)
    right = np.nan_to_num(np.array([verdict.support for verdict in verdicts]))
    drawn, labels = Resampled(data.clusters, 2000), np.array(data.labels)
    own = drawn.values(Auc(right, labels))
    found = drawn.measured(Auc(right, labels))
    report.row(f"{name}, {len(labels)} texts: AUC", found.value, found.low, found.high)
    for title, metric in (("token recall", TokenRecall()), ("token F1", TokenF1())):
        words = np.array([metric.measure(*_asked(case)) for case in data.cases])
        over = drawn.difference(own, drawn.values(Auc(words, labels)))
        report.row(f"{name}: over {title}", over.value, over.low, over.high)
    return right, drawn


def _asked(case: Case) -> tuple[Example, Answer]:
    query = Query("", case.question)
    return Example(query, answers=case.contexts), Answer(query, (), Reply(case.text))


@pytest.mark.parametrize("name", ["halueval", "halueval-multi"])
def test_made_up_answers_are_told_from_right_ones(
    name: str, report: Report, bench: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harder form has the sentence of the knowledge with the right answer in the place of the right answer itself."""
    monkeypatch.setenv("RAG_DATA", str(DATA))
    data = labelled(name, CORRECTNESS)
    right, _ = compared(name, data, report)
    assert Auc(right, np.array(data.labels))(np.ones((1, len(right))))[0] >= 0.9
    file = {"halueval": "qa_one_turn", "halueval-multi": "qa_multi_turn"}[name]
    rows = [json.loads(line) for line in (DATA / "halueval-qa-500" / f"{file}.jsonl").read_text("utf-8").splitlines()]
    found = [(row, _sentence(row["knowledge"], row["right_answer"])) for row in rows]
    harder = [(row, text) for row, text in found if text]
    cases = [
        Case(text, (row["right_answer"],), row["question"])
        for row, told in harder
        for text in (told, row["hallucinated_answer"])
    ]
    clusters = tuple(str(number) for number in range(len(harder)) for _ in range(2))
    compared(f"{name}, in a sentence", Labelled(name, "", tuple(cases), (True, False) * len(harder), clusters), report)


def _sentence(knowledge: str, answer: str) -> str:
    text = re.sub(r"([.!?])(?=[A-Z])", r"\1 ", knowledge)
    spans: Sequence[str] = [text[a:b] for block in blocks(text) for a, b in sentences(text, block)]
    return next((each for each in spans if re.search(rf"\b{re.escape(answer.rstrip('.'))}\b", each)), "")


@pytest.mark.parametrize("form", ["short", "sentence", "both"])
def test_an_altered_number_or_name_is_seen(form: str, report: Report, bench: Path) -> None:
    rows = [row for row in altered_answers(SQUAD, 1) if form in (row.form, "both")]
    cases = tuple(Case(row.text, (row.reference,), row.question) for row in rows)
    data = Labelled("squad", "", cases, tuple(row.right for row in rows), tuple(row.article for row in rows))
    right, _ = compared(f"altered SQuAD, {form}", data, report)
    assert Auc(right, np.array(data.labels))(np.ones((1, len(right))))[0] >= 0.9


def test_completeness_as_people_rate_it(report: Report, bench: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_DATA", str(DATA))
    data = labelled("mtrag", CORRECTNESS)
    right, drawn = compared("mtrag", data, report)
    words = np.array([TokenRecall().measure(*_asked(case)) for case in data.cases])
    lines = [json.loads(line) for line in (DATA / "mtrag-faithfulness-dev" / "answers.jsonl").read_text("utf-8").splitlines()]
    rated = np.array([float(np.median(line["completeness"])) for line in lines if line["model_id"] != "reference"])
    for title, values in (("correctness", right), ("token recall", words)):
        order = drawn.measured(RankCorrelation(values, rated, "spearman", data.clusters))
        report.row(f"mtrag: Spearman of {title} with the median rating", order.value, order.low, order.high)
    report.show()
    labels = np.array(data.labels)
    assert drawn.difference(drawn.values(Auc(right, labels)), drawn.values(Auc(words, labels))).low > 0
