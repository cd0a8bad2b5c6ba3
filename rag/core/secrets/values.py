"""Whether a value under a name is a secret, and no placeholder, description, reference, date, number or path."""

import re
from functools import lru_cache
from itertools import pairwise

import re2

from rag.core.secrets.shapes import rule_tables

WORD = re.compile(r"[a-z]+\d*|\d+")
KEY, PIECE = re.compile(r"(?!\w{2,8}:[/\\])[\w+/=.~:|-]{16,}"), re.compile(r"[A-Za-z0-9]+")
DIGITS, SHORTEST_PIECE = re.compile(r"\d+"), 10
SYMBOLS = frozenset("!@#$%^&*+?~=")


class Values:
    """The rules for values, with the words and placeholders of conf/redaction/assay.toml."""

    def __init__(self) -> None:
        kept = rule_tables()["assay.toml"]["kept"]
        self.placeholders, self.descriptions = re2.compile(kept["placeholders"]), frozenset(kept["descriptions"])
        self.identifier, self.references = re.compile(kept["identifier"]), [re.compile(each) for each in kept["references"]]

    def is_secret(self, value: str, kind: str, sure: bool) -> bool:
        """Whether a value is a secret under a name of a `kind`: `password`, `token`, or `key` for random values only."""
        if any(character.isspace() for character in value) or self.is_kept(value):
            return False
        if kind == "key":
            return is_random(value)
        digit, letter, is_password = any(map(str.isdigit, value)), any(map(str.isalpha, value)), kind == "password"
        if is_password and sure:
            return len(value) >= 4 and (
                digit or value.isalpha() or value.replace("-", "").isalpha() or bool(SYMBOLS & {*value})
            )
        if is_password and letter and SYMBOLS & {*value}:
            return len(value) >= 6
        mixed = _turns(value) >= 3 and len(value) >= 12 and value.isalnum()
        long = sure and len(value) >= 20 and not self.identifier.fullmatch(value)
        return len(value) >= (6 if is_password else 8) and ((digit and letter) or mixed or long)

    def is_kept(self, value: str) -> bool:
        """Whether a value is a placeholder, or describes or refers to a value."""
        if len(value) > 300:
            return False
        if self.placeholders.search(value):
            return True
        if any(pattern.fullmatch(value) for pattern in self.references):
            return not (value.isdigit() and len(value) >= 4) and not _is_base64(value)
        words = WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", value).lower())
        return all(word in self.descriptions or word.rstrip("0123456789") in self.descriptions for word in words)


def is_random(value: str) -> bool:
    """Whether 16 characters or more look drawn: letters and digits in turn, more often than in words, versions and dates."""
    longest = max(PIECE.findall(value), key=len, default="")
    if not KEY.fullmatch(value) or len(longest) < SHORTEST_PIECE or longest.isalpha() or value.isdigit():
        return False
    digits, turns = len(DIGITS.findall(value)), _turns(value)
    return digits >= 3 or (digits == 2 and turns >= 3) or 5 * turns >= len(value)


def _turns(value: str) -> int:
    """How often a capital letter follows a small one."""
    return sum(first.islower() and second.isupper() for first, second in pairwise(value))


def _is_base64(value: str) -> bool:
    """Whether a value that looks like a path is rather base64."""
    return len(value) >= 20 and "." not in value and any(map(str.isdigit, value)) and any(map(str.isupper, value))


@lru_cache(maxsize=1)
def values() -> Values:
    """The rules; the words are read at the first call."""
    return Values()
