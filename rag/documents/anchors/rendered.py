"""Markdown as its reader sees it: without marks and tags, with simple quotes and dashes and single spaces."""

import re
from array import array
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

PLAIN = dict.fromkeys("‘’‚‛′`´", "'") | dict.fromkeys("“”„‟″«»", '"') | dict.fromkeys("‐‑‒–—―−", "-") | {"…": "..."}
TOKEN = re.compile(
    r"""
    (?P<none>
        ^[ \t]*(?:>[ \t]?|\#{1,6}[ \t]+|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,3}[.)][ \t]+)+   # quotes, headings, list items
      | ^[ \t]*(?:/{3,}|:{3,}|`{3,}|~{3,})[^\n]*                                 # fences and directives
      | ^[ \t]*+\|?+[ \t]*+:?+--[-:|\ \t]*+$                                      # rules, and those of tables
      | <!--.{0,1000}?-->                                            # comments
      | \{[ \t]*[\#.:][^{}\n]{0,200}\}                                           # attributes
      | !?\[(?=[^\[\]]{0,500}\][(\[])                                            # links: the part before their words
      | \]\([^()\s]{0,500}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?(?:\s+"[^"\n]{0,200}")?\)  # and behind them
      | \]\[[^\[\]\n]{0,200}\]
      | [\[\]]                                                       # links that are defined elsewhere
      | [*`~]+ | (?<![^\W_])_+ | _+(?![^\W_]) | \\(?=[^\w\s])
      | [\u00ad\u200b-\u200d\u2060\ufeff]
    )
  | (?P<word>[^\W_]++(?:(?:[,.;:]?[ ]|[,.'-])[^\W_]++){,200})
  | (?P<space>[^\S\n]+|\n|<br[ ]?/?>|\|)
  | (?P<tag></?[A-Za-z][^<>\n]{0,300}>)
  | (?P<entity>&\#?\w{1,20};)
  | (?P<other>.)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Rendered:
    """A rendered text: the characters [starts[i], ends[i]) of the source are shown as `text[i]`."""

    text: str
    starts: "array[int]"
    ends: "array[int]"

    def places(self, quote: str, limit: int = 4) -> list[tuple[int, int]]:
        """The first places, [start, end) in the source, of a quote as a reader would copy it."""
        wanted = rendered(quote).text
        starts = occurrences(self.text, wanted, limit) if wanted else []
        return [(self.starts[at], self.ends[at + len(wanted) - 1]) for at in starts]


def occurrences(text: str, quote: str, limit: int) -> list[int]:
    """The first `limit` offsets of `quote` in a text, overlapping ones included."""
    places: list[int] = []
    place = text.find(quote)
    while place >= 0 and len(places) < limit:
        places.append(place)
        place = text.find(quote, place + 1)
    return places


@lru_cache(maxsize=64)
def rendered(text: str) -> Rendered:
    """A text without marks and with single spaces: the same for a source and for what a reader copied from its page."""
    shown: list[str] = []
    starts, ends = array("q"), array("q")
    blank = True
    for token in TOKEN.finditer(text):
        kind, (start, end) = token.lastgroup, token.span()
        if kind in ("none", "tag") or (kind == "space" and blank):
            continue
        blank = kind == "space"
        if kind == "word":
            shown.append(token[0])
            starts.extend(range(start, end))
            ends.extend(range(start + 1, end + 1))
            continue
        text_shown = " " if blank else unescape(token[0]) if kind == "entity" else PLAIN.get(token[0], token[0])
        text_shown = " " if text_shown.isspace() else "".join(PLAIN.get(letter, letter) for letter in text_shown)
        shown.append(text_shown)
        starts.extend([start] * len(text_shown))
        ends.extend([end] * len(text_shown))
    if shown and blank:
        shown.pop()
    return Rendered("".join(shown), starts, ends)
