"""Records of answering as JSON values, and back: what stages store of questions, replies, findings and judgements."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rag.core.adapters import records_from
from rag.core.assessments import Assessment
from rag.core.looks import Look
from rag.core.types import Finding, Found, Reply, Sought
from rag.pipeline.prompt.excerpts import Screened

Hits = tuple[tuple[int, float], ...]


def json_values(values: Iterable[Any]) -> list[Any]:
    """Records, or tuples of numbers, as values that the store writes; NaN stays NaN."""
    return [asdict(value) if hasattr(value, "__dataclass_fields__") else value for value in values]


def replies_of(meta: Mapping[str, Any]) -> list[Reply | None]:
    """The stored reply to every question; None where there is none."""
    return records_from(list[Reply | None], meta["replies"])


def sought_of(meta: Mapping[str, Any]) -> list[Sought]:
    """The stored result of rewriting, one record per question."""
    return records_from(list[Sought], meta["sought"])


def screened_of(meta: Mapping[str, Any]) -> list[Screened]:
    """The stored result of screening, one record per question."""
    return records_from(list[Screened], meta["screened"])


def found_of(meta: Mapping[str, Any]) -> list[tuple[Found, ...]]:
    """What conversations found before each question; an empty list where they found nothing to use again."""
    return records_from(list[tuple[Found, ...]], meta.get("earlier", ()))


def looks_of(meta: Mapping[str, Any]) -> list[Look | None]:
    """The stored looks of all questions; an empty list where every question is searched for once."""
    return records_from(list[Look | None], meta.get("looks", ()))


@dataclass(frozen=True)
class AnswerParts:
    """An answer without its question: reply, findings, and positions of the passages in the prompt and of those left out.

    `ends` are the ends of the passages as the prompt shows them. `look` is None for one search of passages.
    """

    reply: Reply
    findings: tuple[Finding, ...]
    abstained: bool
    read: Hits
    ends: tuple[int, ...]
    left_out: Hits
    look: Look | None = None


def answer_parts(meta: Mapping[str, Any]) -> list[AnswerParts | None]:
    """The stored answer of every question; None for a question that failed."""
    columns = {name: meta[name] for name in ("read", "ends", "left_out")}
    columns |= {"look": meta["looks"]} if "looks" in meta else {}
    rows = zip(meta["answers"], zip(*columns.values(), strict=True), strict=True) if meta["answers"] else ()
    parts = [part and {**part, **dict(zip(columns, row, strict=True))} for part, row in rows]
    return records_from(list[AnswerParts | None], parts)


def assessment_of(meta: Mapping[str, Any]) -> list[Assessment]:
    """The stored assessment of every answer."""
    return records_from(list[Assessment], meta["assessments"])
