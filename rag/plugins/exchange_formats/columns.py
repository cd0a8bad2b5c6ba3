"""Columns of other tools → fields of a golden question. docs/datasets.md lists the formats and their versions."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rag.authoring.candidates import Row
from rag.authoring.exchange.cells import listed_cell, parsed_cell
from rag.authoring.exchange.format_table import format_of, formats
from rag.authoring.exchange.score_rows import NAMES
from rag.core.errors import DataError
from rag.core.records.queries import ROUTES
from rag.core.types import SPLITS

KNOWN = {name: [each.replace("_", "") for each in names.split()] for name, names in NAMES.items()}
NESTED = ("metadata", "inputs", "input", "outputs", "expectedOutput", "expected_output", "vars", "enrichments", "expectations")
"""Columns whose objects hold columns; a later one overrules an earlier one."""
TURNS = ("messages", "turns", "turn", "conversation", "utterances")
ROLES = {"user": "user", "human": "user"} | dict.fromkeys(("assistant", "ai", "agent", "bot", "model"), "assistant")
HOP = re.compile(r"\A<\d+-hop>\s*")
"""A mark of ragas before the contexts of a question with several."""
TEXTS = ["raw_utterance", "utterance", "text", "content", "contents", "evidence_text", "page_content", "value", "quote"]
TEXTS += ["answer", "output"]
"""Keys of an object under which its text may be, the most specific first."""
MANY, LONG = 10_000, 1_000
"""The most values in a field, and messages in a conversation, whose questions hold all messages before them."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text as evidence, the name of a document, or both; `grade` and `start` as in the native format, `start` -1 for none."""

    text: str
    doc_id: str = ""
    grade: int = 1
    start: int = -1


@dataclass(frozen=True, slots=True)
class Imported:
    """A question as a file has it: its fields of the native format, groups of passages as evidence, and notes."""

    fields: Row
    groups: tuple[tuple[Passage, ...], ...] = ()
    notes: tuple[str, ...] = ()


def shape_of(fields: Mapping[str, Any]) -> str:
    """The tool whose format a row has; empty for none."""
    if any(isinstance(fields.get(name), list) for name in TURNS):
        return "conversations"
    return format_of(fields)


def questions(fields: Mapping[str, Any], where: str, given: Mapping[str, str]) -> Iterator[Imported]:
    """The questions of a row: one, or one for each turn of a user. `given` maps fields to columns. DataError if bad."""
    turns = next((parsed for name in TURNS if isinstance(parsed := parsed_cell(fields.get(name)), list)), None)
    if turns is None or "text" in given:
        yield _question(fields, where, given)
        return
    dialogue = next((str(fields[name]) for name in ("conversation_id", "id", "_id", "number") if name in fields), where)
    said = [message for turn in turns for message in _messages(turn, where)]
    if len(said) > LONG:
        raise DataError(where, f"has {len(said)} messages, and a conversation {LONG} at most", "split it")
    asked = [place for place, (role, text, _) in enumerate(said) if role == "user" and text]
    for number, place in enumerate(asked, 1):
        role, reply, source = said[place + 1] if place + 1 < len(said) else ("", "", {})
        answered = {**source, "answer": reply} if role == "assistant" else {}
        columns = {**answered, **said[place][2], "question": said[place][1], "id": f"{dialogue}_{number}"}
        made = _question({name: value for name, value in columns.items() if name not in ("type", "text", "content")}, where, {})
        history = [{"role": role, "text": text} for role, text, _ in said[:place]]
        yield Imported(made.fields | {"dialogue": dialogue, "turn": number, "history": history}, made.groups)


def _question(fields: Mapping[str, Any], where: str, given: Mapping[str, str]) -> Imported:
    flat = _flat(fields)
    found = {name: flat[column] for name, column in _columns(tuple(flat), tuple(given.items()))}
    if "text" not in found:
        listed = ", ".join(map(repr, flat)) or "none"
        raise DataError(where, f"has no column for the question; there are: {listed}", "name it: --question COLUMN")
    row: Row = {"id": one_text(found.get("id")), "text": found.get("text"), "history": _turns(found.get("history"), where)}
    asked = parsed_cell(row["text"])
    if isinstance(asked, list | dict):
        turns = _turns(asked["messages"] if isinstance(asked, dict) and "messages" in asked else asked, where)
        last = max((place for place, turn in enumerate(turns) if turn["role"] == "user"), default=0)
        row |= {"history": turns[:last], "text": turns[last]["text"] if turns else ""}
    row["text"] = one_text(row["text"]).strip()
    row |= {name: one_text(found.get(name)) for name in ("kind", "cluster", "dialogue", "rewrite")}
    row |= {"turn": 1 + sum(turn["role"] == "user" for turn in row["history"])} if row["dialogue"] else {}
    row |= {"answers": texts_of(found.get("answers"), where), "tags": texts_of(found.get("tags"), where)}
    row["unanswerable"] = one_text(found.get("unanswerable")).lower() in ("true", "1", "yes", "unanswerable")
    split, expects = one_text(found.get("split")), parsed_cell(found.get("expects"))
    row |= {"split": split} if split in SPLITS else {"tags": [*row["tags"], split]} if split else {}
    row |= {"expects": expects} if _is_expected(expects) else {}
    row |= {"route": route} if (route := one_text(found.get("route"))) in ROUTES else {}
    if not row["text"] or "\0" in row["text"]:
        raise DataError(where, "the question is empty or has a NUL character", "write it as text")
    groups = _groups(listed_cell(found.get("contexts"), where), texts_of(found.get("document"), where), where)
    return Imported(row, groups, tuple(note for format in formats().values() for note in format.notes(flat, row, where)))


def _is_expected(value: Any) -> bool:
    """Whether a value is the `expects` of the native format."""
    if not isinstance(value, dict) or list(value) not in (["value"], ["values"]):
        return False
    texts = value.get("values", [value.get("value")])
    return isinstance(texts, list) and bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row, those of nested objects as `object.column`."""
    flat = {name: value for name, value in fields.items() if value not in (None, "")}
    for name in NESTED:
        inner = parsed_cell(fields.get(name)) if name in flat else None
        if isinstance(inner, dict):
            del flat[name]
            is_chat = "messages" in inner and name in ("inputs", "input")
            flat |= {"input": inner} if is_chat else {f"{name}.{key}": value for key, value in inner.items()}
    return flat


@lru_cache(maxsize=1024)
def _columns(columns: tuple[str, ...], given: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of a field and its column: the given one, else the first with a usual name."""
    named = {re.sub(r"[^a-z0-9]", "", column.rpartition(".")[2].lower()): column for column in columns}
    usual = {name: [each for each in names if each in named] for name, names in KNOWN.items()}
    found = {name: named[names[0]] for name, names in usual.items() if names}
    answers = [column for column in columns if column.startswith(("outputs.", "expectedOutput.", "expected_output."))]
    found |= {"answers": answers[0]} if len(answers) == 1 else {}
    found |= {name: column for name, column in given if column in columns}
    return tuple(found.items())


def one_text(value: Any) -> str:
    """The text of a cell, or of the first value in it; numbers and truth values as JSON, nothing for an object."""
    value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, dict | list) else json.dumps(value, default=str)


def texts_of(value: Any, where: str) -> list[str]:
    """The texts in a value, each once, in their order: of an object the first under TEXTS."""
    found: dict[str, None] = {}
    waiting, read = [parsed_cell(value)], 0
    while waiting:
        value, read = waiting.pop(), read + 1
        if isinstance(value, list):
            waiting += value[::-1]
        elif isinstance(value, dict):
            waiting += [value[name] for name in TEXTS if name in value][:1]
        elif text := one_text(value).strip():
            found[text] = None
        if read > MANY:  # also of a YAML file, where few lines can make billions
            raise DataError(where, f"a column holds more than {MANY:,} values", "split the row")
    return list(found)


def _messages(turn: Any, where: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Role, text and object of a message and of the response in it, without instructions (role `system`) and calls of tools."""
    if not isinstance(turn, dict):
        raise DataError(where, "a message is not an object", "write {…}, with its speaker and text")
    name = next((key for key in ("speaker", "participant", "role", "type", "from") if turn.get(key)), "")
    speaker = one_text(turn[name]).lower() if name else "user"
    role = "assistant" if speaker == "system" and name in ("speaker", "participant") else ROLES.get(speaker, "")
    if not role and speaker not in ("system", "tool", "developer", "function"):
        raise DataError(where, f"the speaker is {speaker!r}", f"there is: system, {', '.join(ROLES)}")
    said = [(role, "\n".join(texts_of(turn.get("data", turn), where)))] if role else []
    said += [("assistant", turn["response"])] if isinstance(turn.get("response"), str) else []
    yield from ((role, text, turn) for role, text in said if text)


def _turns(value: Any, where: str) -> list[Row]:
    turns = parsed if isinstance(parsed := parsed_cell(value), list) else []
    return [{"role": role, "text": text} for turn in turns for role, text, _ in _messages(turn, where)]


def _groups(parts: Sequence[Any], documents: Sequence[str], where: str) -> tuple[tuple[Passage, ...], ...]:
    """Groups of passages: those of the native format, or one for each context, or without contexts one for each document."""
    if not parts:
        return tuple((Passage("", name),) for name in documents)
    names = documents if len(documents) == len(parts) else [documents[0] if len(documents) == 1 else ""] * len(parts)
    groups = dict.fromkeys(tuple(_passages(part, name, where)) for part, name in zip(parts, names, strict=True))
    return tuple(group for group in groups if group)


def _passages(part: Any, name: str, where: str) -> Iterator[Passage]:
    """The alternatives of a context."""
    is_group = isinstance(part, dict) and isinstance(part.get("any"), list)
    grade = part.get("grade", 1) if is_group else 1
    for each in part["any"] if is_group else [part]:
        text = HOP.sub("", "\n".join(texts_of(each, where)))
        keys = [key for key in ("doc", "document_id", "doc_id", "doc_name") if key in each] if isinstance(each, dict) else []
        named = one_text(each[keys[0]]) if keys else name
        start = each.get("start", -1) if is_group and isinstance(each, dict) else -1
        if text or named:
            yield Passage(text, named, *(value if isinstance(value, int) else 1 for value in (grade, start)))
