"""The headings of a document and the sections under them.

A document with `#` headings is Markdown: these and underlined ones count. Elsewhere underlined headings, numbered ones
(`1.2 Title`, `3. TITLE`) and lines in capitals count. In doubt a line is no heading: a heading is short, has nothing above and
text below, does not end as a sentence does, and has no columns. Numbered lines right below each other are a list.

Titles are the words of a heading: without Markdown marks, links, tags, comments and attributes such as `{ #anchor }`.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate, chain, pairwise

FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^`\n]*$.*?(?:^[ \t]*\1[^\n]*|\Z)", re.MULTILINE | re.DOTALL)
FRONT = re.compile(r"\A---[ \t]*\n\w[\w-]*:.*?^---[ \t]*$", re.MULTILINE | re.DOTALL)
"""The metadata at the head of a Markdown file."""
COMMENT = re.compile(r"^[ \t]*<!--.*?(?:-->|\Z)", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^title:[ \t]*(?P<quote>[\"']?)(?P<title>\S.{0,199}?)(?P=quote)[ \t]*$", re.MULTILINE)
"""The title of a document in its metadata."""
FIRST = re.compile(r"^ {0,3}#{1,6}[ \t]+(?P<title>\S.{0,199})", re.MULTILINE)
"""A heading that may be the title of a document: 200 characters of it, for a file may be one line of many megabytes."""
LONG = 300
"""The most characters of a title whose markup is left out."""
TAG = (
    r"</?(?:a|abbr|b|big|br|center|code|del|details|div|em|figure|font|h[1-6]|hr|i|iframe|img|input|ins|kbd|label|li|mark|ol|p"
    r"|picture|pre|s|script|small|source|span|strong|style|sub|summary|sup|svg|table|td|th|tr|u|ul|video)\b[^<>]*>"
)
MARKUP = re.compile(
    rf"""
    (?P<ticks>`+)(?P<code>[^`].*?|[^`])(?<!`)(?P=ticks)(?!`)
  | (?P<none><!--.*?--> | {TAG} | \{{(?:[ ]*:?[ ]*[\#.][\w\\] | :[ ] | :?[ ]*[\w-]+=["'])[^{{}}]*\}} | \{{/\*.*?\*/\}}
      | (?<!\w):(?:material|octicons|fontawesome|simple)-[\w-]+:)
  | !\[(?P<picture>[^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)?\)|\[[^\[\]]*\])
  | \[(?P<link>[^\[\]]+)\](?:\([^()]*(?:\([^()]*\)[^()]*)?\)|\[[^\[\]]*\])
  | (?P<stars>\*{{1,3}})(?=\S)(?P<bold>.+?)(?<=\S)(?P=stars)
  | (?<!\w)(?P<lines>_{{1,2}})(?=\S)(?P<slanted>.+?)(?<=\S)(?P=lines)(?!\w)
  | \\(?P<escaped>[!-/:-@\[-`{{-~])
  | (?P<entity>&\#?\w{{1,20}};)
    """,
    re.VERBOSE,
)
CLOSING = re.compile(r" #+\Z")
WORDY = ("link", "bold", "slanted")
"""What has words between its marks."""
MARKED = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.+?)[ \t\r#]*$", re.MULTILINE)
UNDERLINED = re.compile(r"^ {0,3}(?P<title>[^\s>|#+*•-][^\n]{0,98})\n {0,3}(?P<marks>={3,}|-{3,})[ \t\r]*$", re.MULTILINE)
PLAIN = re.compile(r"^ {0,3}(?P<title>\d[^\n]{0,98}|(?=[\w(\"“'‘§])[^a-z\n]{2,99})$", re.MULTILINE)
"""Lines that could be numbered headings or headings in capitals."""
NUMBER = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})*)(?P<dot>[.)]?)[ \t]+(?=\S)")
NEXT = re.compile(r"(?P<gap>(?:[ \t\r]*\n)+)(?P<blanks>[ \t]*)(?P<line>\S[^\n]*)")
BLANK = re.compile(r"\s*+")
RULE = re.compile(r"[-=*_\s]*")
COLUMNS = re.compile(r"\t|\S {2,}\S|\||,\S")
"""What sets the cells of a row apart."""
UNFINISHED = (".", ",", ";")
"""How a sentence or a part of one ends, and a title does not."""
WORDS, LETTERS = 12, 0.4
"""The most words of a numbered heading, and the least share of letters in one of capitals: `HB-112` is a code."""


@dataclass(frozen=True, slots=True)
class Section:
    """What stands in a document from character `start` up to the next heading.

    `path` are the headings above it and its own, outermost first, joined by ` > `; its text begins at character `body`.
    """

    start: int
    body: int
    path: str


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading at [start, end); one of a lower level stands above."""

    start: int
    end: int
    level: int
    title: str


def sections(text: str) -> list[Section]:
    """The sections of a text in reading order, first what stands above any heading; together they hold every character."""
    found = [Section(0, 0, "")]
    path: list[_Heading] = []
    for heading in _headings(text):
        path = [*(above for above in path if above.level < heading.level), heading]
        found.append(Section(heading.start, heading.end, " > ".join(one.title for one in path)))
    return found


def title(text: str) -> str:
    """What a Markdown document calls itself: the title in its metadata, else its first heading; empty if it has neither."""
    front = FRONT.match(text)
    named = NAMED.search(front[0]) if front else None
    candidates = chain([named] if named else [], _outside(FIRST, text, _hidden(text)))
    return next(filter(None, (words(one["title"].rstrip(" \t\r#")) for one in candidates)), "")


def words(title: str) -> str:
    """The words of a heading as a reader of the rendered page sees them; what pictures show where it has no others."""
    if len(title) > LONG:
        return title
    told = CLOSING.sub("", " ".join(_plain_words(title).split()))
    return told or " ".join(found["picture"] for found in MARKUP.finditer(title) if found["picture"])


def _plain_words(title: str) -> str:
    return MARKUP.sub(_word, title)


def _word(found: re.Match[str]) -> str:
    """What a piece of markup shows."""
    inner = next((found[name] for name in WORDY if found[name]), "")
    return _plain_words(inner) or found["code"] or found["escaped"] or unescape(found["entity"] or "")


def above(sections: Sequence[Section], place: int) -> Section:
    """The section that a character is in; one without headings where there is none."""
    number = bisect_right(sections, place, key=lambda section: section.start)
    return sections[number - 1] if number else Section(0, 0, "")


def holds(sections: Sequence[Section], place: int) -> bool:
    """Whether a character stands in the heading of a section."""
    return place < above(sections, place).body


def prevailing(sections: Sequence[Section], start: int, end: int) -> str:
    """The innermost headings that more than half of the characters [start, end) stand under; empty if none."""
    edges = [*(max(one.start, start) for one in sections), end]
    sizes: Counter[str] = Counter()
    for one, (first, last) in zip(sections, pairwise(edges), strict=True):
        sizes.update(dict.fromkeys(accumulate(one.path.split(" > "), "{} > {}".format), last - first))
    return max((path for path, size in sizes.items() if 2 * size > end - start), key=len, default="")


def _headings(text: str) -> list[_Heading]:
    if "\n" not in text and not text.startswith("#"):
        return []  # A passage of one line, of which some corpora have millions.
    code = _hidden(text)
    marked = [_made(match, len(match["marks"])) for match in _outside(MARKED, text, code)]
    lined = [
        _made(match, 1 if match["marks"][0] == "=" else 2)
        for match in _outside(UNDERLINED, text, code)
        if _is_underlined(text, match)
    ]
    plain = [] if marked else _plain(text, _outside(PLAIN, text, [*code, *((one.start, one.end) for one in lined)]))
    return sorted((one for one in (*marked, *lined, *plain) if one.title), key=lambda heading: heading.start)


def _hidden(text: str) -> list[tuple[int, int]]:
    """Where metadata, code and comments stand."""
    return [match.span() for pattern in (FRONT, FENCED, COMMENT) for match in pattern.finditer(text)]


def _outside(pattern: re.Pattern[str], text: str, taken: Iterable[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """Where a pattern fits and nothing is taken."""
    stretches = sorted(taken)
    for match in pattern.finditer(text):
        place = bisect_right(stretches, (match.start(), len(text)))
        if not place or match.start() >= stretches[place - 1][1]:
            yield match


def _made(match: re.Match[str], level: int) -> _Heading:
    return _Heading(match.start(), match.end(), level, words(" ".join(match["title"].split())))


def _is_underlined(text: str, match: re.Match[str]) -> bool:
    title = match["title"].strip()
    # `1. milk` above a short rule is the end of a list.
    drawn = not NUMBER.match(title) or len(match["marks"]) >= len(title)
    return drawn and _is_title(title) and not RULE.fullmatch(title) and bool(RULE.fullmatch(_above(text, match.start())))


def _plain(text: str, candidates: Iterator[re.Match[str]]) -> Iterator[_Heading]:
    """Numbered headings and those in capitals: the title of a document stands above capitals, and these above other numbers."""
    item = last = -1  # where the last item of a list and the last heading end
    for match in candidates:
        title, following = match["title"].strip(), NEXT.match(text, match.end())
        number = NUMBER.match(title)
        named = title[number.end() :] if number else title
        depth = number["number"].count(".") + 1 if number else 1
        if number and (_is_sibling(number, following) or (item >= 0 and BLANK.fullmatch(text, item, match.start()))):
            item = match.end()
            continue
        capitals = _is_capital(named) and not (following and _continues_in_capitals(following))
        if not capitals and not (number and following and _is_numbered(number, named, following)):
            continue
        above = match.start() == last + 1 or RULE.fullmatch(_above(text, match.start()))
        if above and following and _is_title(named):
            first = not number and last < 0 and not text[: match.start()].strip()
            yield _made(match, 1 if first else depth + (1 if capitals else 2))
            last = match.end()


def _is_title(text: str) -> bool:
    return not text.endswith(UNFINISHED) and not COLUMNS.search(text)


def _is_capital(text: str) -> bool:
    """Whether a line is written in capitals, and is more than a code or a number."""
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) > 1 and all(map(str.isupper, letters)) and len(letters) >= LETTERS * len(text.replace(" ", ""))


def _is_numbered(number: re.Match[str], named: str, following: re.Match[str]) -> bool:
    """Whether a numbered line is a title of several letters, and what follows is no continuation of it."""
    told = bool(number["dot"]) or "." in number["number"]
    goes_on = following["gap"].count("\n") == 1 and following["line"][0].islower()
    short = len(named.split()) <= WORDS and not named.endswith((":", "!"))
    return told and named[0].isupper() and len(named) > 1 and short and not goes_on and not following["blanks"]


def _is_sibling(number: re.Match[str], following: re.Match[str] | None) -> bool:
    """Whether the next line has the next number, or the same one, written in the same way."""
    other = NUMBER.match(following["line"]) if following else None
    if other is None or other["dot"] != number["dot"]:
        return False
    (*above, own), (*others, next_) = (list(map(int, one["number"].split("."))) for one in (number, other))
    return above == others and next_ - own in (0, 1)


def _continues_in_capitals(following: re.Match[str]) -> bool:
    """Whether the line right below is in capitals too, as in a paragraph that is, and no numbered heading."""
    return following["gap"].count("\n") == 1 and not NUMBER.match(following["line"]) and _is_capital(following["line"])


def _above(text: str, start: int) -> str:
    """The line above the one that begins at a place."""
    return text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : max(start - 1, 0)]
