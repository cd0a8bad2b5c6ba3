"""Records of answering as JSON values, and back: what stages keep of questions, replies, findings and judgements."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rag.core.assessments import Assessment, Cited, Claim, QuotedPassage, Verdict
from rag.core.records import Finding, Reply, Sought
from rag.pipeline.prompt_assembly import Screened

Hits = tuple[tuple[int, float], ...]


def meta_of(reply: Reply) -> dict[str, Any]:
    """A reply as JSON values; an unknown cost is null."""
    return {**asdict(reply), "cost": None if math.isnan(reply.cost) else reply.cost}


def reply_of(meta: Mapping[str, Any]) -> Reply:
    """A stored reply as a record."""
    cost = math.nan if meta["cost"] is None else meta["cost"]
    return Reply(**{**meta, "citations": tuple(meta["citations"]), "cost": cost})


def json_values(values: Iterable[Any]) -> list[Any]:
    """Records, or tuples of numbers, as JSON values; None for NaN."""
    return [_plain(asdict(value) if hasattr(value, "__dataclass_fields__") else value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def sought_of(meta: Mapping[str, Any]) -> list[Sought]:
    """What was searched for."""
    return [Sought(**{**part, "texts": tuple(part["texts"]), "cost": _number(part["cost"])}) for part in meta["sought"]]


def hits_of(rows: Iterable[Iterable[Any]]) -> Hits:
    """Positions with scores."""
    return tuple((int(position), float(score)) for position, score in rows)


def screened_of(meta: Mapping[str, Any]) -> list[Screened]:
    """What screens left."""
    return [Screened(hits_of(part["kept"]), _findings(part["findings"]), tuple(part["ranks"])) for part in meta["screened"]]


def _findings(rows: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(Finding(**row) for row in rows)


@dataclass(frozen=True)
class AnswerParts:
    """An answer without its question: the reply, what was noticed, positions of what was read and of what had no room.

    `ends` are where the passages that were read end as they were shown.
    """

    read: Hits
    reply: Reply
    findings: tuple[Finding, ...]
    abstained: bool
    ends: tuple[int, ...] = ()
    left_out: Hits = ()


def answer_parts(meta: Mapping[str, Any]) -> list[AnswerParts | None]:
    """What a check kept of every question; None for one that failed."""
    rows = zip(meta["answers"], meta["read"], meta["ends"], meta["left_out"], strict=True) if meta["answers"] else ()
    return [part and _parts(part, *places) for part, *places in rows]


def _parts(part: Mapping[str, Any], read: Iterable[Any], ends: Iterable[int], left_out: Iterable[Any]) -> AnswerParts:
    told = reply_of(part["reply"]), _findings(part["findings"]), bool(part["abstained"])
    return AnswerParts(hits_of(read), *told, tuple(ends), hits_of(left_out))


def assessment_of(meta: Mapping[str, Any]) -> list[Assessment]:
    """What a judge said."""
    return [_assessment(part) for part in meta["assessments"]]


def verdict_of(meta: Mapping[str, Any]) -> Verdict:
    """What a judge said of a text."""
    return Verdict(tuple(map(_claim, meta["claims"])), meta["abstained"], meta.get("whole"))


def _assessment(part: Mapping[str, Any]) -> Assessment:
    verdict, cited = part["verdict"], part["citations"]
    return Assessment(
        part["threshold"],
        verdict and verdict_of(verdict),
        _number(part["relevance"]),
        tuple(map(_number, part["contexts"])),
        tuple(map(_cited, cited)),
        part["tokens"],
        _number(part["cost"]),
    )


def _claim(part: Mapping[str, Any]) -> Claim:
    evidence = tuple(QuotedPassage(**passage) for passage in part["evidence"])
    told = {"support": _number(part["support"]), "evidence": evidence, "lacking": tuple(part["lacking"])}
    return Claim(**{**part, **told})


def _cited(part: Mapping[str, Any]) -> Cited:
    lists = {name: tuple(part[name]) for name in ("contexts", "needed")}
    return Cited(**{**part, **lists, "support": _number(part["support"])})


def _number(value: float | None) -> float:
    return math.nan if value is None else value
