"""The JSON of a stage result with sums in the place of single answers: what answers and judges took."""

import math
from collections.abc import Mapping
from typing import Any

from rag.core.assessments import Spent
from rag.execution.store.serialisation import looks_of

SUMS = ("summary", "failures", "cost", "unread", "asked", "written", "enriched", "read")
"""Parts of the JSON of a stage that are small."""


def small(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of a stage with sums in the place of what it says of single answers, which may be large."""
    kept = {name: meta[name] for name in SUMS if name in meta}
    if meta.get("cost", {}).get("name") in ("rewrite", "generate", "check"):
        kept["paid"] = _paid(meta)
    elif "looks" in meta:
        kept["looked"] = sum((Spent(look.tokens, look.cost) for look in looks_of(meta) if look), Spent())
    if meta.get("answers"):
        kept["cut_replies"] = float(
            sum(each["reply"].get("finish", "") not in ("stop", "") for each in meta["answers"] if each)
        )
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
