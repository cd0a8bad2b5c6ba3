"""Secrets by the name before them: assignments, JSON, YAML, flags, headers, XML, cells of tables, sentences."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import re2

from rag.core.secrets.places import Find
from rag.core.secrets.shapes import LINE_LENGTH, rule_tables
from rag.core.secrets.values import values

RULE, RANK = "secret-by-name", 2
MEMORY, SKIPPED, GAP, SHORTEST = 64 << 20, 60, 3, 4
"""Bytes for the states of the search; in bytes: values in which no other name is searched for, quotes and spaces between the
name of a value and the next name, values."""

OPERATORS = ("assignment", "attribute", "cell", "argument", "sentence", "pair", "call", "element", "flag")
LOOSE, NOTHING = ("argument", "sentence", "cell", "call"), (None, None, None, None)
"""Forms in which a quoted text need not be the value."""
KEY = b"key"
"""The name in forms that say little: the value must look drawn."""
MORE = re.compile(rb"[&;,](?=[\w.-]{1,40}=)")
BAR = re.compile(rb"(?<!\\)\|")
CODE = re.compile(rb"[\w.]+[(\[{].*", re.DOTALL)
RULER = re.compile(rb"[ \t|:-]*-{2,}[ \t|:-]*")
FLAG = re.compile(rb"(?:^|\s)--?[\w.-]{0,30}\Z")
LINE = re.compile(rb"[ \t]*(?:[-*+#>|][ \t]+)*(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?[\w.*'\"-]*(?:[ \t][\w.-]+)?[ \t_.-]*")


class Candidate(NamedTuple):
    """A value at [start, end) of a text in UTF-8, under a name. `sure`: its form shows that a value follows."""

    start: int
    end: int
    name: bytes
    sure: bool


def _alternatives(words: Sequence[str]) -> str:
    return "|".join(word.replace(" ", "[-_ .]?") for word in words)


def _linear(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem, options.log_errors = MEMORY, False
    return re2.compile(f"(?i)(?:{pattern})".encode(), options)


def _begun(words: Sequence[str]) -> str:
    """Words where a word begins, also behind a small letter: `dbPass`."""
    return rf"(?:\b|_|\d)(?:{_alternatives(words)})|(?-i:[a-z](?:{'|'.join(word.title() for word in words)}))"


class NamedValues:
    """Finds values under names of secrets; the words are those of conf/redaction/assay.toml."""

    def __init__(self) -> None:
        names = rule_tables()["assay.toml"]["names"]
        words, passwords, others = (_alternatives(names[each]) for each in ("words", "passwords", "other_keys"))
        ending = rf"(?:[-_.]?(?:{'|'.join(names['endings'])}))?"
        keys, short = _alternatives(names["keys"]), _begun(names["short"])
        weak, services = rf"|{keys}|{_begun(names['short_keys'])}", rf"|(?:\b|_)(?:{_alternatives(names['services'])})"
        forms = rule_tables()["assay.toml"]["forms"]
        following = forms["following"].replace("SCHEME", forms["scheme"]).encode()
        self.heads, self._following = forms["heads"], re.compile(following, re.VERBOSE | re.IGNORECASE)
        kinds = (weak + services, weak, "")
        self.name, self.own_name, strong = (rf"(?:{words}|{passwords}|{short}{more}){ending}" for more in kinds)
        self.passwords, self.tokens = (
            re.compile(rf"{passwords}|{_alternatives(names['short'])}", re.IGNORECASE),
            re.compile(words, re.IGNORECASE),
        )
        self._last_name, self._last_strong_name = (
            re.compile(f"(?:{each})[*`]*\\s*\\Z".encode(), re.IGNORECASE) for each in (self.name, strong)
        )
        self._other_key = re.compile(rf"(?:{others})[-_. ]?(?:{keys})\Z".encode(), re.IGNORECASE)

    @cached_property
    def _heads(self) -> Any:
        """A pattern, in linear time, for names with the beginning of a form behind them; the name is one of its groups."""
        return _linear("|".join(self.heads).replace("NAME", f"({self.own_name})").replace("SERVICE", f"({self.name})"))

    @cached_property
    def _spaced(self) -> Any:
        """A pattern for a name, a blank or an end of line, and a long value."""
        return _linear(rf"{self.own_name}[ \t]*[ \t\r\n][ \t]*([a-z0-9][\w+/=~.-]{{15,200}})")

    def is_name(self, text: str) -> bool:
        """Whether a text ends in the name of a secret."""
        return self._last_strong_name.search(text.encode("utf-8", "replace")) is not None

    def finds(self, data: bytes) -> Iterator[Find]:
        """The values of a text in UTF-8, at their places in bytes."""
        spaced = (Candidate(found.start(1), found.end(1), KEY, False) for found in self._spaced.finditer(data))
        for candidate in chain(self._assigned(data), spaced, self._columns(data) if b"|" in data else ()):
            if _is_secret(data[candidate.start : candidate.end], candidate.name, candidate.sure):
                yield Find(candidate.start, candidate.end, RULE, RANK)

    def _assigned(self, data: bytes) -> Iterator[Candidate]:
        after: int | None = 0
        while after is not None:
            place, after = after, None
            heads = ((*head.span(), *max(map(head.span, (1, 2, 3)))) for head in self._heads.finditer(data, place))
            for (_, edge, start, end), (begin, *after_name) in pairwise(chain(heads, ((0, 0, 0, 0),))):
                is_next = 0 < begin - edge <= GAP and data[after_name[0] - 1] in b":=|"
                if is_next and _kind(data[after_name[1] : after_name[2]]) != "key":
                    continue  # the value begins with the name of another value
                is_other = data[start : start + 3].lower() == KEY and self._other_key.search(data, max(0, start - 16), end)
                following = None if is_other else self._following.match(data, end)
                if following and (candidate := _candidate(data, start, end, following)):
                    yield candidate
                    if candidate.end - candidate.start > SKIPPED:  # no other name is searched for in it
                        after = candidate.end
                        break

    def _columns(self, data: bytes) -> Iterator[Candidate]:
        """The cells below a header that names a secret."""
        header, columns, place = b"", dict[int, bytes](), 0
        for line in data.splitlines(keepends=True):
            if b"|" not in line:
                columns = {}
            elif columns:
                yield from _cells(line, place, columns)
            elif RULER.fullmatch(line.rstrip()):
                columns = {number: title for number, title in enumerate(BAR.split(header)) if self._last_name.search(title)}
            header, place = line, place + len(line)


def _candidate(data: bytes, name_start: int, name_end: int, following: re.Match[bytes]) -> Candidate | None:
    """The value that follows a name; None for an expression of a program, and for forms that do not close."""
    kind = following.lastgroup or ""
    start, end = following.span(kind)
    if end - start < SHORTEST:
        return None
    name, between = data[name_start:name_end], data[name_end:start]
    if kind not in ("line", "bare"):
        is_close = following.group(*LOOSE) == NOTHING and b"\n" not in between
        return Candidate(start, end, KEY if following["call"] is not None else name, is_close)
    form = next(each for each in OPERATORS if following[each] is not None)
    value = _trimmed(data[start:end], kind)
    after = data[start + len(value) : start + len(value) + 20]
    if after[:1] in (b"(", b"[", b"{") or CODE.fullmatch(value) or form in ("argument", "call"):
        return None
    if form == "cell" and not after.lstrip().startswith(b"|"):
        return None
    if form == "flag" and not FLAG.search(data, max(0, name_start - 40), name_start):
        return None
    if form == "assignment":
        line = data.rfind(b"\n", max(0, name_start - LINE_LENGTH), name_start) + 1
        is_first = (line > 0 or name_start <= LINE_LENGTH) and LINE.fullmatch(data, line, name_start) is not None
        is_alone = is_first and b"\n" not in between
        sure = kind == "line" and (is_alone or (b"=" in between and between == between.strip()))
    else:
        sure = form in ("attribute", "flag") or (form in ("element", "pair") and data[end : end + 2] == b"</")
    return Candidate(start, start + len(value), name, sure)


def _trimmed(value: bytes, kind: str) -> bytes:
    """An unquoted value without the punctuation of a sentence, closing brackets, and further assignments."""
    more = MORE.search(value)
    value = (value[: more.start()] if more else value).rstrip(b".,:;" if kind == "bare" else b",;.")
    for opening, closing in (b"()", b"[]", b"{}"):
        while value.endswith(bytes([closing])) and value.count(opening) < value.count(closing):
            value = value[:-1].rstrip(b",;")
    return value


def _cells(line: bytes, place: int, columns: dict[int, bytes]) -> Iterator[Candidate]:
    for number, cell in enumerate(BAR.split(line)):
        if number in columns:
            value = cell.strip().strip(b"`'\"*")
            start = place + cell.find(value) if value else place
            yield Candidate(start, start + len(value), columns[number], len(value.split()) == 1)
        place += len(cell) + 1


@lru_cache(maxsize=8192)
def _is_secret(value: bytes, name: bytes, sure: bool) -> bool:
    return values().is_secret(value.decode("utf-8", "replace"), _kind(name), sure)


@lru_cache(maxsize=1024)
def _kind(name: bytes) -> str:
    finder, text = named_values(), name.decode()
    return "password" if finder.passwords.search(text) else "token" if finder.tokens.search(text) else "key"


@lru_cache(maxsize=1)
def named_values() -> NamedValues:
    """The finder of values under names; the words are read at the first call."""
    return NamedValues()
