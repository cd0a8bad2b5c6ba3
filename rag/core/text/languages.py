"""Languages by name, with their Snowball stemmers and stop words."""

from functools import lru_cache
from importlib.metadata import distribution
from runpy import run_path
from typing import TYPE_CHECKING, Any

import Stemmer

from rag.core.checks import check_choice

if TYPE_CHECKING:
    import bm25s  # noqa: F401  # its version is part of the identity of what uses its lists

WITHOUT_STEMMER = ("chinese", "japanese", "korean", "thai", "other")
"""Languages that Snowball has no stemmer for: their words stay as they are. `other` is any further language."""
LISTED = "chinese danish dutch french german italian korean norwegian portuguese russian spanish swedish turkish"
STOP_WORDS = {"english": "EN", "english_plus": "EN_PLUS", **{name: name.upper() for name in LISTED.split()}}
"""Language → the list of the library bm25s; `english_plus` is its longer list of English."""


def check_language(where: str, language: str) -> None:
    """ConfigError for a language that is neither one of Snowball's nor one of WITHOUT_STEMMER."""
    check_choice(where, language, (*Stemmer.algorithms(), *WITHOUT_STEMMER))


def stemmer(language: str) -> Any:
    """A stemmer with `stemWord` and `stemWords`, or None for a language without one; every thread needs its own."""
    return None if language in WITHOUT_STEMMER else Stemmer.Stemmer(language)


@lru_cache(maxsize=32)
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language in lower case; none for a language without a list.

    The module is loaded without its package, whose own import takes as long as an answer.
    """
    lists = run_path(str(distribution("bm25s").locate_file("bm25s/stopwords.py")))
    return frozenset(word.lower() for word in lists.get(f"STOPWORDS_{STOP_WORDS.get(language)}", ()))
