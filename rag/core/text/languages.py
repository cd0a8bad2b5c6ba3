"""Languages by name, with their Snowball stemmers and stop words."""

from functools import lru_cache
from typing import Any

import Stemmer

from rag.core.checks import check_choice

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
    """The stop words of a language in lower case; none for a language without a list."""
    from bm25s import stopwords

    return frozenset(word.lower() for word in getattr(stopwords, f"STOPWORDS_{STOP_WORDS.get(language)}", ()))
