"""Fields of other tools → fields of a golden question. docs/datasets.md lists the formats and their versions."""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.core.errors import DataError
from rag.core.records import SPLITS
from rag.datasets.candidates import Row

NAMES = {
    "id": "id _id qid query_id question_id example_id task_id uid",
    "text": "question query user_input input prompt text utterance",
    "answers": "answers answer reference ground_truth ground_truths expected_output expected expected_answer reference_answer"
    " generation_gt target targets output outputs reference_outputs",
    "contexts": "evidence reference_contexts contexts context references passages evidence_text",
    "document": "documents document doc doc_id doc_name document_id reference_context_ids corpus_id source file file_name",
    "kind": "kind synthesizer_name question_type query_type type category",
    "dialogue": "dialogue conversation_id dialogue_id session_id",
    "rewrite": "rewrite manual_rewritten_utterance standalone_question",
    "unanswerable": "unanswerable is_impossible answerability",
    "history": "history chat_history",
    "split": "split",
    "tags": "tags",
    "cluster": "cluster",
    "expects": "expects",
}
"""Fields of a golden question, and the usual names of their columns, the most specific first."""
KNOWN = {name: tuple(each.replace("_", "") for each in names.split()) for name, names in NAMES.items()}
NESTED = (
    "inputs",
    "input",
    "outputs",
    "output",
    "expectedOutput",
    "expected_output",
    "vars",
    "metadata",
    "reference_outputs",
    "enrichments",
)
"""Columns whose objects hold columns."""
SHAPES = {
    "promptfoo": ("vars", "__expected"),
    "langsmith": ("inputs",),
    "langfuse": ("expectedOutput",),
    "ragas": ("user_input",),
}
SHAPES |= {"conversations": ("messages", "turns", "turn", "conversation", "utterances")}
"""Columns by which formats are known."""
SPEAKERS = {"user": ("user", "human", "questioner"), "assistant": ("assistant", "ai", "agent", "bot", "gpt", "model")}
ROLES = {name: role for role, names in SPEAKERS.items() for name in names}
ASSERTED = (
    "equals",
    "contains",
    "icontains",
    "contains-any",
    "icontains-any",
    "factuality",
    "similar",
    "contains-all",
    "icontains-all",
)
"""Assertions of promptfoo that hold right answers; all others run code or ask a model."""
HOP = re.compile(r"\A<\d+-hop>\s*")
"""A mark of ragas before the contexts of a question with several."""
TEXTS = ("text", "content", "contents", "evidence_text", "page_content", "value", "answer", "output", "quote")
MANY = 10_000
"""The most texts in a field."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text as evidence, or the name of a document, or both; `grade` as in the native format."""

    text: str
    doc_id: str = ""
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Imported:
    """A question as a file has it: the fields of the native format that need no documents, and groups of passages."""

    fields: Row
    groups: tuple[tuple[Passage, ...], ...] = ()
    notes: tuple[str, ...] = field(default=())


def shape_of(fields: Mapping[str, Any], container: str) -> str:
    """The format of a row: that of another tool if its columns are there, else the container."""
    for shape, names in SHAPES.items():
        if any(key in names or (names[1:] == ("__expected",) and key.startswith("__expected")) for key in fields):
            return shape
    return container


def questions(fields: Mapping[str, Any], where: str, given: Mapping[str, str]) -> Iterator[Imported]:
    """The questions of a row: one, or one for each turn of a user in a conversation; DataError for a row without a question.

    `given` maps fields to columns.
    """
    turns = next((value for name in SHAPES["conversations"] if isinstance(value := _parsed(fields.get(name)), list)), None)
    if turns and isinstance(turns[0], dict) and "text" not in given:
        yield from _conversation(turns, fields, where, given)
    else:
        yield _question(fields, where, given)


def _conversation(turns: Sequence[Any], fields: Mapping[str, Any], where: str, given: Mapping[str, str]) -> Iterator[Imported]:
    flat = _flat(fields)
    dialogue = str(
        next((flat[name] for name in ("conversation_id", "id", "_id", "number", "dialogue_id") if name in flat), where)
    )
    said = [(role, text, turn) for turn in turns for role, text in _spoken(turn, where)]
    number = 0
    for place, (role, text, turn) in enumerate(said):
        if role == "user" and text:
            number += 1
            reply = said[place + 1] if said[place + 1 :] and said[place + 1][0] == "assistant" else ("", "", {})
            named = {**reply[2], **turn} | {"question": text, "answer": reply[1], "history": [], "id": f"{dialogue}_{number}"}
            named = {name: value for name, value in named.items() if name not in ("text", "content", "type", "role", "speaker")}
            made = _question(named, where, {})
            history = [{"role": role, "text": text} for role, text, _ in said[:place] if text]
            yield Imported(made.fields | {"dialogue": dialogue, "turn": number, "history": history}, made.groups)


def _question(fields: Mapping[str, Any], where: str, given: Mapping[str, str]) -> Imported:
    flat = _flat(fields)
    found = {name: flat[key] for name, key in _columns(flat, given, where).items()}
    asked = _parsed(found.get("text"))
    history = [turn for turn in _messages(found.get("history"), where) if turn["text"]]
    if isinstance(asked, list | dict):
        turns = _messages(asked.get("messages") if isinstance(asked, dict) else asked, where)
        last = max((place for place, turn in enumerate(turns) if turn["role"] == "user"), default=-1)
        history, asked = turns[: max(last, 0)], turns[last]["text"] if last >= 0 else ""
    row: Row = {"id": _one(found.get("id")), "text": str(asked or "").strip(), "history": history}
    row |= {name: _one(found.get(name)) for name in ("kind", "cluster", "dialogue", "rewrite")}
    row |= {"answers": _texts(found.get("answers"), where), "tags": _texts(found.get("tags"), where)}
    row |= {"unanswerable": _one(found.get("unanswerable")).lower() in ("true", "1", "yes", "unanswerable")}
    expects, split = _parsed(found.get("expects")), _one(found.get("split"))
    row |= {"expects": expects} if isinstance(expects, dict) else {}
    row |= {"split": split} if split in SPLITS else {"tags": [*row["tags"], *filter(None, [split])]}
    if row["dialogue"]:
        row["turn"] = 1 + sum(turn["role"] == "user" for turn in history)
    notes = _asserted(flat, row, where)
    if not row["text"] or "\0" in row["text"]:
        raise DataError(where, "the question is empty or has a NUL character", "write the question as text")
    return Imported(row, _groups(found.get("contexts"), _texts(found.get("document"), where), where), notes)


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row, those of nested objects as `object.column`."""
    flat = dict(fields)
    for name in NESTED:
        inner = _parsed(fields.get(name))
        if isinstance(inner, dict) and not ("messages" in inner and name in ("input", "inputs")):
            del flat[name]
            flat |= {f"{name}.{key}": value for key, value in inner.items()}
        elif isinstance(inner, dict):
            flat[name if name == "input" else "input"] = inner
    return flat


def _columns(flat: Mapping[str, Any], given: Mapping[str, str], where: str) -> dict[str, str]:
    """The column of each field: the given one, else the first with a usual name; DataError with all columns if one is missing."""
    named: dict[str, str] = {}
    for key in flat:
        named.setdefault(re.sub(r"[^a-z0-9]", "", key.rpartition(".")[2].lower()), key)
    columns = {
        name: next(named[each] for each in names if each in named) for name, names in KNOWN.items() if named.keys() & set(names)
    }
    outputs = [key for key in flat if key.startswith(("outputs.", "expectedOutput.", "expected_output."))]
    columns |= {"answers": outputs[0]} if len(outputs) == 1 and "answers" not in columns else {}
    missing = [f"--{name} {key}" for name, key in given.items() if key not in flat and name in ("text",)]
    columns |= {name: key for name, key in given.items() if key in flat}
    if missing or "text" not in columns:
        listed = ", ".join(map(repr, flat)) or "none"
        raise DataError(
            where,
            f"has no column {missing[0] if missing else 'for the question'}; there are: {listed}",
            "name it: --question COLUMN",
        )
    return columns


def _parsed(value: Any) -> Any:
    """A cell with a JSON or Python list or object as its value; all else as it is."""
    if isinstance(value, str) and value[:1] + value[-1:] in ("[]", "{}"):
        for read in (json.loads, ast.literal_eval):
            try:
                parsed = read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(parsed, dict) or all(isinstance(part, str | dict | list) for part in parsed):
                return parsed
    return value


def _one(value: Any) -> str:
    value = value[0] if isinstance(value, list) and value else value
    return (
        ""
        if value is None or isinstance(value, dict | list)
        else value
        if isinstance(value, str)
        else json.dumps(value, default=str)
    )


def _texts(value: Any, where: str) -> list[str]:
    """The texts in a value, each once, in their order: of objects those under TEXTS."""
    found: dict[str, None] = {}
    waiting = [value]
    while waiting:
        value = _parsed(waiting.pop())
        if isinstance(value, list | tuple):
            waiting += reversed(value)
        elif isinstance(value, dict):
            waiting += [value[name] for name in TEXTS if name in value][:1]
        elif text := _one(value).strip():
            found[text] = None
        if len(found) + len(waiting) > MANY:
            raise DataError(where, f"a column holds more than {MANY:,} texts", "split the row")
    return list(found)


def _spoken(turn: Any, where: str) -> Iterator[tuple[str, str]]:
    """Role and text of a message, and of the response in the same object; instructions and calls of tools are left out."""
    if not isinstance(turn, dict):
        raise DataError(where, "a turn of the conversation is no object", "write one object for each message")
    name = next((key for key in ("speaker", "participant", "role", "type", "from") if isinstance(turn.get(key), str)), "")
    speaker = turn[name].lower() if name else "user"
    text = next(
        (turn[key] for key in ("raw_utterance", "utterance", "content", "text", "message", "value", "data") if turn.get(key)),
        "",
    )
    if speaker == "system":  # of the two in a conversation, or instructions for a model
        yield from [("assistant", "\n".join(_texts(text, where)))] if name in ("speaker", "participant") else []
    elif speaker in ROLES:
        yield ROLES[speaker], "\n".join(_texts(text, where))
    elif speaker not in ("tool", "developer", "function"):
        raise DataError(where, f"the speaker is {speaker!r}", f"there is: system, {', '.join(ROLES)}")
    if isinstance(turn.get("response"), str):
        yield "assistant", turn["response"]


def _messages(value: Any, where: str) -> list[Row]:
    turns = _parsed(value)
    return [
        {"role": role, "text": text}
        for turn in (turns if isinstance(turns, list) else ())
        for role, text in _spoken(turn, where)
    ]


def _groups(value: Any, documents: Sequence[str], where: str) -> tuple[tuple[Passage, ...], ...]:
    """Groups of passages: those of the native format, or one for each context; without contexts one for each document."""
    value = _parsed(value)
    parts = value if isinstance(value, list) else [] if value is None else [value]
    groups: list[tuple[Passage, ...]] = []
    for place, part in enumerate(parts):
        alternatives = part["any"] if isinstance(part, dict) and isinstance(part.get("any"), list) else [part]
        names = documents[place : place + 1] if len(documents) == len(parts) else documents if len(documents) == 1 else []
        grade = part.get("grade", 1) if isinstance(part, dict) else 1
        group = tuple(_passage(each, names, int(grade) if isinstance(grade, int) else 1, where) for each in alternatives)
        groups += [kept] if (kept := tuple(each for each in group if each.text or each.doc_id)) else []
    return tuple(dict.fromkeys(groups)) if parts else tuple((Passage("", name),) for name in documents)


def _passage(part: Any, names: Sequence[str], grade: int, where: str) -> Passage:
    text = HOP.sub("", "\n".join(_texts(part, where)))
    named = (
        [_one(part[key]) for key in ("doc", "document_id", "doc_id", "doc_name") if key in part]
        if isinstance(part, dict)
        else []
    )
    return Passage(text, next(iter([*named, *names]), ""), grade)


def _asserted(flat: Mapping[str, Any], row: Row, where: str) -> tuple[str, ...]:
    """Add what assertions of promptfoo hold to the answers; notes on those that run code, read a file or ask a model."""
    asserts = [each for each in flat.get("assert") or () if isinstance(each, dict)]
    for key in flat:
        if key.startswith("__expected"):
            kind, colon, value = str(flat[key]).partition(":")
            kind, value = (
                (kind.partition("(")[0].strip(), value.strip())
                if colon and re.match(r"[a-z-]+(\(|\Z)", kind)
                else ("equals", flat[key])
            )
            asserts.append({"type": kind, "value": value.split(",") if kind.endswith(("-any", "-all")) else value})
    notes = []
    for each in asserts:
        kind, values = str(each.get("type")), _texts(each.get("value"), where)
        if kind not in ASSERTED or any(
            value.startswith(("file://", "javascript:", "python:")) or "{{" in value for value in values
        ):
            notes.append(f"{where}: the assertion {kind!r} is not read: it runs code, reads a file or asks a model")
        elif kind.endswith("-all"):
            row["expects"] = {"values": values}
        else:
            row["answers"] = list(dict.fromkeys([*row["answers"], *values]))
    return tuple(notes)
