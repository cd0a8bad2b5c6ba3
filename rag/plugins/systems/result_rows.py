"""Files with the results of systems, as Assay or another tool writes them: JSON lines, JSON, CSV, TREC runs."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.authoring.exchange.cells import first_value, listed_cell, passage_of
from rag.core.errors import DataError
from rag.core.systems import SystemPassage, SystemReply
from rag.core.types import Reply
from rag.documents.folder.json_rows import shortened

PASSAGES = (
    "passages retrieved_contexts retrieval_context contexts context documents source_documents sources retrieved_documents"
)
ANSWERS = "answer response actual_output output prediction generated_answer generation"
"""The usual names of columns, the most specific first."""
COUNTS = {
    "prompt_tokens": "prompt_tokens input_tokens prompt",
    "completion_tokens": "completion_tokens output_tokens completion",
    "cost": "cost cost_usd total_cost",
}
SECONDS = {"seconds": 1.0, "latency_seconds": 1.0, "latencyMs": 1e-3, "latency_ms": 1e-3}
RUN = re.compile(r"(\S+)\s+Q0\s+(\S+)\s+\S+\s+(\S+)\s+\S+\s*", re.ASCII)
Results = dict[str, SystemReply]


def read_results(path: Path) -> tuple[Results, bool]:
    """The replies of a file by question, and whether it is a TREC run; DataError names the line that cannot be read."""
    with path.open("rb") as file:
        # Inside of a block, so that the packages of spreadsheets, which are no results, are not needed.
        from rag.authoring.exchange import tables
        from rag.authoring.exchange.format_table import by_question
        from rag.authoring.exchange.score_rows import QUESTIONS, asked

        head = file.readline(4096).decode("utf-8", "replace").lstrip("\ufeff")
    if head.lstrip().startswith("<"):
        raise DataError(str(path), "is a page in HTML or XML, perhaps of a login", "export JSON, JSON lines, CSV or a TREC run")
    if RUN.fullmatch(head):
        return _read_run(path), True
    container = tables.container_of(path)
    if container not in ("json", "jsonl", "csv"):
        raise DataError(str(path), f"is {container}", "write the results as JSON lines, JSON, CSV or a TREC run")
    found: Results = {}
    with path.open("rb") as file:
        for where, row in by_question(tables.rows_of(file, str(path), container, tables.codec_of(path)))[1]:
            if isinstance(row, DataError):
                raise row
            names = {name for key in QUESTIONS if isinstance(value := row.get(key), str) and (name := value.strip())}
            names |= {name} if (name := asked(row)) else set()
            if not names:
                raise DataError(where, f"names no question; its columns: {', '.join(map(str, row))}", "add a column question")
            reply = reply_of(row, where)
            for name in names:
                if name in found and found[name] != reply:
                    raise DataError(where, f"answers {shortened(name)!r} a second time", "keep one row for each question")
                found[name] = reply
    return found, False


def reply_of(row: Mapping[str, Any], where: str) -> SystemReply:
    """The reply in a row."""
    failure = row.get("error") or row.get("failure")
    if failure and row.get("failureReason") != 1:  # of promptfoo: an assertion refuses the answer
        return SystemReply(failure=shortened(str(failure), 200))
    listed, said = first_value(row, PASSAGES), first_value(row, ANSWERS)
    said = "" if said is None and any(row.get(name) == "" for name in ANSWERS.split()) else said  # a question that it declined
    if listed is None and said is None:
        what = f"has neither passages nor an answer; its columns: {', '.join(map(str, row))}"
        raise DataError(where, what, "add a column passages, best first")
    parts = enumerate(listed_cell(listed, where), 1)
    passages = tuple(passage_of(part, f"{where} passage {number}") for number, part in parts)
    counts = {name: _number(row, names.split(), where) for name, names in COUNTS.items()}
    asked_tokens, said_tokens = (0 if math.isnan(counts[name]) else int(counts[name]) for name in COUNTS if name != "cost")
    seconds = next((_number(row, [name], where) * unit for name, unit in SECONDS.items() if name in row), math.nan)
    if said is None:
        return SystemReply(passages, None, seconds)
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    return SystemReply(passages, Reply(text, (), asked_tokens, said_tokens, counts["cost"]), seconds)


def _number(row: Mapping[str, Any], names: Sequence[str], where: str) -> float:
    value = first_value(row, " ".join(names))
    try:
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError) as error:
        raise DataError(where, f"{names[0]} is {shortened(repr(value))}", "write a number") from error
    if number < 0 or math.isinf(number):
        raise DataError(where, f"{names[0]} is {number}", "write a number from 0")
    return number


def _read_run(path: Path) -> Results:
    """A TREC run: documents by falling score, equal scores in the order of the file."""
    ranked: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where, match = f"{path}:{number}", RUN.fullmatch(line)
            try:
                score = float(match[3]) if match else math.nan
            except ValueError:
                score = math.nan
            if match is None or math.isnan(score):
                raise DataError(where, f"is {shortened(line)!r}", "write: question Q0 document rank score name")
            if match[2] in ranked.setdefault(match[1], {}):
                raise DataError(where, f"ranks {match[2]!r} twice for {match[1]!r}", "rank each document once")
            ranked[match[1]][match[2]] = score
    return {
        question: SystemReply(tuple(SystemPassage(document=name) for name in sorted(scores, key=lambda name: -scores[name])))
        for question, scores in ranked.items()
    }
