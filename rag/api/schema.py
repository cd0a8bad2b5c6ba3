"""JSON Schemas (draft 2020-12) of the files that people write: experiments, golden questions, templates of reports."""

from typing import Any

from rag.analysis.gate.spec import EXIT_CODES
from rag.core.records.queries import ROUTES
from rag.core.types import INPUTS, SPLITS
from rag.pipeline.write.report_template import SHAPE

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "array", "items": {"type": "string"}}
SHARE: Schema = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
BUNDLE: Schema = {"anyOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}
CLAUSES: Schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": TEXT}]}


def experiment() -> Schema:
    """The schema of `experiments/*.yaml`."""
    margin = {"type": "object", "properties": {"margin": SHARE, "slices": {"type": "object", "additionalProperties": SHARE}}}
    gate = {
        "split": TEXT,
        "metrics": {"type": "object", "additionalProperties": {"anyOf": [SHARE, margin | {"additionalProperties": False}]}},
        "bounds": {"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
        "inconclusive": {"enum": list(EXIT_CODES)},
    }
    axis = {
        "anyOf": [TEXT, {"type": "array", "items": BUNDLE, "minItems": 1}, {"type": "object", "additionalProperties": BUNDLE}]
    }
    properties = {
        "question": TEXT | {"description": "What the experiment is to find out."},
        "dataset": TEXT | {"description": "A choice of conf/dataset/."},
        "fixed": BUNDLE | {"description": "Overrides that all trials share."},
        "axes": {"type": "object", "additionalProperties": axis, "description": "What varies; all combinations are trials."},
        "objective": CLAUSES | {"description": "For example: maximize ndcg@10."},
        "split": TEXT | {"description": "tune, holdout or all."},
        "holdout": {"type": "integer", "minimum": 0, "description": "How many of the best are measured again."},
        "controls": {"type": "boolean", "description": "Whether the recommended trial also runs its controls."},
        "repeats": {"type": "integer", "minimum": 1, "description": "How often a model answers each question."},
        "answers": TEXTS | {"description": "Metrics of the answers of the recommended trial and its controls only."},
        "wins": _closed({"axis": TEXT, "by": TEXT}, ["axis"])
        | {"description": "A sentence for each choice of an axis: where it is best."},
        "recommend": _closed({"margin": {"type": "number", "minimum": 0}, "exchange": CLAUSES}),
        "showed": {"description": "Notes; not read."},
        "gate": _closed(gate),
    }
    return {"$schema": DIALECT, "title": "Assay experiment", **_closed(properties, ["question"])}


def questions() -> Schema:
    """The schema of one line of `questions.jsonl`."""
    place = {"doc": TEXT, "quote": TEXT, "start": {"type": "integer", "minimum": 0}, "end": {"type": "integer", "minimum": 1}}
    place["page"] = {"type": "integer", "minimum": 1, "description": "Decides between several places of the quote."}
    alternative = _closed(place, ["doc"])
    group = {
        "grade": {"type": "integer", "minimum": 1},
        "any": {"type": "array", "items": alternative, "minItems": 1, "description": "Alternatives; one is enough."},
    }
    turn = {"role": {"enum": ["user", "assistant"]}, "text": {"type": "string"}}
    properties = {
        "id": TEXT,
        "text": TEXT | {"description": "The question as a person asks it."},
        "kind": {"type": "string"},
        "tags": TEXTS,
        "split": {"enum": ["", *SPLITS]},
        "cluster": {"type": "string", "description": "Questions that belong together."},
        "dialogue": {"type": "string"},
        "turn": {"type": "integer", "minimum": 0},
        "history": {"type": "array", "items": _closed(turn, ["role", "text"])},
        "rewrite": {"type": "string", "description": "A follow-up as it is asked without its history."},
        "answers": TEXTS,
        "evidence": {"type": "array", "items": _closed(group, ["any"]), "description": "All groups are needed."},
        "judged": {"type": "array", "items": alternative, "description": "Places that were read and are not relevant."},
        "unanswerable": {"type": "boolean"},
        "expects": _closed({"value": TEXT, "values": TEXTS, "table": {"type": "array", "items": TEXTS}})
        | {"description": "The value of a right answer: one of these."},
        "route": {"enum": ["", *ROUTES], "description": "What answers it: passages, records, or both."},
        "input": {"enum": ["", *INPUTS], "description": "What the message is; all but questions have no evidence."},
        "provenance": {"type": "object", "description": "How the question was made, and whether a person accepted it."},
    }
    title = {"$schema": DIALECT, "title": "Assay golden question"}
    return title | _closed(properties, ["id", "text"])


def template() -> Schema:
    """The schema of a template of `rag ask --report`."""
    return {"$schema": DIALECT, **SHAPE.json_schema(), "title": "Assay report template"}


SCHEMAS = {"experiment": experiment, "questions": questions, "template": template}


def _closed(properties: Schema, required: list[str] | None = None) -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | {"required": required} if required else found
