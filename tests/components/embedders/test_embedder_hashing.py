"""Hashed words, against values computed by hand."""

import math

import numpy as np
import pytest

from rag.components.embedders.hashing import HashingEmbedder, _bucket


def test_counts_grow_with_their_logarithm() -> None:
    once, thrice = HashingEmbedder(ngrams=1).embed_documents(["leave", "Leave LEAVE leave"])
    place, sign = _bucket("leave", 512)
    assert np.flatnonzero(once).tolist() == [place]
    assert once[place] == sign
    assert thrice[place] == pytest.approx(sign * (1 + math.log(3)))


def test_runs_of_words_are_features() -> None:
    forth, back = HashingEmbedder(ngrams=2).embed_documents(["sick leave", "leave sick"])
    alone = HashingEmbedder(ngrams=1).embed_documents(["sick leave", "leave sick"])
    assert np.array_equal(*alone)
    place, sign = _bucket("sick leave", 512)
    assert (forth - alone[0])[place] == sign
    assert not np.array_equal(forth, back)


def test_buckets_are_the_same_in_every_process_and_offsets_are_words() -> None:
    assert [_bucket(word, 512) for word in ("leave", "days", "")] == [(91, -1), (27, 1), (370, 1)]
    assert HashingEmbedder().token_offsets("25 days, naïve_x") == [(0, 2), (3, 7), (9, 16)]


def test_a_text_without_words_has_the_vector_of_the_empty_feature() -> None:
    empty, marks = HashingEmbedder().embed_documents(["", "?!"])
    assert np.array_equal(empty, marks)
    assert np.abs(empty).sum() == 1


def test_words_that_cancel_out_do_not_leave_an_empty_vector() -> None:
    words = [f"w{number}" for number in range(40)]
    plus, minus = (next(word for word in words if _bucket(word, 2) == (0, sign)) for sign in (1, -1))
    (vector,) = HashingEmbedder(dimensions=2, ngrams=1).embed_documents([f"{plus} {minus}"])
    assert np.abs(vector).sum() == 1
