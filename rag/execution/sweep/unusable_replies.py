"""Replies of models behind a search, such as rewriters and routers, that could not be used: a rule stood in for them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rag.execution.store.serialisation import looks_of


def of_stage(meta: Mapping[str, Any]) -> Mapping[str, int]:
    """The counts of a stage by role; the last of those that look counts for all before it."""
    if "enriched" in meta:
        return {"enrich": meta["enriched"]["unusable"]}
    if "looks" in meta and "answers" not in meta:
        return Counter(role for look in looks_of(meta) if look for role in look.unusable)
    return {"queries": sum(bool(part["note"]) for part in meta["sought"])} if "sought" in meta else {}


def of_trial(config: Mapping[str, Any], stages: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Each count as `unusable_queries` and the sum `unusable`; calls that failed count. Empty if no role asks a model."""
    counts = {role: float(count) for stage in stages for role, count in stage["unusable"].items() if asks(config, role)}
    return {f"unusable_{role}": count for role, count in counts.items()} | (
        {"unusable": sum(counts.values())} if counts else {}
    )


def asks(config: Mapping[str, Any], role: str) -> bool:
    """Whether the component of a role asks a model that is its parameter."""
    return "generator" in (config.get(role) or {})
