"""Rules that a model proposes. It gets counts and names, and its reply is data: code checks and measures every rule."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from rag.analysis.ingestion.advice import Proposals, tried
from rag.config.catalog import texts
from rag.core.errors import ServiceError
from rag.core.models.chat import ask
from rag.core.roles import Generator
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request

NAMES, GROUPS, MOST = 200, 200, 10
"""Names of files and groups in a prompt, and rules that are read of a reply."""
PLACES = ("purpose", "folders", "files", "rules")


def propose(made: Proposals, generator: Generator) -> list[str]:
    """Add the valid rules of a model; the others with the reasons why they are left out. ServiceError without a valid reply."""
    prompts = _prompts()
    messages = (Message("system", prompts["system"]), Message("user", fill(prompts["prompt"], _values(made))))
    (given,) = ask(generator, [Request(Query("advise", "Which files are left out?"), (), messages)])
    if isinstance(given, str):
        raise ServiceError("generator", f"gave no proposals: {given}", "check generator=…, or leave out --model")
    found = re.search(r"\{.*\}", given.text, re.DOTALL)
    try:
        rules = json.loads(found[0] if found else "")["rules"]
        if not isinstance(rules, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = f"replied {' '.join(given.text.split())[:80]!r}, which is not the JSON that was asked for"
        raise ServiceError("generator", what, "try again, or name a model that writes JSON: generator=…") from error
    left_out = [problem for rule in rules[:MOST] if (problem := tried(made, rule, "model"))]
    return [*left_out, *([f"rules after the first {MOST}"] if len(rules) > MOST else [])]


def _prompts() -> Mapping[str, str]:
    content = texts("advice", ("system", "prompt"))
    check_template("conf/advice.yaml: prompt", content["prompt"], PLACES, PLACES)
    return content


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
