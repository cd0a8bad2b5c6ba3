"""What a document is called in a question: its organisation, or its title."""

import re
from collections import Counter

from rag.authoring.generation.pages import Page
from rag.authoring.generation.wording import Wording, head_title, short_title

TITLE = 22
"""The most words of a title in a question."""
COVER, START, OFTEN = 4000, 20_000, 3
"""An organisation of which a document treats is on its cover of so many characters, named in the first characters and often."""
NO_TITLE = re.compile(r"[?!|<>{}\\=_]|https?:|\.\w{2,4}$|^\W*$|^[\W\d]|\.\.|[.,:;]$")
"""A title that cannot stand in a sentence."""


def organisation(page: Page, wording: Wording) -> str:
    """The organisation that a document names in its beginning and often, empty without one."""
    text = "" if page.document.text.lstrip().startswith("|") else page.document.text
    names = Counter(re.findall(str(wording.texts.get("organisation", "(?!)")), text[:START]))
    found = (name for name in names if text.count(name) >= OFTEN and name.casefold() in text[:COVER].casefold())
    return max(found, key=text.count, default="")


def is_bad_title(title: str, wording: Wording) -> bool:
    """True for a title that cannot stand in a sentence, or that says nothing about its document."""
    return bool(NO_TITLE.search(title) or re.search(str(wording.texts.get("no_title", "(?!)")), title))


def titles(page: Page, wording: Wording) -> list[str]:
    """The names of a document that can stand in a sentence, the shortest first: its organisation, or forms of its title."""
    if name := organisation(page, wording):
        return [name]
    if page.document.text.find(page.title) > COVER:  # A heading further down.
        return []
    forms = (title.strip(" .") for title in (head_title(page.title), short_title(page.title), page.title))
    fitting = (each for each in forms if len(each.split()) <= TITLE and not is_bad_title(each, wording))
    return [each for each in dict.fromkeys(fitting) if any(map(str.isalpha, each))]
