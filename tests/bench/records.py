"""How often questions are routed to records, and how often their answers are right."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.measuring import HANDBOOK, Row, Rows, public
from bench.table_questions import Outcome, asked, built, document_records, squad, tatqa, wikitables
from statsmodels.stats.proportion import proportion_confint

from rag.core.records.database import RecordDatabase
from rag.core.records.sets import RecordSet
from rag.core.types import Query

KINDS = {"wikitables-train-2000": ("", "count", "superlative"), "tatqa-dev": ("", "arithmetic")}


def answers(records: RecordSet, texts: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    """The answers of records to questions; None where the route is semantic."""
    database = RecordDatabase(records)
    for routed in built("route", "rules").route([Query(str(n), text) for n, text in enumerate(texts)], records):
        result = database.run(routed.query) if routed.query else None
        yield None if result is None else ((result.value,) if result.value else result.values)


def share(what: str, right: int, of: int, note: str = "") -> Row:
    """A share with its interval by Wilson."""
    low, high = proportion_confint(right, of, method="wilson") if of else (0.0, 1.0)
    return Row(what, right / max(of, 1), f"of {of}", note=f"[{low:.3f}, {high:.3f}]{note}")


def tables(name: str, outcomes: Sequence[Outcome], kind: str) -> Row:
    """What is right of the routed questions of a kind that was kept back."""
    own = [each for each in outcomes if not each.question.is_tuned and each.question.kind.startswith(kind)]
    routed = [each for each in own if each.query]
    note = f", routed {len(routed)} of {len(own)}"
    return share(f"{name}, kept back, {kind or 'all'}: right", sum(each.is_right for each in routed), len(routed), note)


def routes(folder: Path) -> Rows:
    """Questions about a given table, over the handbook's records, and questions that passages answer."""
    wrong = semantic = 0
    for name, kinds in KINDS.items():
        outcomes = list(asked(*(wikitables if name.startswith("wiki") else tatqa)(public(name))))
        yield from (tables(name, outcomes, kind) for kind in kinds)
        texts = [each for each in outcomes if each.question.kind.endswith(" text")]
        wrong, semantic = wrong + sum(each.query is not None for each in texts), semantic + len(texts)
    handbook = document_records(HANDBOOK / "documents")
    rows = [json.loads(line) for line in (HANDBOOK / "questions.jsonl").read_text("utf-8").splitlines()]
    found = list(zip(rows, answers(handbook, [row["text"] for row in rows]), strict=True))
    aggregations = [bool(answer) for row, answer in found if row["kind"] == "aggregation"]
    yield share("handbook, aggregation: routed", sum(aggregations), len(aggregations))
    others = [answer for row, answer in found if row["kind"] != "aggregation"] + [*answers(handbook, squad(public("squad2-a")))]
    yield share("questions for passages that went to records", wrong + sum(map(bool, others)), semantic + len(others))
