"""Texts as a reader sees them: without Markdown marks and tags, with plain quotes and dashes and single spaces."""

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
      | !?\[(?=[^\[\]]{0,500}\][(\[])                                            # links: what stands before their words
      | \]\([^()\s]{0,500}(?:\([^()\s]{0,500}\)[^()\s]{0,500})?(?:\s+"[^"\n]{0,200}")?\)  # and behind them
      | \]\[[^\[\]\n]{0,200}\]
      | [\[\]]                                                       # links that are defined elsewhere
      | [*`~]+ | (?<![^\W_])_+ | _+(?![^\W_]) | \\(?=[^\w\s])
      | [\u00ad\u200b-\u200d\u2060\ufeff]
    )
  | (?P<word>[^\W_]++(?:(?:[,.;:]?[ ]|[,.'-])[^\W_]++)*+)
  | (?P<space>[^\S\n]+|\n|<br[ ]?/?>|\|)
  | (?P<tag></?[A-Za-z][^<>\n]{0,300}>)
  | (?P<entity>&\#?\w{1,20};)
  | (?P<other>.)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Rendered:
    """A text as a reader sees it: `text[i]` is what the characters [starts[i], ends[i]) of the source show."""

    text: str
    starts: "array[int]"
    ends: "array[int]"

    def places(self, quote: str, limit: int = 4) -> list[tuple[int, int]]:
        """The first places, [start, end) in the source, at which a quote stands as a reader would copy it."""
        wanted = rendered(quote).text
        found: list[tuple[int, int]] = []
        at = self.text.find(wanted) if wanted else -1
        while at >= 0 and len(found) < limit:
            found.append((self.starts[at], self.ends[at + len(wanted) - 1]))
            at = self.text.find(wanted, at + 1)
        return found


@lru_cache(maxsize=64)
def rendered(text: str) -> Rendered:
    """A text without marks, white space in runs of one; what a reader copied and its source give the same."""
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
        said = " " if blank else unescape(token[0]) if kind == "entity" else PLAIN.get(token[0], token[0])
        said = " " if said.isspace() else "".join(PLAIN.get(character, character) for character in said)
        shown.append(said)
        starts.extend([start] * len(said))
        ends.extend([end] * len(said))
    if shown and blank:
        shown.pop()
    return Rendered("".join(shown), starts, ends)
