"""Rules for secrets by their form: the public rules of gitleaks (MIT, conf/redaction/gitleaks.LICENSE), and a few more."""

import hashlib
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import re2

from rag.core.files import shipped

FILES = ("gitleaks.toml", "assay.toml")
GENERIC = "generic-api-key"
LABELLED = ("kubernetes-secret-yaml",)
"""Rules whose match begins with the name of the value."""

LINE_LENGTH = 400
"""Bytes before and after a value that are looked at as its line."""

OPERATORS = r"(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)"
WIDER = {
    r"""(?:[\x60'"\s;]|\\[nr]|$)""": r"""(?:[\x60'"\s;|<>)}\]&#,*]|[.:!?](?:[\s'"\x60)]|$)|\\[nr'"u]|$)""",
    r"(?:[\/|\#|\?|:]|$)": r"(?:[^\w.-]|$)",
    OPERATORS: r"(?:=|>|:{1,3}=|\|{1,2}|:|=>|\?=|,|\bis\b:?)",
    r"""[\s'"]{0,3}(?:=""": r"""[\s'"\x60*\])\\]{0,5}(?:=""",
    r"""[\x60'"\s=]{0,5}""": r"""[\x60'"\s=*\\]{0,6}""",
}
"""Parts of gitleaks' patterns, which are made for code → the same for texts, where a sentence or a cell ends a value too."""


@lru_cache(maxsize=1)
def rule_files() -> Mapping[str, bytes]:
    """The bytes of the files with rules, by name."""
    return {name: (shipped("conf") / "redaction" / name).read_bytes() for name in FILES}


def rules_digest() -> str:
    """A sha256 of the rules: it belongs to the identity of every component that uses them."""
    return hashlib.sha256(b"".join(rule_files().values())).hexdigest()


@lru_cache(maxsize=1)
def rule_tables() -> Mapping[str, Mapping[str, Any]]:
    """The content of the files with rules, by name."""
    return {name: tomllib.loads(content.decode()) for name, content in rule_files().items()}


def entropy(value: bytes) -> float:
    """Shannon's entropy of the bytes of a value, in bits."""
    repeats = [count * math.log2(count) for count in Counter(value).values() if count > 1]
    return math.log2(len(value)) - sum(repeats) / len(value)


@dataclass(frozen=True)
class ShapeRule:
    """A pattern for one kind of secret. It is tried only on texts that hold one of its `keywords`, in any case.

    `allowed` are patterns of values that stay, by where they are searched for: in the `secret`, its `match`, or its `line`.
    """

    name: str
    regex: str
    keywords: tuple[str, ...]
    entropy: float
    group: int
    allowed: Mapping[str, str]
    rank: int

    @cached_property
    def pattern(self) -> Any:
        """The compiled pattern, for bytes."""
        return re2.compile(self.regex.encode())

    @cached_property
    def _groups(self) -> Sequence[int]:
        return (self.group,) if self.group else (*range(1, self.pattern.groups + 1), 0)

    @cached_property
    def _allowed(self) -> Sequence[tuple[str, Any]]:
        return [(where, re2.compile(regex.encode())) for where, regex in self.allowed.items()]

    def places(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The places [start, end) of the values in a text in UTF-8."""
        # The patterns of lines have no anchors: one that is nowhere in the text is in no line.
        allowed = [(where, pattern) for where, pattern in self._allowed if where != "line" or pattern.search(data)]
        by_line = any(where == "line" for where, _ in allowed)
        for match in self.pattern.finditer(data):
            start, end = next((span for span in map(match.span, self._groups) if span[0] < span[1]), (0, 0))
            secret = data[start:end]
            if not secret or (self.entropy and entropy(secret) <= self.entropy):
                continue
            seen = {"secret": secret, "match": match.group()}
            if by_line:
                seen["line"] = _line(data, start, end)
            if not any(pattern.search(seen[where]) for where, pattern in allowed):
                yield (start + (secret.find(b":") + 1 if self.name in LABELLED else 0), end)


def _line(data: bytes, start: int, end: int) -> bytes:
    """The line of a value, or the part of it near the value: a text may be one long line."""
    before, after = data[max(0, start - LINE_LENGTH) : start], data[end : end + LINE_LENGTH]
    return before.rpartition(b"\n")[2] + data[start:end] + after.partition(b"\n")[0]


def _allowed(tables: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
    """The patterns of lists of gitleaks, one for each target; conditions on paths and commits are left out: a text has none."""
    found: dict[str, list[str]] = {}
    for table in tables:
        found.setdefault(table.get("regexTarget", "secret"), []).extend(table.get("regexes", ()))
        found.setdefault("secret", []).extend(f"(?i){re2.escape(word)}" for word in table.get("stopwords", ()))
    return {where: "|".join(f"(?:{regex})" for regex in regexes) for where, regexes in found.items() if regexes}


def _rule(table: Mapping[str, Any], everywhere: Mapping[str, Any], rank: int) -> ShapeRule:
    regex = table["regex"]
    if "path" in table:  # made for files of one format: in texts, a comma is no sign of a value
        regex = regex.replace(OPERATORS, "(?:=>|:=|=|>|:)")
    for narrow, wide in WIDER.items():
        regex = regex.replace(narrow, wide)
    allowed = _allowed((everywhere, *table.get("allowlists", ())))
    more = rule_tables()["assay.toml"]["more_keywords"].get(table["id"], ())
    keywords, group = (*table["keywords"], *more), table.get("secretGroup", 0)
    rank = 3 if table["id"] == GENERIC else rank
    return ShapeRule(table["id"], regex, keywords, table.get("entropy", 0.0), group, allowed, rank)


class ShapeRules:
    """All rules by form, with one search for all of their keywords."""

    def __init__(self) -> None:
        tables = [rule_tables()[name] for name in FILES]
        everywhere = tables[0]["allowlist"]
        self.rules = tuple(
            _rule(rule, everywhere, rank) for rank, table in enumerate(tables) for rule in table["rules"] if "regex" in rule
        )
        options = re2.Options()
        options.literal, options.case_sensitive = True, False
        self._keywords, self._rule_of = re2.Set.SearchSet(options), list[int]()
        for number, rule in enumerate(self.rules):
            for keyword in rule.keywords:
                self._keywords.Add(keyword)
                self._rule_of.append(number)
        self._keywords.Compile()

    def candidates(self, data: bytes) -> list[ShapeRule]:
        """The rules one of whose keywords is in a text in UTF-8, in their order."""
        hits = self._keywords.Match(data) or ()
        return [self.rules[number] for number in sorted({self._rule_of[hit] for hit in hits})]


@lru_cache(maxsize=1)
def shape_rules() -> ShapeRules:
    """The rules by form; they are read at the first call."""
    return ShapeRules()
