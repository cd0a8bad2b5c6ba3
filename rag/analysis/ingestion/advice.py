"""Rules that the coverage of a folder, or a model, suggests. They are proposed, in a file that a person reads and commits.

A model gets counts and names, and its reply is data: code checks and measures every rule.
"""

import glob
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from rag.analysis.ingestion.ingest import Ingestion
from rag.components.ingest.rules import FirstMatchRules
from rag.config.catalog import choice, texts
from rag.core.errors import DataError, ServiceError, UserError
from rag.core.files import replace_text
from rag.core.models.typed_reply import Typed, ask_typed, json_object
from rag.core.roles import Generator
from rag.core.source_files import SourceFile
from rag.core.text.templates import check_template, fill
from rag.core.types import Message, Query, Request
from rag.documents.manifest import ManifestLine

PRESET = "documentation"
"""The choice of conf/ingest whose rules are proposed where they match included files."""
MOST, LISTED = 0.8, 20
"""A folder or type is proposed if MOST of its FEWEST or more files are conspicuous; else up to LISTED single files are."""
FEWEST = 5
NAMES, GROUPS, RULES = 200, 200, 10
"""Names of files and groups in a prompt, and rules that are read of a reply."""
PLACES = ("purpose", "folders", "files", "rules")

Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Proposal:
    """A rule with the included files that it would exclude, and their characters; `share` is that of all characters."""

    rule: Rule
    files: int
    characters: int
    share: float
    source: str


@dataclass(frozen=True)
class Advice:
    """Proposals, what was left out with the reason, and the file that holds them; None if there is nothing to propose."""

    proposals: tuple[Proposal, ...]
    left_out: tuple[str, ...] = ()
    path: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """The output of `rag data ingest advise --json`."""
        return {**asdict(self), "path": str(self.path) if self.path else None}


class Proposals:
    """Proposed rules, each measured on the included files that no earlier one excludes."""

    def __init__(self, done: Ingestion) -> None:
        self.done = done
        self.left = {line.path: line for line in done.files if line.decision == "included"}
        self.total = max(sum(line.characters for line in self.left.values()), 1)
        self.found: list[Proposal] = []

    def add(self, rule: Rule, source: str) -> bool:
        """Propose a rule if it matches an included file; ConfigError if it is not valid."""
        rules = FirstMatchRules("Proposals.", [dict(rule)])
        out = [line for line in self.left.values() if _excludes(rules, line)]
        characters = sum(self.left.pop(line.path).characters for line in out)
        if out:
            self.found.append(Proposal(dict(rule), len(out), characters, characters / self.total, source))
        return bool(out)


def proposals(done: Ingestion) -> Proposals:
    """Rules of PRESET that match, then rules for files without words, tiny files and duplicates; the same for every run."""
    made = Proposals(done)
    for rule in choice("ingest", PRESET)["rules"]:
        if "content" not in rule:  # it would need the texts
            made.add(rule, PRESET)
    for kind, reason in (("no words", "holds no words"), ("tiny", "holds hardly any text")):
        for rule in _rules(made, [each.path for each in done.coverage.outliers if each.kind == kind], reason):
            made.add(rule, "coverage")
    for kind, same in (("same bytes", "bytes"), ("same text", "text")):
        paths = [path for each in done.coverage.duplicates if each.kind == kind for path in each.paths[1:]]
        for rule in _rules(made, paths, f"has the same {same} as another file"):
            made.add(rule, "coverage")
    return made


def _rules(made: Proposals, paths: Sequence[str], reason: str) -> Iterator[Rule]:
    """Rules for conspicuous files: their folder or type if it has hardly any others, else the files themselves."""
    waiting = {path for path in paths if path in made.left}
    groupings: Sequence[Callable[[ManifestLine], str]] = (_folder_pattern, lambda line: f"**/*.{glob.escape(line.type)}")
    for grouping in groupings:
        groups: dict[str, list[str]] = defaultdict(list)
        for line in made.left.values():
            groups[grouping(line)].append(line.path)
        for pattern, members in sorted(groups.items()):
            few = [path for path in members if path in waiting]
            if pattern and len(members) >= FEWEST and len(few) >= MOST * len(members):
                waiting -= set(few)
                yield {"exclude": pattern, "reason": f"{reason}: {len(few)} of {len(members)} files of this pattern"}
    if waiting:
        yield {"exclude": [glob.escape(path) for path in sorted(waiting)[:LISTED]], "reason": reason}


def _folder_pattern(line: ManifestLine) -> str:
    folder = PurePosixPath(line.path).parent.as_posix()
    return "" if folder == "." else f"{glob.escape(folder)}/**"


def _excludes(rules: FirstMatchRules, line: ManifestLine) -> bool:
    modified = datetime.fromisoformat(line.modified).timestamp()
    decision = rules.decide(SourceFile(line.path, Path(line.path), line.size, modified, ""))
    return decision is not None and not decision.includes


def check_new(path: Path) -> None:
    """Raise DataError for a file that exists."""
    if path.exists():
        raise DataError(str(path), "exists, and is not overwritten", "commit or remove it, or name another file: --to FILE")


def write(advice: Advice, done: Ingestion, path: Path) -> Advice:
    """Write the rules of the config and after them the proposed ones, as a choice of conf/ingest; nothing without proposals."""
    if not advice.proposals:
        return advice
    check_new(path)
    target = f"{FirstMatchRules.__module__}.{FirstMatchRules.__qualname__}"
    parts = ["# Proposed by rag data ingest advise: read every rule, remove what is wrong, commit the rest.\n"]
    parts.append(_yaml({"_target_": target, "purpose": done.purpose}) + "rules:\n")
    parts += [_yaml([dict(rule)]) for rule in done.rules]
    for each in advice.proposals:
        share = f"files: {each.files:,}, share of the characters: {each.share:.1%}, from: {each.source}"
        parts += [f"# {share}\n", _yaml([dict(each.rule)])]
    replace_text(path, "".join(parts))
    return replace(advice, path=path)


def _yaml(content: Any) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def tried(made: Proposals, rule: Any, source: str) -> str:
    """Propose a rule that a model wrote; the reason why it is left out, empty if it is not. It may only exclude by path."""
    if not isinstance(rule, Mapping) or set(rule) != {"exclude", "reason"}:
        return f"{_short(rule)}: has other keys than exclude and reason"
    try:
        return "" if made.add(rule, source) else f"{_short(rule)}: matches no file that is still included"
    except UserError as error:
        return f"{_short(rule)}: {error.what}"


def _short(rule: Any) -> str:
    return " ".join(str(rule).split())[:120]


def propose(made: Proposals, generator: Generator) -> list[str]:
    """Add the valid rules of a model; the others with the reasons why they are left out. ServiceError without a valid reply."""
    prompts = texts("advice", ("system", "prompt"))
    check_template("conf/advice.yaml: prompt", prompts["prompt"], PLACES, PLACES)
    messages = (Message("system", prompts["system"]), Message("user", fill(prompts["prompt"], _values(made))))
    (asked,) = ask_typed(generator, [Typed(Request(Query("advise", "Which files are left out?"), (), messages), _of_reply)])
    if asked.failure:
        raise ServiceError("generator", f"gave no proposals: {asked.failure}", "check generator=…, or leave out --model")
    if asked.value is None:
        what = f"its reply is not the JSON that was asked for: it {asked.problem}: {asked.text.strip()[:80]!r}"
        raise ServiceError("generator", what, "try again, or name a model that writes JSON: generator=…")
    rules = asked.value
    left_out = [problem for rule in rules[:RULES] if (problem := tried(made, rule, "model"))]
    return [*left_out, *([f"rules after the first {RULES}"] if len(rules) > RULES else [])]


def _of_reply(reply: str) -> list[Any]:
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
