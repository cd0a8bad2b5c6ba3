"""Measure a function of one's own that retrieves, and perhaps answers, on a golden set."""

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag.api.generation import write_rows
from rag.api.progress import progress
from rag.api.sweeps import SweepResult, conduct
from rag.config.compose import written
from rag.config.experiment import Experiment
from rag.config.limits import check_name
from rag.core.errors import ConfigError, DataError, UserError
from rag.core.redaction import without_secrets
from rag.core.types import Query
from rag.evaluation.data.golden import Loaded, load
from rag.evaluation.data.sampling import asked
from rag.execution.graph.plan import components_for, held
from rag.execution.store import maintenance
from rag.execution.sweep import sweep as sweeps
from rag.execution.sweep.open_config import config_of

FOLDER = Path(".rag", "systems")
"""The place of what functions returned."""
TEXT, META = ("page_content", "text", "content"), ("metadata", "meta")
"""Attributes of passages of LangChain, LlamaIndex and Haystack."""


def evaluate(
    retrieve: Callable[..., Any],
    dataset: str = "",
    *overrides: str,
    name: str = "system",
    documents: str | Path | None = None,
    questions: str | Path | None = None,
) -> SweepResult:
    """Ask a function every golden question, and measure what it returns as a trial.

    `retrieve(question)`, or `retrieve(question, history)` with turns {role, text}, returns passages, best first: texts, or
    mappings with text and perhaps document, start and end, or documents of LangChain, LlamaIndex or Haystack. Instead it may
    return a mapping with `passages` and `answer`, and with `prompt_tokens`, `completion_tokens` and `cost`. All is written to
    .rag/systems/NAME.jsonl, which `system=results` reads in experiments and gates. An exception at the first question is
    raised; a later one is the failure of its question. `documents` is a folder of one's own, `questions` the folder or the file
    of their golden questions. Without both, and without a `dataset`, it is the handbook.
    """
    check_name(name, "name")
    if documents and not (questions or dataset):
        raise ConfigError("documents", "are given without questions", "add questions=, the file of the golden questions")
    file = Path(questions or "")
    places = {"loader.path": documents, "dataset.path": file.parent if file.is_file() else questions}
    places |= {"dataset.questions": file.name if file.is_file() else None}
    chosen = [f"dataset={dataset or ('native' if questions else 'handbook')}", *overrides]
    chosen[1:1] = [written(key, str(path)) for key, path in places.items() if path]
    config = config_of(chosen)
    components = components_for(maintenance.at(config["store"]))
    corpus = Loaded.of(components.role("loader", config["loader"]))
    golden = asked(load(corpus, components.role("dataset", config["dataset"])), config)
    rows = [_asked(retrieve, example.query, first=number == 0) for number, example in enumerate(golden.examples)]
    path = FOLDER / f"{name}.jsonl"
    write_rows(path, rows)
    answers = any("answer" in row for row in rows)
    read = max((len(row.get("passages", ())) for row in rows), default=0)
    own = ["generator=system", f"k={min(max(read, 1), config['depth'])}"] if answers else ["generator=none"]
    given = {override.partition("=")[0] for override in overrides}
    own = [override for override in own if override.partition("=")[0] not in given]
    fixed = [*chosen, "system=results", written("system.path", str(path)), *own]
    declared = Experiment(name, f"What is {name} worth?", tuple(fixed), objective="")
    with held(config["loader"], corpus):
        return conduct(sweeps.prepare(declared), progress)


def _asked(retrieve: Callable[..., Any], query: Query, first: bool) -> Mapping[str, Any]:
    """What a function returns for a question, as a row of a file of results; `evaluate` says what it may return.

    Its exception is raised at the first question, and later is the `error` of the row. DataError for another form.
    """
    others: list[inspect.Parameter] = []  # further ones of LangChain's `invoke` have defaults
    with suppress(ValueError):  # some functions of C have no signature
        others = list(inspect.signature(retrieve).parameters.values())[1:]
    several = any(
        each.name == "history" or (each.default, each.kind) == (each.empty, each.POSITIONAL_OR_KEYWORD) for each in others
    )
    began = time.perf_counter()
    try:
        given = retrieve(query.text, [turn.said for turn in query.history]) if several else retrieve(query.text)
    except Exception as error:
        if first or isinstance(error, UserError):
            raise
        return {"id": query.query_id, "error": without_secrets(f"{type(error).__name__}: {error}")}
    row: dict[str, Any] = {"seconds": round(time.perf_counter() - began, 6)}
    row |= given if isinstance(given, Mapping) else {"passages": given}
    if not isinstance(passages := row.get("passages", []), Sequence) or isinstance(passages, str):
        what = f"returns {type(given).__name__}"
        raise DataError(f"question {query.query_id}", what, "return a list of passages, or {'passages': […], 'answer': '…'}")
    return {**row, "id": query.query_id, "passages": [_passage(part) for part in passages]}


def _passage(part: Any) -> Any:
    """A passage as JSON: a text or a mapping as it is, an object by its text and metadata."""
    if isinstance(part, str | Mapping):
        return part
    text = next((value for name in TEXT if isinstance(value := getattr(part, name, None), str)), None)
    if text is None:
        raise DataError("a passage", f"is of the class {type(part).__name__}", "return its text, or {'text': …, 'document': …}")
    meta = next((value for name in META if isinstance(value := getattr(part, name, None), Mapping)), {})
    return {"text": text, "metadata": {key: value for key, value in meta.items() if isinstance(value, str | int | float)}}
