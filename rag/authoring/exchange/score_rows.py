"""Scores by question that this or another tool wrote, as rows. docs/gate.md lists the tools and the versions of their fields.

A file is known by its content: long form has a metric and a value in each row, wide form a column for each metric.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from rag.authoring.exchange import tables
from rag.core.errors import DataError
from rag.documents.folder.files import missing_file, read_bytes

QUESTIONS = """
question_id query_id datasetItemId question user_input input inputs query prompt request vars text id traceId name
""".split()
"""Columns that may name a question, the first that has a value; ids that each run makes anew come last."""
CLUSTERS = ("cluster", "dialogue", "conversation_id")
RUNS = ("promptIdx", "provider", "datasetRunId")
"""Columns with more than one value where a file holds several runs: prompts or models of promptfoo, runs of Langfuse."""
LISTS = "testRunData results test_results testCases test_cases data rows scores items".split()
"""Keys of a JSON object under which its rows are, perhaps one within another."""
TEXTS = """
answer answers contexts ground_truth ground_truths reference references reference_contexts reference_context_ids response
retrieved_contexts retrieved_context_ids multi_responses rubrics persona_name query_style query_length synthesizer_name outputs
output expected_output actual_output targets metadata tags trace trace_id client_request_id state request_time timestamp
createdAt updatedAt release version sessionId userId index order split kind turn failed bookmarked public environment
""".split()
"""Columns that are no metric, although a cell may look like a number."""
SUFFIXES = ("/value", "/score")
"""Ends of the columns of metrics: `mlflow.genai.evaluate` writes the first, `mlflow.evaluate` the second."""
LARGEST = 256 << 20
"""Bytes of a JSON file, which is held in memory; JSON lines and CSV are read row by row."""


class Score(NamedTuple):
    """A value as a file has it. `column` says that it stands in a column of a table, which may hold texts instead."""

    row: int
    question: str
    cluster: str
    metric: str
    value: Any
    run: str
    column: bool


def scores_in(path: Path) -> Iterator[Score]:
    """The scores in a file, in its order; DataError for one that cannot be read and for a row without question or scores."""
    if not path.is_file():
        raise missing_file(path)
    found = False
    for number, row in enumerate(_rows(path), 1):
        if not isinstance(row, dict):
            raise DataError(f"{path} row {number}", "is not an object", "write {…}, columns as keys")
        named, grouped, several = _places(tuple(row))
        question = next((text for name in named if (text := _asked(row[name]))), "")
        if not question:
            listed = ", ".join(map(str, row)) or "nothing"
            raise DataError(f"{path} row {number}", f"names no question; its columns: {listed}", "add a column question")
        cluster = next((str(row[name]) for name in grouped if row[name] not in (None, "")), "")
        run = json.dumps([row[name] for name in several]) if several else ""
        for metric, value, column in _measured(row):
            found = True
            yield Score(number, question, cluster, metric, value, run, column)
    if not found:
        remedy = "write rows of question, cluster, metric and value, or a column for each metric"
        raise DataError(str(path), "has no scores", remedy)


@lru_cache(maxsize=1024)
def _places(columns: tuple[str, ...]) -> tuple[list[str], list[str], list[str]]:
    """Of these columns, those that name a question, a cluster and a run."""
    several = RUNS if RUNS[0] in columns or RUNS[2] in columns else ()  # a provider alone may be anything
    asked, grouped, runs = ([name for name in names if name in columns] for names in (QUESTIONS, CLUSTERS, several))
    return asked, grouped, runs


def _measured(row: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Metric, value, and whether the metric is a column of a table."""
    if "metric" in row or ("dataType" in row and "name" in row):
        value = next((row[name] for name in ("value", "score") if name in row), None)
        yield str(row.get("metric") or row.get("name") or ""), value, False
    elif isinstance(listed := row.get("metricsData", row.get("metrics_data")), list):
        yield from ((str(each.get("name")), each.get("score"), False) for each in listed if isinstance(each, Mapping))
    elif isinstance(named := row.get("namedScores"), Mapping):
        more = {name: row[name] for name in ("score", "latencyMs", "cost") if name in row}
        yield from ((str(name), value, False) for name, value in {**named, **more}.items())
    else:
        ends = [name for name in row if str(name).endswith(SUFFIXES)]
        for name in ends or [name for name in row if name not in _NOT_METRICS]:
            yield str(name).removesuffix("/value").removesuffix("/score"), row[name], not ends


_NOT_METRICS = frozenset((*QUESTIONS, *CLUSTERS, *RUNS, *TEXTS))


def _asked(value: Any) -> str:
    """The question in a cell: a text, or the question in an object such as the `inputs` of MLflow."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Mapping):
        inner = next((text for name in QUESTIONS if (text := _asked(value.get(name)))), "")
        return inner or (json.dumps(value, sort_keys=True, ensure_ascii=False) if value else "")
    return "" if value is None else json.dumps(value, sort_keys=True, ensure_ascii=False)


def _rows(path: Path) -> Iterator[Any]:
    container = tables.container_of(path)
    if container == "jsonl":
        with path.open(encoding=tables.codec_of(path), newline="\n") as lines:
            yield from (_parsed(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip())
    elif container == "json":
        yield from _listed(_parsed(read_bytes(path, LARGEST), str(path)))
    elif container == "csv":
        with path.open("rb") as file:
            for _, row in tables.rows_of(file, str(path), container, tables.codec_of(path)):
                if isinstance(row, DataError):
                    raise row
                yield row
    else:
        raise DataError(str(path), f"is {container}", "export it as JSON, JSON lines or CSV")


def _parsed(text: str | bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(where, f"is not valid JSON: {error}", "export it again") from error


def _listed(value: Any) -> Iterable[Any]:
    """The rows of a JSON value: those in a list, a data frame of pandas (`split`, `columns`), a baseline, or under LISTS."""
    if not isinstance(value, Mapping):
        return value if isinstance(value, list) else [value]
    if isinstance(columns := value.get("columns"), list) and isinstance(cells := value.get("data"), list):
        return (dict(zip(columns, row, strict=False)) for row in cells)
    if isinstance(kept := value.get("questions"), Mapping):
        return ({"question_id": name, **row.get("scores", {})} for name, row in kept.items())
    if (name := next((name for name in LISTS if isinstance(value.get(name), list | Mapping)), "")) and "vars" not in value:
        return _listed(value[name])
    if value and all(isinstance(column, Mapping) for column in value.values()):
        places = dict.fromkeys(place for column in value.values() for place in column)
        return ({name: column.get(place) for name, column in value.items()} for place in places)
    return [value]
