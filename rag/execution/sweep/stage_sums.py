"""The JSON of a stage result with sums in the place of single answers: tokens, costs, replies that could not be used."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rag.config.validation import asks_model
from rag.core.assessments import Spent
from rag.core.looks import ROLES
from rag.execution.store.serialisation import looks_of

SUMS = ("summary", "failures", "cost", "unread", "asked", "written", "enriched", "read")
"""Parts of the JSON of a stage that are small."""


def small(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of a stage with sums in the place of what it says of single answers, which may be large."""
    kept = {name: meta[name] for name in SUMS if name in meta} | {"unusable": unusable_of_stage(meta)}
    if meta.get("cost", {}).get("name") in ("rewrite", "generate", "check"):
        kept["paid"] = _paid(meta)
    elif "looks" in meta:
        kept["looked"] = sum((Spent(look.tokens, look.cost) for look in looks_of(meta) if look), Spent())
    if meta.get("answers"):
        finished = [each["reply"].get("finish", "") for each in meta["answers"] if each]
        kept["cut_replies"] = float(sum(finish not in ("stop", "") for finish in finished))
    return kept | ({"judged": _judged(meta)} if "assessments" in meta else {})


def _paid(meta: Mapping[str, Any]) -> Spent:
    """What one stage of answering paid. Replies count as they are after checks, with the requests that checks repeated."""
    replies = [*meta.get("failures", {}).values(), *(answer["reply"] for answer in meta.get("answers", ()) if answer)]
    rows = [Spent(reply["prompt_tokens"] + reply["completion_tokens"], reply["cost"]) for reply in replies]
    rows += [Spent(part["tokens"], part["cost"]) for name in ("sought", "recalled") for part in meta.get(name, ())]
    return sum(rows, Spent())


def _judged(meta: Mapping[str, Any]) -> dict[str, float]:
    """What a judge took, and how many judgements it could not make; it is not part of the cost of an answer."""
    spent = sum((Spent(part["tokens"], part["cost"]) for part in meta["assessments"]), Spent())
    figures = {"judge_tokens": float(spent.tokens), "judge_failures": float(meta.get("failed", 0))}
    return figures if math.isnan(spent.cost) else figures | {"judge_cost_usd": round(spent.cost, 6)}


def unusable_of_stage(meta: Mapping[str, Any]) -> Mapping[str, int]:
    """Replies of models that could not be used, by role; the last stage with looks counts for all before it."""
    if "enriched" in meta:
        return {"enrich": meta["enriched"]["unusable"]}
    if "looks" in meta and "answers" not in meta:
        failed = Counter(role for look in looks_of(meta) if look for role in look.unusable)
        return dict.fromkeys(("route", *ROLES.values()), 0) | failed
    return {"queries": sum(bool(part["note"]) for part in meta["sought"])} if "sought" in meta else {}


def unusable_of_trial(config: Mapping[str, Any], stages: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Each count as `unusable_queries` and the sum `unusable`; calls that failed count. Empty if no role asks a model."""
    counts = {role: float(count) for stage in stages for role, count in stage["unusable"].items() if asks_model(config, role)}
    total = {"unusable": sum(counts.values())} if counts else {}
    return {f"unusable_{role}": count for role, count in counts.items()} | total
