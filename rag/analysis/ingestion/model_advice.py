"""Rules that a model proposes. It gets counts and names, and its reply is data: code checks and measures every rule."""

import json
from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

from rag.analysis.ingestion.advice import Proposals, tried
from rag.config.catalog import texts
from rag.core.errors import ServiceError
from rag.core.models.typed_reply import Typed, ask_typed, json_object
from rag.core.roles import Generator
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request

NAMES, GROUPS, MOST = 200, 200, 10
"""Names of files and groups in a prompt, and rules that are read of a reply."""
PLACES = ("purpose", "folders", "files", "rules")


def propose(made: Proposals, generator: Generator) -> list[str]:
    """Add the valid rules of a model; the others with the reasons why they are left out. ServiceError without a valid reply."""
    prompts = texts("advice", ("system", "prompt"))
    check_template("conf/advice.yaml: prompt", prompts["prompt"], PLACES, PLACES)
    messages = (Message("system", prompts["system"]), Message("user", fill(prompts["prompt"], _values(made))))
    (asked,) = ask_typed(generator, [Typed(Request(Query("advise", "Which files are left out?"), (), messages), _rules)])
    if asked.failure:
        raise ServiceError("generator", f"gave no proposals: {asked.failure}", "check generator=…, or leave out --model")
    if asked.value is None:
        what = f"its reply is not the JSON that was asked for: it {asked.problem}: {asked.text.strip()[:80]!r}"
        raise ServiceError("generator", what, "try again, or name a model that writes JSON: generator=…")
    rules = asked.value
    left_out = [problem for rule in rules[:MOST] if (problem := tried(made, rule, "model"))]
    return [*left_out, *([f"rules after the first {MOST}"] if len(rules) > MOST else [])]


def _rules(reply: str) -> list[Any]:
    if not isinstance(rules := json_object(reply).get("rules"), list):
        raise ValueError("has no list of rules")
    return rules


def _values(made: Proposals) -> dict[str, str]:
    """The values of a prompt, all but the purpose as JSON: a name cannot end its list."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for line in made.left.values():
        counts = groups[PurePosixPath(line.path).parent.as_posix(), line.type]
        counts[0] += 1
        counts[1] += line.characters
    largest = sorted(groups.items(), key=lambda group: (-group[1][1], group[0]))[:GROUPS]
    names = sorted(made.left)
    step = max(1, len(names) // NAMES)
    rules: list[Any] = [*made.done.rules, *(each.rule for each in made.found)]
    folders = [[*key, *counts] for key, counts in largest]
    return {
        "purpose": made.done.purpose,
        "folders": json.dumps(folders, ensure_ascii=False),
        "files": json.dumps(names[::step][:NAMES], ensure_ascii=False),
        "rules": json.dumps(rules, ensure_ascii=False, default=str),
    }
