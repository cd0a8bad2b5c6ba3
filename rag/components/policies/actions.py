"""What the replies of an agent ask for, and the tables and results of records as texts."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rag.core.errors import closest
from rag.core.models.typed_reply import check_names, json_object
from rag.core.record_json import query_of
from rag.core.records.queries import RecordQuery, Result, described
from rag.core.records.sets import RecordSet, RecordTable
from rag.core.text.stems import Stems

SHORTEST = 3
"""Characters of the shortest text that is searched for."""


def search_text(value: Any, longest: int) -> str:
    """A text to search for, on one line."""
    if not isinstance(value, str):
        raise ValueError(f"has {value!r:.80}, which is not a text to search for")
    text = " ".join(value.split())
    if not SHORTEST <= len(text) <= longest:
        raise ValueError(f"has a text of {len(text)} characters to search for, and {SHORTEST} to {longest} are allowed")
    return text


def search_texts(reply: str, name: str, longest: int) -> list[str]:
    """The texts of `{name: ["…"]}`."""
    found = json_object(reply)
    check_names(found, [name])
    if not isinstance(found.get(name), list):
        raise ValueError(f"has no list of {name}")
    return [search_text(text, longest) for text in found[name]]


LISTED = 20
"""The most values of a result that a model is shown."""


@dataclass(frozen=True)
class SearchAction:
    """A search for passages."""

    query: str
    tool: ClassVar[Literal["search"]] = "search"


@dataclass(frozen=True)
class RecordsAction:
    """A query of records."""

    query: RecordQuery
    tool: ClassVar[Literal["query_records"]] = "query_records"


Action = SearchAction | RecordsAction


@dataclass(frozen=True)
class Finish:
    """The end."""

    tool: ClassVar[Literal["finish"]] = "finish"


TOOLS = ("search", "query_records", "finish")


def action_of(reply: str, longest: int) -> tuple[str, Action | Finish]:
    """The thought and the call in a reply; ValueError that says what is wrong. `longest` is that of a search text."""
    found = json_object(reply)
    check_names(found, ["thought", "tool", "query"])
    tool, query, thought = found.get("tool"), found.get("query"), str(found.get("thought") or "")
    if tool == "search":
        return thought, SearchAction(search_text(query, longest))
    if tool == "query_records":
        return thought, RecordsAction(query_of(query))
    if tool == "finish":
        return thought, Finish()
    raise ValueError(f"asks for the tool {str(tool)[:40]!r}: {closest(str(tool)[:40], TOOLS)}")


def shown(action: Action, result: Result | None = None) -> str:
    """A call in words, with its result."""
    if isinstance(action, SearchAction):
        return action.query
    if result is None:
        return described(action.query)
    values = list(result.values) or ([result.value] if result.value else [])
    more = len(values) - LISTED
    found = "; ".join(values[:LISTED]) + (f"; {more} more" if more > 0 else "")
    return f"{described(action.query)}: {found or '-'}"


def tables_for(question: str, records: RecordSet, most: int) -> list[RecordTable]:
    """The tables that share most words with a question, in their order in the records."""
    stems = Stems()
    asked = stems.of(question)

    def shared(table: RecordTable) -> int:
        names = " ".join(field.name.replace("_", " ") for field in table.fields)
        return len(asked & stems.of(f"{table.name} {table.title} {names}"))

    best = sorted(range(len(records.tables)), key=lambda place: -shared(records.tables[place]))[:most]
    return [records.tables[place] for place in sorted(best)]
