"""How often questions are routed to records, and how often their answers are right."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest
from bench.measuring import DATA, ROOT, needs_data
from bench.table_questions import Outcome, asked, built, document_records, squad, tatqa, wikitables
from statsmodels.stats.proportion import proportion_confint
from support.record_questions import corpus

from rag.core.records.database import RecordDatabase
from rag.core.records.sets import RecordSet
from rag.core.types import Query

pytestmark = pytest.mark.bench
SEEDS, PER_SEED = 12, 40


def say(*lines: str) -> None:
    sys.stdout.write("\n".join(["", *lines]) + "\n")


def share(right: int, of: int) -> str:
    """A share with its interval by Wilson."""
    low, high = proportion_confint(right, of, method="wilson") if of else (0.0, 1.0)
    return f"{right}/{of} = {right / max(of, 1):.3f} [{low:.3f}, {high:.3f}]"


def answers(records: RecordSet, texts: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    """The answers of records to questions; None where the route is semantic."""
    database = RecordDatabase(records)
    for routed in built("route", "rules").route([Query(str(n), text) for n, text in enumerate(texts)], records):
        result = database.run(routed.query) if routed.query else None
        yield None if result is None else ((result.value,) if result.value else result.values)


def test_generated_questions_are_all_answered_right() -> None:
    wrong, n = [], 0
    for seed in range(SEEDS):
        documents, endless = corpus(seed)
        questions = list(islice(endless, PER_SEED))
        found = answers(built("enrich", "tables").enrich(documents), [question.text for question in questions])
        for question, answer in zip(questions, found, strict=True):
            n += 1
            if answer is None or sorted(answer) != sorted(question.answers):
                wrong.append((question, answer))
    say(f"generated questions: {n - len(wrong)} of {n} right")
    assert n >= 200
    assert not wrong


def described(outcomes: Sequence[Outcome], kinds: Sequence[str]) -> Iterator[str]:
    for half in (True, False):
        for kind in kinds:
            own = [each for each in outcomes if each.question.is_tuned == half and each.question.kind.startswith(kind)]
            routed = [each for each in own if each.query]
            right = sum(each.is_right for each in routed)
            name = f"{'developed on' if half else 'kept back':12} {kind or 'all':12}"
            yield f"{name} right {share(right, len(routed)):34} routed {share(len(routed), len(own))}"


@needs_data
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("wikitables-train-2000", ("", "count", "superlative", "other")),
        ("tatqa-dev", ("", "arithmetic", "count", "span", "multi")),
    ],
)
def test_questions_about_a_given_table(name: str, kinds: Sequence[str]) -> None:
    texts, questions = (wikitables if name.startswith("wiki") else tatqa)(DATA / name)
    outcomes = list(asked(texts, questions))
    say(f"{name}, its table given", *described(outcomes, kinds))
    back = [each for each in outcomes if each.query and not each.question.is_tuned]
    assert sum(each.is_right for each in back) >= 0.85 * len(back)


def test_handbook_aggregation() -> None:
    folder = ROOT / "datasets" / "handbook"
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]
    found = answers(document_records(folder / "documents"), [row["text"] for row in rows])
    routed = [(row, answer) for row, answer in zip(rows, found, strict=True) if answer]
    for row, answer in routed:
        say(f"{row['id']} {row['split']}: {answer} | gold {row['answers']}")
    assert all(row["kind"] == "aggregation" for row, _ in routed)


@needs_data
def test_routes() -> None:
    """The confusion matrix: what should go where by set, and went."""
    matrix = Counter[tuple[str, str, str]]()
    folder = ROOT / "datasets" / "handbook"
    handbook = document_records(folder / "documents")
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()]
    for row, answer in zip(rows, answers(handbook, [row["text"] for row in rows]), strict=True):
        gold = "records" if row["kind"] == "aggregation" else "semantic"
        matrix["handbook", gold, "records" if answer else "semantic"] += 1
    for answer in answers(handbook, squad(DATA / "squad2-a")):
        matrix["squad2-a over the handbook's records", "semantic", "records" if answer else "semantic"] += 1
    for name, read in (("wikitables-train-2000", wikitables), ("tatqa-dev", tatqa)):
        texts, questions = read(DATA / name)
        for each in asked(texts, questions):
            gold = "semantic" if each.question.kind.endswith(" text") else "records"
            matrix[name, gold, "records" if each.query else "semantic"] += 1
    for (name, gold, found), count in sorted(matrix.items()):
        say(f"{name:40} gold {gold:9} routed {found:9} {count}")
    semantic = {
        found: sum(n for (_, gold, each), n in matrix.items() if gold == "semantic" and each == found) for found in GOLDS
    }
    right = sum(n for (_, gold, found), n in matrix.items() if gold == found)
    say(f"semantic questions misrouted {share(semantic['records'], sum(semantic.values()))}")
    say(f"accuracy {share(right, sum(matrix.values()))}")
    assert semantic["records"] <= 0.02 * sum(semantic.values())


GOLDS = ("semantic", "records")
