"""What questions by rules may decide. They repeat words of their passages, so they do not rank searches against each other."""

from collections.abc import Mapping
from typing import Any

from rag.config.identity import digest
from rag.execution.sweep.selection import Candidates

SEARCH = "embedder", "index", "fusion", "reranker"
"""Roles in which words and vectors compete."""
SAID = "The questions are by rules and repeat words of their passages: they do not rank one search against another"


def keep_comparable(candidates: Candidates) -> tuple[str, ...]:
    """Take trials out of the contest whose search is not that of the others, where half of the questions are by rules.

    Trials with the most indexes compete, and among these the first of the experiment and those with its search. Return a
    remark on that.
    """
    examples = candidates.made.trials[0].golden.examples
    if 2 * sum(example.by_rules for example in examples) < len(examples):
        return ()
    configs = {each.trial_id: candidates.trials[each.trial_id].trial.config for each in candidates.entrants}
    order = [trial.trial_id for trial in candidates.made.trials if trial.trial_id in configs]
    first = max(order, key=lambda name: (len(configs[name]["index"]), -order.index(name)), default="")
    out = [each for each in candidates.entrants if _search(configs[each.trial_id]) != _search(configs[first])]
    candidates.withdraw(out)
    kept = f"{candidates.trials[first].trial.name} and those with its search compete, {len(out)} trials with others do not"
    return (f"{SAID}: {kept}." if out else f"{SAID}.",)


def _search(config: Mapping[str, Any]) -> str:
    return digest({role: config[role] for role in SEARCH})
