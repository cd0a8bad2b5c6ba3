"""An embedder whose tokens are words."""

import re

import pytest

from rag.components.embedders.hashing import HashingEmbedder


class WordTokens(HashingEmbedder):
    """Counts every run of letters and digits, and every other visible character, as a token."""

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


@pytest.fixture(scope="session")
def words() -> WordTokens:
    return WordTokens()
