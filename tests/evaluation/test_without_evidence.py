"""Questions with answers but no evidence are not unanswerable: only their replies are compared with the answers."""

import json
import math
from pathlib import Path

import pytest
from support.command_line import Verb

from rag.components.loaders.native_questions import NativeQuestions
from rag.components.metrics.abstention import Abstention
from rag.components.metrics.answered import Answered
from rag.components.metrics.declined import Declined
from rag.components.metrics.token_f1 import TokenF1
from rag.core.errors import DataError
from rag.core.types import Answer, Document, Evidence, Example, Query, Reply
from rag.evaluation.data.golden import Golden
from rag.evaluation.data.slices import DIMENSIONS

pytestmark = pytest.mark.usefixtures("here", "golden")

GOLD = Example(Query("g", "?"), (Evidence(("a.md",)),), ("yes",))
OPEN = Example(Query("o", "?"), answers=("yes",))
BEYOND = Example(Query("b", "?"))
SAID = Example(Query("s", "?"), answers=("nothing says so",), unanswerable=True)


def answer(example: Example, abstained: bool) -> Answer:
    return Answer(example.query, (), Reply("yes"), abstained=abstained)


@pytest.mark.parametrize(
    ("example", "abstention", "answered", "declined", "label"),
    [
        (GOLD, (1.0, 0.0), (1.0, 0.0), None, "yes"),
        (OPEN, None, None, None, "unknown"),
        (BEYOND, (0.0, 1.0), None, (0.0, 1.0), "no"),
        (SAID, (0.0, 1.0), None, (0.0, 1.0), "no"),
    ],
)
def test_metrics_by_kind_of_question(
    example: Example,
    abstention: tuple[float, float] | None,
    answered: tuple[float, float] | None,
    declined: tuple[float, float] | None,
    label: str,
) -> None:
    for metric, wanted in ((Abstention(), abstention), (Answered(), answered), (Declined(), declined)):
        found = [metric.measure(example, answer(example, abstained)) for abstained in (False, True)]
        assert (None if math.isnan(found[0]) and math.isnan(found[1]) else tuple(found)) == wanted
    assert DIMENSIONS["answerable"](example) == [label]
    assert math.isnan(TokenF1().measure(example, answer(example, False))) == (not example.answers)


def read(folder: Path, **fields: object) -> Example:
    (folder / "questions.jsonl").write_text(json.dumps({"id": "q", "text": "t", **fields}) + "\n", "utf-8")
    (example,) = NativeQuestions(str(folder)).read({"a.md": Document("a.md", "x")})
    return example


def test_lines_of_a_file(tmp_path: Path) -> None:
    assert read(tmp_path).to_decline
    assert read(tmp_path, unanswerable=True).to_decline
    assert read(tmp_path, unanswerable=True, answers=["no"]).to_decline
    assert not read(tmp_path, answers=["no"]).to_decline
    assert not read(tmp_path, evidence=[{"any": [{"doc": "a.md"}]}]).to_decline
    with pytest.raises(DataError, match="true, and there is evidence"):
        read(tmp_path, unanswerable=True, evidence=[{"any": [{"doc": "a.md"}]}])
    with pytest.raises(DataError, match="false, and there are no answers"):
        read(tmp_path, unanswerable=False)
    with pytest.raises(DataError, match="'unanswerable' is"):
        read(tmp_path, unanswerable="yes")


def test_sets_without_the_field_keep_their_digest(tmp_path: Path) -> None:
    documents = (Document("a.md", "x"),)
    assert (
        Golden(documents, (read(tmp_path),)).golden_digest
        == Golden(documents, (read(tmp_path, unanswerable=True),)).golden_digest
    )
    rows = [read(tmp_path, answers=["no"], unanswerable=value) for value in (None, True)]
    assert len({Golden(documents, (row,)).golden_digest for row in rows}) == 2
    assert (
        Golden((Document("a", "x"),), (Example(Query("q", "t"), cluster="q"),)).golden_digest
        == "490150e7f92fc5d2978438e975143573805f58a5f9784e42ff4f376c1ebe2b43"
    )


def test_the_check_reports_them(rag: Verb, golden: Path) -> None:
    path = golden / "questions.jsonl"
    path.write_text(path.read_text("utf-8") + '{"id": "q7", "text": "Why?", "answers": ["so"], "split": "tune"}\n', "utf-8")
    said = rag("dataset", "check", "native", "dataset.path=../golden")
    assert (said.code, "1 with answers and no evidence (q7): replies are compared" in said.out) == (0, True)
    report = rag("dataset", "check", "native", "dataset.path=../golden", "--json").json
    assert (report["unanswerable"], report["without_evidence"], report["problems"]) == (1, ["q7"], [])
