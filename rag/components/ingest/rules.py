"""Rules of ingestion: the first one that matches a file decides whether it becomes a document."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.components.ingest import conditions
from rag.core.errors import ConfigError, closest
from rag.core.source_files import Decision, SourceFile

OF_FILES: Mapping[str, Callable[[object, str], conditions.FileTest]] = {
    "type": conditions.kind,
    "size": conditions.size,
    "modified": conditions.modified,
}
OF_TEXTS: Mapping[str, Callable[[object, str], conditions.TextTest]] = {
    "language": conditions.language,
    "content": conditions.content,
}
ACTIONS = ("include", "exclude")
KEYS = (*ACTIONS, "reason", *OF_FILES, *OF_TEXTS)
WHERE = "loader.ingest"


@dataclass(frozen=True)
class Rule:
    """A decision and its conditions, all of which must hold."""

    decision: Decision
    of_file: tuple[conditions.FileTest, ...]
    of_text: tuple[conditions.TextTest, ...]

    def holds(self, file: SourceFile) -> bool | None:
        """Whether the rule matches; None where that depends on a text that is not known."""
        if not all(test(file) for test in self.of_file):
            return False
        if not self.of_text:
            return True
        text = file.text
        return None if text is None else all(test(text) for test in self.of_text)


class FirstMatchRules:
    """The first matching rule includes or excludes a file; a file that no rule matches is included.

    `purpose` says in a sentence what the corpus is for. Each of `rules` has `include` or `exclude` with one or more glob
    patterns of paths, further conditions, and a `reason`. `type` is a suffix or a media type, `size` has `min` and `max`,
    `modified` has `after` and `before`, `language` is a code such as `en`, `content` a pattern of RE2. A rule about the text
    sees the redacted text. It is decided after parsing, and only where no earlier rule matches.
    """

    def __init__(self, purpose: str, rules: Sequence[Mapping[str, Any]]) -> None:
        """Raise ConfigError for a rule without a reason, and for a pattern, date, size or key that is not valid."""
        if not isinstance(purpose, str) or not purpose.strip():
            raise ConfigError(f"{WHERE}.purpose", f"is {purpose!r}", "say in a sentence what the corpus is for")
        if not isinstance(rules, list):
            raise ConfigError(f"{WHERE}.rules", f"is {rules!r}", "write a list of rules; [] for none")
        self.purpose = purpose
        self.keys = tuple(f"rules.{number}" for number in range(len(rules)))
        self.rules = tuple(_rule(content, key) for key, content in zip(self.keys, rules, strict=True))

    def decide(self, file: SourceFile) -> Decision | None:
        """The decision of the first rule that matches; None where a rule about the text comes first and the text is None."""
        for rule in self.rules:
            holds = rule.holds(file)
            if holds is None:
                return None
            if holds:
                return rule.decision
        return Decision(True)


def _rule(content: object, key: str) -> Rule:
    where = f"{WHERE}.{key}"
    if not isinstance(content, Mapping):
        raise ConfigError(where, f"is {content!r}", "write {exclude: '**/*.lock', reason: …}")
    for name in content:
        if name not in KEYS:
            raise ConfigError(f"{where}.{name}", "is not a key of a rule", closest(str(name), KEYS))
    actions = [name for name in ACTIONS if name in content]
    if len(actions) != 1:
        found = "both include and exclude" if actions else "neither include nor exclude"
        raise ConfigError(where, f"has {found}", "give one of them, with a glob pattern: exclude: '**/*.lock'")
    reason = content.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise ConfigError(f"{where}.reason", f"is {reason!r}", "say why, for the readers of the manifest")
    (action,) = actions
    of_file = [conditions.path(content[action], f"{where}.{action}")]
    of_file += [test(content[name], f"{where}.{name}") for name, test in OF_FILES.items() if name in content]
    of_text = [test(content[name], f"{where}.{name}") for name, test in OF_TEXTS.items() if name in content]
    return Rule(Decision(action == "include", " ".join(reason.split()), key), tuple(of_file), tuple(of_text))
