"""The language of a text, by py3langid: naive Bayes over byte n-grams; its model is part of the package."""

from functools import lru_cache
from typing import Any

SAMPLE = 5000
"""Characters from the beginning of a text that are looked at."""
LEAST = 20
"""Letters below which a text has no language."""


@lru_cache(maxsize=1)
def _model() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


def languages() -> frozenset[str]:
    """The codes that `language_of` can return (ISO 639-1, or 639-3 where there is none)."""
    return frozenset(map(str, _model().labels))


def language_of(text: str) -> str:
    """The code of the language of a text; empty for a text with fewer than LEAST letters."""
    sample = text[:SAMPLE]
    return str(_model().classify(sample)[0]) if sum(map(str.isalpha, sample)) >= LEAST else ""
