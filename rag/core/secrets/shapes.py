"""Rules for secrets by their form: the public rules of gitleaks (MIT, conf/redaction/gitleaks.LICENSE), and a few more."""

import hashlib
import math
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import re2

from rag.core.files import shipped

FILES = ("gitleaks.toml", "assay.toml")
GENERIC = "generic-api-key"
LABELLED = ("kubernetes-secret-yaml",)
"""Rules whose match begins with the name of the value."""

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
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())


@dataclass(frozen=True)
class AllowList:
    """Values that a rule leaves: those that a pattern or a stop word is found in, or, with `all_of`, one of each."""

    patterns: Sequence[str]
    stopwords: Sequence[bytes]
    target: str
    all_of: bool

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> "AllowList":
        """The list of a table of gitleaks; conditions on paths and commits are left out: a text has none."""
        stopwords = [word.lower().encode() for word in table.get("stopwords", ())]
        return cls(table.get("regexes", ()), stopwords, table.get("regexTarget", "secret"), table.get("condition") == "AND")

    @cached_property
    def _compiled(self) -> Sequence[Any]:
        return [re2.compile(pattern.encode()) for pattern in self.patterns]

    def allows(self, places: Mapping[str, bytes]) -> bool:
        """Whether the list leaves a value; `places` are the value, its match and its line."""
        by_pattern = any(pattern.search(places[self.target]) for pattern in self._compiled)
        secret = places["secret"].lower()
        by_word = any(word in secret for word in self.stopwords)
        parts = [part for part, given in ((by_pattern, self.patterns), (by_word, self.stopwords)) if given]
        return bool(parts) and (all(parts) if self.all_of else any(parts))


@dataclass(frozen=True)
class ShapeRule:
    """A pattern for one kind of secret. It is tried only on texts that hold one of its `keywords`, in any case."""

    name: str
    regex: str
    keywords: tuple[str, ...]
    entropy: float
    group: int
    lists: tuple[AllowList, ...]
    rank: int

    @cached_property
    def pattern(self) -> Any:
        """The compiled pattern, for bytes."""
        return re2.compile(self.regex.encode())

    def places(self, data: bytes) -> Iterator[tuple[int, int]]:
        """The places [start, end) of the values in a text in UTF-8."""
        for match in self.pattern.finditer(data):
            group = self.group or next((number for number in range(1, self.pattern.groups + 1) if match.group(number)), 0)
            start, end = match.span(group)
            secret = data[start:end]
            if not secret or (self.entropy and entropy(secret) <= self.entropy):
                continue
            line = data[data.rfind(b"\n", 0, start) + 1 : (data.find(b"\n", end) + 1 or len(data) + 1) - 1]
            seen = {"secret": secret, "match": match.group(), "line": line}
            if not any(each.allows(seen) for each in self.lists):
                yield (start + (secret.find(b":") + 1 if self.name in LABELLED else 0), end)


def _rule(table: Mapping[str, Any], everywhere: AllowList, rank: int) -> ShapeRule:
    regex = table["regex"]
    if "path" in table:  # made for files of one format: in texts, a comma is no sign of a value
        regex = regex.replace(OPERATORS, "(?:=>|:=|=|>|:)")
    for narrow, wide in WIDER.items():
        regex = regex.replace(narrow, wide)
    lists = (everywhere, *(AllowList.of(each) for each in table.get("allowlists", ())))
    more = rule_tables()["assay.toml"]["more_keywords"].get(table["id"], ())
    keywords, group = (*table["keywords"], *more), table.get("secretGroup", 0)
    return ShapeRule(
        table["id"], regex, keywords, table.get("entropy", 0.0), group, lists, 3 if table["id"] == GENERIC else rank
    )


class ShapeRules:
    """All rules by form, with one search for all of their keywords."""

    def __init__(self) -> None:
        tables = [rule_tables()[name] for name in FILES]
        everywhere = AllowList.of(tables[0]["allowlist"])
        self.rules = tuple(
            _rule(rule, everywhere, rank) for rank, table in enumerate(tables) for rule in table["rules"] if "regex" in rule
        )
        options = re2.Options()
        options.literal, options.case_sensitive = True, False
        self._keywords, self._of = re2.Set.SearchSet(options), list[tuple[int, ...]]()
        users: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            for keyword in rule.keywords:
                users.setdefault(keyword.lower(), []).append(number)
        for keyword, numbers in users.items():
            self._keywords.Add(keyword)
            self._of.append(tuple(numbers))
        self._keywords.Compile()

    def candidates(self, data: bytes) -> list[ShapeRule]:
        """The rules one of whose keywords is in a text in UTF-8, in their order."""
        hits = self._keywords.Match(data) or ()
        return [self.rules[number] for number in sorted({number for hit in hits for number in self._of[hit]})]


@lru_cache(maxsize=1)
def shape_rules() -> ShapeRules:
    """The rules by form; they are read at the first call."""
    return ShapeRules()
