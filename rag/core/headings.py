"""The headings of a document and the sections under them.

A document with `#` headings is Markdown: these and underlined ones count. Elsewhere underlined headings, numbered ones
(`1.2 Title`, `3. TITLE`) and lines in capitals count. In doubt a line is no heading: a heading is short, has nothing above and
text below, does not end like a sentence, and has no columns. Numbered lines directly below each other are a list.

Titles are the words of a heading: without Markdown marks, links, tags, comments and attributes such as `{ #anchor }`.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import accumulate, chain, islice, pairwise

FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^`\n]*$.*?(?:^[ \t]*\1[^\n]*|\Z)", re.MULTILINE | re.DOTALL)
FRONT = re.compile(r"\A---[ \t]*\n\w[\w-]*:.*?^---[ \t]*$", re.MULTILINE | re.DOTALL)
"""The metadata at the top of a Markdown file."""
COMMENT = re.compile(r"^[ \t]*<!--.*?(?:-->|\Z)", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^title:[ \t]*(?P<quote>[\"']?)(?P<title>\S.{0,199}?)(?P=quote)[ \t]*$", re.MULTILINE)
"""The title of a document in its metadata."""
FIRST = re.compile(r"^ {0,3}#{1,6}[ \t]+(?P<title>\S.{0,199})", re.MULTILINE)
"""A heading that may be the title of a document, up to 200 characters: a file may be one line of many megabytes."""
LONG = 300
"""The most characters of a title: a longer one is cut, and its markup stays."""
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
"""Markup with words between its marks."""
MARKED = re.compile(r"^ {0,3}(?P<marks>#{1,6})[ \t]+(?P<title>.+?)[ \t\r#]*$", re.MULTILINE)
UNDERLINED = re.compile(r"^ {0,3}(?P<title>[^\s>|#+*•-][^\n]{0,98})\n {0,3}(?P<marks>={3,}|-{3,})[ \t\r]*$", re.MULTILINE)
PLAIN = re.compile(r"^ {0,3}(?P<title>\d[^\n]{0,98}|(?=[\w(\"“'‘§])[^a-z\n]{2,99})$", re.MULTILINE)
"""Lines that could be numbered headings or headings in capitals."""
NUMBER = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})*)(?P<dot>[.)]?)[ \t]+(?=\S)")
NEXT = re.compile(r"(?P<gap>(?:[ \t\r]*\n)+)(?P<blanks>[ \t]*)(?P<line>\S[^\n]*)")
BLANK = re.compile(r"\s*+")
RULE = re.compile(r"[-=*_\s]*")
COLUMNS = re.compile(r"\t|\S {2,}\S|\||,\S")
"""The separators of the cells of a row."""
UNFINISHED = (".", ",", ";")
"""Ends of sentences and of their parts, but not of titles."""
WORDS, LETTERS = 12, 0.4
"""The most words of a numbered heading, and the least share of letters in a heading in capitals: `HB-112` is a code."""


@dataclass(frozen=True, slots=True)
class Section:
    """The characters of a document from `start` up to the next heading; its text begins at `body`.

    `path` are the headings above it and its own, outermost first, joined by ` > `; `depth` is their number.
    """

    start: int
    body: int
    path: str
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Heading:
    """A heading at [start, end); level 1 is the outermost."""

    start: int
    end: int
    level: int
    title: str


def sections(text: str) -> list[Section]:
    """The sections of a text in reading order, the first above any heading; together they hold every character."""
    parts = [Section(0, 0, "")]
    path: list[_Heading] = []
    for heading in _headings(text):
        path = [*(above for above in path if above.level < heading.level), heading]
        parts.append(Section(heading.start, heading.end, " > ".join(above.title for above in path), len(path)))
    return parts


def title(text: str) -> str:
    """The title of a Markdown document: the one in its metadata, else its first heading; empty if it has neither."""
    front = FRONT.match(text)
    titles = NAMED.finditer(front[0]) if front else iter(())
    candidates = chain(islice(titles, 1), _outside(FIRST, text, _hidden(text)))
    return next(filter(None, (words(match["title"].rstrip(" \t\r#")) for match in candidates)), "")


def words(title: str) -> str:
    """The words of a heading on the rendered page; if it has none, the descriptions of its pictures."""
    if len(title) > LONG:
        return title[:LONG]
    text = CLOSING.sub("", " ".join(_without_markup(title).split()))
    return text or " ".join(match["picture"] for match in MARKUP.finditer(title) if match["picture"])


def _without_markup(title: str) -> str:
    return MARKUP.sub(_shown_words, title)


def _shown_words(markup: re.Match[str]) -> str:
    inner = next((markup[name] for name in WORDY if markup[name]), "")
    return _without_markup(inner) or markup["code"] or markup["escaped"] or unescape(markup["entity"] or "")


def above(sections: Sequence[Section], place: int) -> Section:
    """The section of a character; a section without headings if `sections` is empty."""
    number = bisect_right(sections, place, key=lambda section: section.start)
    return sections[number - 1] if number else Section(0, 0, "")


def holds(sections: Sequence[Section], place: int) -> bool:
    """True if a character is part of a heading."""
    return place < above(sections, place).body


def prevailing(sections: Sequence[Section], start: int, end: int) -> str:
    """The innermost headings over more than half of the characters [start, end); empty if none."""
    edges = [*(max(section.start, start) for section in sections), end]
    sizes: Counter[str] = Counter()
    for section, (first, last) in zip(sections, pairwise(edges), strict=True):
        sizes.update(dict.fromkeys(accumulate(section.path.split(" > "), "{} > {}".format), last - first))
    return max((path for path, size in sizes.items() if 2 * size > end - start), key=len, default="")


def _headings(text: str) -> list[_Heading]:
    if "\n" not in text and not text.startswith("#"):
        return []  # A passage of one line, of which some corpora have millions.
    code = _hidden(text)
    marked = [_heading(match, len(match["marks"])) for match in _outside(MARKED, text, code)]
    lined = [
        _heading(match, 1 if match["marks"][0] == "=" else 2)
        for match in _outside(UNDERLINED, text, code)
        if _is_underlined(text, match)
    ]
    taken = [*code, *((heading.start, heading.end) for heading in lined)]
    numbered = [] if marked else _numbered(text, _outside(PLAIN, text, taken))
    return sorted((heading for heading in (*marked, *lined, *numbered) if heading.title), key=lambda heading: heading.start)


def _hidden(text: str) -> list[tuple[int, int]]:
    """The places of metadata, code and comments."""
    return [match.span() for pattern in (FRONT, FENCED, COMMENT) for match in pattern.finditer(text)]


def _outside(pattern: re.Pattern[str], text: str, taken: Iterable[tuple[int, int]]) -> Iterator[re.Match[str]]:
    """The matches of a pattern that begin outside of all taken places."""
    stretches = sorted(taken)
    for match in pattern.finditer(text):
        place = bisect_right(stretches, (match.start(), len(text)))
        if not place or match.start() >= stretches[place - 1][1]:
            yield match


def _heading(match: re.Match[str], level: int) -> _Heading:
    return _Heading(match.start(), match.end(), level, words(" ".join(match["title"].split())))


def _is_underlined(text: str, match: re.Match[str]) -> bool:
    title = match["title"].strip()
    # `1. milk` above a short rule is the end of a list.
    drawn = not NUMBER.match(title) or len(match["marks"]) >= len(title)
    return drawn and _is_title(title) and not RULE.fullmatch(title) and bool(RULE.fullmatch(_above(text, match.start())))


def _numbered(text: str, candidates: Iterator[re.Match[str]]) -> Iterator[_Heading]:
    """Headings with numbers or in capitals, by level: the title of a document, then capitals, then other numbers."""
    item = last = -1  # the ends of the last list item and of the last heading
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
            yield _heading(match, 1 if first else depth + (1 if capitals else 2))
            last = match.end()


def _is_title(text: str) -> bool:
    return not text.endswith(UNFINISHED) and not COLUMNS.search(text)


def _is_capital(text: str) -> bool:
    """True if a line is written in capitals, and is not just a code or a number."""
    letters = [letter for letter in text if letter.isalpha()]
    return len(letters) > 1 and all(map(str.isupper, letters)) and len(letters) >= LETTERS * len(text.replace(" ", ""))


def _is_numbered(number: re.Match[str], named: str, following: re.Match[str]) -> bool:
    """True if a numbered line is a title of several letters, and the next line does not continue it."""
    dotted = bool(number["dot"]) or "." in number["number"]
    goes_on = following["gap"].count("\n") == 1 and following["line"][0].islower()
    short = len(named.split()) <= WORDS and not named.endswith((":", "!"))
    return dotted and named[0].isupper() and len(named) > 1 and short and not goes_on and not following["blanks"]


def _is_sibling(number: re.Match[str], following: re.Match[str] | None) -> bool:
    """True if the next line has the same or the next number, written in the same way."""
    other = NUMBER.match(following["line"]) if following else None
    if other is None or other["dot"] != number["dot"]:
        return False
    (*above, own), (*others, next_) = (list(map(int, match["number"].split("."))) for match in (number, other))
    return above == others and next_ - own in (0, 1)


def _continues_in_capitals(following: re.Match[str]) -> bool:
    """True if the next line is in capitals too, as in a paragraph in capitals, and not a numbered heading."""
    return following["gap"].count("\n") == 1 and not NUMBER.match(following["line"]) and _is_capital(following["line"])


def _above(text: str, start: int) -> str:
    """The line before the one that begins at `start`."""
    return text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : max(start - 1, 0)]
