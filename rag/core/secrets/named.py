"""Secrets by the name before them: assignments, JSON, YAML, flags, headers, XML, cells of tables, sentences."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import re2

from rag.core.secrets.places import Find
from rag.core.secrets.shapes import LINE_LENGTH, rule_tables

RULE, RANK = "secret-by-name", 2
FOLLOWING = re.compile(
    rb"""
    (?:['"`\])*}\\]{0,4}[ \t]{0,20}
        (?:(?P<assignment>:[ \t]?[\w\[\]|. ]{2,30}=|=>|:=|={1,3}|:|\?=|->)
          |(?P<attribute>,?\s{0,20}\\?['"]?value\\?['"]?[ \t]?[=:])
          |(?P<cell>\|)
          |(?P<argument>,)
          |(?P<sentence>(?:(?:for|of|to|on)[ \t][\w .@-]{1,40}?)?(?:[ \t]{0,3}(?:\b(?:is|was)\b(?:[ \t]now)?[ \t]?:?)|:)))
        [*`]{0,2}[ \t]{0,20}(?:\r?\n[ \t]{0,8})?
        SCHEME
      |(?P<element>[^<>\n|=]{0,80}>\s{0,20})
      |(?P<flag>[ \t]+))
    (?:[rbuf@]{0,2}(?:\\"SCHEME(?P<escaped>[^"\\\n]{1,300})\\"
                     |"SCHEME(?P<double>(?:[^"\\\n]|\\.){1,300})"
                     |'SCHEME(?P<single>(?:[^'\\\n]|\\.){1,300})'
                     |`SCHEME(?P<ticks>[^`\n]{1,300})`)
      |(?P<line>[^\s'"`<>|]{3,300})[ \t]*(?:\r?\n|\Z)
      |(?P<bare>[^\s'"`,;&|<>(){}\[\]]{3,300}))
    """.replace(b"SCHEME", rb"(?:(?:bearer|basic|token|digest|apikey)[ \t]+)?"),
    re.VERBOSE | re.IGNORECASE,
)
"""What follows the name of a secret: one of six forms, and a value in quotes, to the end of its line, or to a separator."""

HEADS = (
    r"-[\w.-]{0,30}?NAME[ \t]+[^\s-]",
    r"<[^<>\s]{0,40}?NAME[^<>\n]{0,40}>",
    r"""NAME['"\x60\])*}\\]{0,4}[ \t]{0,20}(?:[:=|,?>-]|(?:for|of|to|on)[ \t]|['",\\\s]{0,20}value\b"""
    r"""|(?:is|was)\b\S{0,9}\s\S{0,60}[\d!@#$%^&*+?~=])""",
)
"""Beginnings of forms: a flag, an element, and all others."""

MEMORY, SKIPPED, GAP, SHORTEST = 64 << 20, 60, 3, 4
"""Bytes for the states of the search; in bytes: values in which no other name is searched for, quotes and spaces between the
name of a value and the next name, values."""

OPERATORS = ("assignment", "attribute", "cell", "argument", "sentence", "element", "flag")
LOOSE, NOTHING = ("argument", "sentence", "cell"), (None, None, None)
"""Forms in which a quoted text need not be the value."""
IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z_]*(?:(?:\.|->|::|[_-])[A-Za-z_]+)*[?!]?")
REFERENCE = re.compile(r"(?:self|this|cls|os|config|settings|env|process|args|opts?|options|req|request|ctx|params?)\.[\w.]+")
PLAIN = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|v?\d+(?:\.\d+)+|\d[\d.,]{0,10}[a-z%]{0,3}|\S+@\S+\.[a-z]+", re.IGNORECASE)
FILE = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.-]{1,60}){1,20}[/\\]?|[\w./-]{1,200}\.(?:pem|key|crt|p12|json|ya?ml|txt|md|py)|\w{2,8}://[^@]*"
)
WORD = re.compile(r"[a-z]+\d*|\d+")
MORE = re.compile(rb"[&;,](?=[\w.-]{1,40}=)")
BAR = re.compile(rb"(?<!\\)\|")
CODE = re.compile(rb"[\w.]+[(\[{].*", re.DOTALL)
RULER = re.compile(rb"[ \t|:-]*-{2,}[ \t|:-]*")
FLAG = re.compile(rb"(?:^|\s)--?[\w.-]{0,30}\Z")
LINE = re.compile(rb"[ \t]*(?:[-*+#>|][ \t]+)*(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?[\w.*'\"-]*(?:[ \t][\w.-]+)?[ \t_.-]*")
SYMBOLS = frozenset("!@#$%^&*+?~=")


class Candidate(NamedTuple):
    """A value at [start, end) of a text in UTF-8, under a name. `sure`: its form shows that a value follows."""

    start: int
    end: int
    name: bytes
    sure: bool


def _alternatives(words: Sequence[str]) -> str:
    return "|".join(word.replace(" ", "[-_ .]?") for word in words)


class NamedValues:
    """Finds values under names of secrets; the words are those of conf/redaction/assay.toml."""

    def __init__(self) -> None:
        tables = rule_tables()["assay.toml"]
        names, self.kept = tables["names"], tables["kept"]
        passwords, short = _alternatives(names["passwords"]), _alternatives(names["short"])
        camel = "|".join(word.title() for word in names["short"])
        short_names = rf"(?:\b|_|\d)(?:{short})|(?-i:[a-z](?:{camel}))"
        ending = rf"(?:[-_.]?(?:{'|'.join(names['endings'])}))?"
        self.name = rf"(?:{_alternatives(names['words'])}|{passwords}|{short_names}){ending}"
        self.passwords = re.compile(rf"{passwords}|{short}", re.IGNORECASE)
        self.descriptions = frozenset(self.kept["descriptions"])

    @cached_property
    def _heads(self) -> Any:
        """A pattern, in linear time, for names with the beginning of a form behind them; the name is one of its groups."""
        options = re2.Options()
        options.max_mem, options.log_errors = MEMORY, False
        heads = "|".join(head.replace("NAME", f"({self.name})") for head in HEADS)
        return re2.compile(f"(?i)(?:{heads})".encode(), options)

    @cached_property
    def _last_name(self) -> re.Pattern[bytes]:
        return re.compile(f"(?:{self.name})[*`]*\\s*\\Z".encode(), re.IGNORECASE)

    @cached_property
    def _placeholders(self) -> Any:
        return re2.compile(self.kept["placeholders"])

    def is_name(self, text: str) -> bool:
        """Whether a text ends in the name of a secret."""
        return self._last_name.search(text.encode("utf-8", "replace")) is not None

    def finds(self, data: bytes) -> Iterator[Find]:
        """The values of a text in UTF-8, at their places in bytes."""
        for candidate in (*self._assigned(data), *(self._columns(data) if b"|" in data else ())):
            if _is_secret(data[candidate.start : candidate.end], candidate.name, candidate.sure):
                yield Find(candidate.start, candidate.end, RULE, RANK)

    def _assigned(self, data: bytes) -> Iterator[Candidate]:
        after: int | None = 0
        while after is not None:
            place, after = after, None
            for head, later in pairwise(chain(self._heads.finditer(data, place), (None,))):
                if later and 0 < later.start() - head.end() <= GAP and data[later.end() - 1] in b":=|":
                    continue  # the value begins with the name of another value
                start, end = head.span(3)
                if start < 0:
                    start, end = max(head.span(1), head.span(2))
                following = FOLLOWING.match(data, end)
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

    def is_secret(self, value: str, is_password: bool, sure: bool) -> bool:
        """Whether a value under a name is a secret, and no placeholder, description, reference, date, number or path."""
        if self.is_kept(value) or any(character.isspace() for character in value):
            return False
        digit, letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
        if is_password and sure:
            return len(value) >= 4 and (
                digit or value.isalpha() or value.replace("-", "").isalpha() or bool(SYMBOLS & {*value})
            )
        if is_password and letter and SYMBOLS & {*value}:
            return len(value) >= 6
        turns = sum(first.islower() and second.isupper() for first, second in pairwise(value))
        mixed = turns >= 3 and len(value) >= 12 and value.isalnum()
        long = sure and len(value) >= 20 and not IDENTIFIER.fullmatch(value)
        return len(value) >= (6 if is_password else 8) and ((digit and letter) or mixed or long)

    def is_kept(self, value: str) -> bool:
        """Whether a value is a placeholder, or describes or refers to a value."""
        if len(value) > 300:
            return False
        if self._placeholders.search(value):
            return True
        if any(pattern.fullmatch(value) for pattern in (REFERENCE, PLAIN, FILE)):
            return not (value.isdigit() and len(value) >= 4) and not _random(value)
        words = WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", value).lower())
        return all(word in self.descriptions or word.rstrip("0123456789") in self.descriptions for word in words)


def _random(value: str) -> bool:
    """Whether a value that looks like a path is rather base64."""
    return len(value) >= 20 and "." not in value and any(map(str.isdigit, value)) and any(map(str.isupper, value))


def _candidate(data: bytes, name_start: int, name_end: int, following: re.Match[bytes]) -> Candidate | None:
    """The value that follows a name; None for an expression of a program, and for forms that do not close."""
    kind = following.lastgroup or ""
    start, end = following.span(kind)
    if end - start < SHORTEST:
        return None
    name, between = data[name_start:name_end], data[name_end:start]
    if kind not in ("line", "bare"):
        is_close = following.group(*LOOSE) == NOTHING and b"\n" not in between
        return Candidate(start, end, name, is_close)
    form = next(each for each in OPERATORS if following[each] is not None)
    value = _trimmed(data[start:end], kind)
    after = data[start + len(value) : start + len(value) + 20]
    if after[:1] in (b"(", b"[", b"{") or CODE.fullmatch(value) or form == "argument":
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
        sure = form in ("attribute", "flag") or (form == "element" and data[end : end + 2] == b"</")
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
    finder = named_values()
    return finder.is_secret(value.decode("utf-8", "replace"), bool(finder.passwords.search(name.decode())), sure)


@lru_cache(maxsize=1)
def named_values() -> NamedValues:
    """The finder of values under names; the words are read at the first call."""
    return NamedValues()
