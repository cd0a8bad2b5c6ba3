"""How much of a text a model reads: measured exactly, expected from a sample, said in a sentence only where some is left."""

import re
from collections.abc import Sequence

import pytest

from rag.components.chunkers.fixed import FixedChunker
from rag.components.passages.plain import PlainText
from rag.core.errors import ConfigError
from rag.core.types import Document
from rag.pipeline.search import unread_text


class Words:
    """Reads `most` words of a text."""

    def __init__(self, most: int | None) -> None:
        self.most = most

    def window(self) -> int | None:
        return self.most

    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\w+", text)]


class Untold(Words):
    def window(self) -> int:
        raise ConfigError("embedder.model", "is not fetched yet", "fetch it")


class Unseen(Words):
    def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
        raise ConfigError("embedder.model", "has no tokenizer.json", "cut by words")


TEXTS = ["one two three", "one two three four", "one", ""]


@pytest.mark.parametrize(
    ("most", "beyond"), [(None, 0), (4, 0), (3, len("four")), (2, len("three") + len("three four")), (0, sum(map(len, TEXTS)))]
)
def test_characters_from_the_first_token_beyond_the_window(most: int | None, beyond: int) -> None:
    assert unread_text.unread(Words(most), TEXTS) == beyond / sum(map(len, TEXTS))


def test_what_is_not_known_is_not_said() -> None:
    assert unread_text.unread(object(), TEXTS) is None
    assert unread_text.unread(Untold(3), TEXTS) is None
    assert unread_text.unread(Unseen(3), TEXTS) is None
    assert unread_text.expected(object(), FixedChunker(100), PlainText(), []) is None
    assert unread_text.expected(Unseen(3), FixedChunker(100), PlainText(), [Document("d", "one")]) is None
    assert unread_text.unread(Words(3), []) == 0


def test_of_a_small_corpus_the_share_is_expected_exactly() -> None:
    document = Document("d", "word " * 200)
    # Chunks of 100 characters are 20 words, of which 15 are read: the rest begins at character 75.
    assert unread_text.expected(Words(15), FixedChunker(100, 0), PlainText(), [document]) == pytest.approx(0.25, abs=0.01)
    assert unread_text.expected(Words(20), FixedChunker(100, 0), PlainText(), [document]) == 0
    assert unread_text.expected(Words(None), FixedChunker(100, 0), PlainText(), [document]) == 0


def test_of_a_large_corpus_a_sample_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unread_text, "SAMPLE", 10_000)
    looked: list[int] = []

    class Noting(Words):
        def token_offsets(self, text: str) -> Sequence[tuple[int, int]]:
            looked.append(len(text))
            return super().token_offsets(text)

    many = [Document(str(number), "word " * 200) for number in range(100)]
    assert unread_text.expected(Noting(15), FixedChunker(100, 0), PlainText(), many) == pytest.approx(0.25, abs=0.01)
    assert 5_000 <= sum(looked) <= 10_000
    looked.clear()
    assert unread_text.expected(
        Noting(15), FixedChunker(100, 0), PlainText(), [Document("d", "word " * 20_000)]
    ) == pytest.approx(0.25, abs=0.01)
    assert 5_000 <= sum(looked) <= 10_000


def test_a_remark_where_some_text_is_not_read_and_nowhere_else() -> None:
    assert unread_text.remark({"a": 0.0, "b": None}, "a") == ""
    assert unread_text.remark({}) == ""
    result = unread_text.remark({"a": 0.2536, "b": 0.0, "c": None, "d": 0.0001}, "d")
    assert result == (
        "In 2 of 4 trials chunks are longer than a model's window: up to 25.4 % of their characters are not read (a), "
        "< 0.1 % in the recommended trial. embedder=minilm_windows reads them, and so do shorter chunks."
    )
    assert "recommended" not in unread_text.remark({"a": 0.2, "c": None}, "c")
