"""Web pages → Markdown: the article, without menus and other boilerplate (trafilatura)."""

import re
from copy import deepcopy
from typing import Any, ClassVar

from rag.components.parsers.encodings import decoded
from rag.components.parsers.html_blocks import HtmlBlocks, shown_text, tree_of
from rag.components.parsers.refusals import refusal
from rag.core.types import Parsed, Value
from rag.documents.pages.markdown_text import one_line

CHARSET = re.compile(rb"""<(?:meta[^>]{1,200}?charset|\?xml[^>]{1,100}?encoding)\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
SITE = "//nav | //aside | //form | //iframe | //script[@src] | //*[@role='navigation'] | //link[@rel='canonical']"
SITE += " | //meta[starts-with(@property, 'og:')]"
"""Elements of web sites; a page without them is a document that some program wrote."""
NAMED, BETWEEN = "//head/title/text() | //meta[@property='og:title']/@content", re.compile(r"\s(?:[|–—·-]|::)\s")
"""The titles that a page gives itself, and what stands between them and the name of the site."""
FIRST = 5
"""Headings of an article among which its title may be."""
MARKS, OWN = ("#", "¶", "§", "🔗", ""), "//a[starts-with(@href, '#')]"
"""The texts of links from a heading to itself, and links into the page."""
FRAME, TITLES = "//nav | //aside | //form | //header | //footer", "//h1 | //h2 | //h3"
MORE = 1.02
"""How much longer the paragraphs of an article may be when it is read again."""
LARGEST = 30_000
"""The most elements of a page in which the article is found: trafilatura takes 17 seconds for 100,000 paragraphs."""
LEAST = 200
"""The fewest characters of an article: from a page with less, all text is taken."""


class HtmlParser:
    """HTML pages. Headings, lists, tables and code become Markdown, links and emphasis their words, pictures their `alt` texts.

    With `article` the boilerplate of web sites is dropped, and a note says how much is kept. A page without any element of web
    sites is kept whole. The title stands first, as heading; title, author and date are metadata.
    """

    suffixes: ClassVar[tuple[str, ...]] = ("html", "htm")
    in_process: ClassVar[bool] = False

    def __init__(self, article: bool) -> None:
        self.article = article

    def parse(self, data: bytes, name: str) -> Parsed:
        """The page; DataError for a binary file. Nothing that it links to is fetched."""
        declared = CHARSET.search(data[:4096])
        text, note = decoded(data, name, "HTML", declared[1].decode("ascii") if declared else "")
        with refusal(name, "HTML"):
            return self._parsed(text, note)

    def _parsed(self, text: str, note: str) -> Parsed:
        tree = tree_of(text)
        for link in tree.xpath(OWN):
            if not len(link) and shown_text(link).strip() in MARKS:
                link.drop_tree()
        body = tree.find("body")
        whole = one_line(shown_text(body)) if body is not None else ""
        found, metadata = _article(tree) if self.article and _is_site(tree) else (None, _stated(tree))
        kept = one_line(shown_text(found)) if found is not None else whole
        if len(kept) < min(LEAST, len(whole)):
            found, kept = None, whole
        blocks = HtmlBlocks(str(metadata.get("title") or ""))
        blocks.read(found if found is not None else body if body is not None else tree)
        notes = [note] if note else []
        if found is not None:
            notes.append(f"kept {len(kept):,} of {len(whole):,} characters; the others are taken for boilerplate")
        return blocks.text.parsed(metadata, notes=notes)


def _is_site(tree: Any) -> bool:
    """True for a page of a web site, unless it is too large to look for its article."""
    return bool(tree.xpath(SITE)) and tree.xpath("count(//*)") <= LARGEST


def _article(tree: Any) -> tuple[Any | None, dict[str, Value | None]]:
    """The body of the article, or None, and the metadata.

    Without a container of the article trafilatura takes paragraphs only. So the page without its frame is made one, and read
    again: the result counts if it is the same article, with headings and lists.
    """
    from trafilatura import bare_extraction

    page: Any = bare_extraction(tree, fast=True, include_comments=False, include_formatting=True, with_metadata=True)
    if page is None:
        return None, _stated(tree)
    found = page.body
    if len(tree.xpath(TITLES)) > 1 and found.find(".//head") is None:
        frame = deepcopy(tree)
        for node in frame.xpath(FRAME):
            node.drop_tree()
        next(frame.iter("body"), frame).tag = "article"
        again: Any = bare_extraction(frame, fast=True, include_comments=False, include_formatting=True)
        if again is not None and _prose(again.body) <= MORE * _prose(found):
            found = again.body
    named = " | ".join(map(one_line, tree.xpath(NAMED))).casefold()
    heads = [head for head in (one_line(shown_text(node)) for node in found.iter("head")) if head]
    own = (head for part in BETWEEN.split(named) for head in heads[:FIRST] if head.casefold() == part)
    title = next(own, page.title or "")
    if heads and named and title.casefold() not in named:
        title = heads[0]  # The heading of a menu looked like the title.
    return found, {"title": title, "author": page.author, "date": page.date}


def _prose(body: Any) -> int:
    return sum(len(shown_text(node)) for node in body.iter("p"))


def _stated(tree: Any) -> dict[str, Value | None]:
    """The metadata in the head of a page; a missing one is empty."""
    named = "//meta[translate(@name, 'ADEHORTU', 'adehortu') = '{}']/@content"
    paths = {"title": "//head/title", "author": named.format("author"), "date": named.format("date")}
    return {name: one_line(tree.xpath(f"string({path})")) for name, path in paths.items()}
