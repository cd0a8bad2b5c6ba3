"""The laws of embedders, for every choice in conf/embedder; `rag.testing` has those that hold for any plug-in."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.choices import choices, node

from rag.config.build import Components
from rag.pipeline.search import unread_text
from rag.testing import check_embedder

TEXTS = ["leave", "", " \n\t ", "𝔘nicode: naïve façade, 漢字, 👩‍👩‍👧, \x00 and \ud800.", "leave days " * 1_000]
TINY = "rag.components.embedders.sentence_transformer.SentenceTransformerEmbedder"
TINY_BPE = {bytes([number]): number for number in range(256)} | {b"le": 256, b"day": 257}


@pytest.fixture(params=choices("embedder"))
def embedder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The choice as its file has it; small models and a server of this machine replace what needs a hub or a minute."""
    values = node("embedder", request.param)
    if request.param == "minilm":
        values["runtime"] |= {"threads": 1}  # cannot change a vector; on a busy machine it is much faster
    if request.param == "sentence_transformer":
        values |= {"model": str(request.getfixturevalue("tiny_model")), "revision": None}
    if request.param == "minilm_windows":  # the tiny model has a smaller window: more windows in less time
        values["embedder"] = {"_target_": TINY, "model": str(request.getfixturevalue("tiny_model"))}
    if request.param == "openai":
        values |= {"base_url": request.getfixturevalue("endpoint").url}
        tiny = tiktoken.Encoding("tiny", pat_str=r"\w+|\W", mergeable_ranks=TINY_BPE, special_tokens={})
        monkeypatch.setattr(tiktoken, "encoding_for_model", lambda name: tiny)
    if request.param == "static":
        values["runtime"] |= {"cache": str(request.getfixturevalue("small_static_cache"))}
    return Components().role("embedder", values)


def test_laws(embedder: Any) -> None:
    check_embedder(embedder)


def test_broken_and_long_texts_have_their_own_vectors(embedder: Any) -> None:
    vectors = embedder.embed_queries(TEXTS)
    assert (np.linalg.norm(vectors, axis=1) > 0).all()
    assert np.array_equal(np.concatenate([embedder.embed_queries([text]) for text in TEXTS]), vectors)
    assert not np.array_equal(vectors[0], vectors[3])


def test_a_vector_depends_on_all_tokens_of_the_window_and_on_no_other(embedder: Any) -> None:
    most = embedder.window()
    words = ["leave"] * (most or 600)
    inside, beyond = " ".join([*words[:-1], "days"]), " ".join([*words, "days"])
    whole, changed, longer = embedder.embed_documents([" ".join(words), inside, beyond])
    assert not np.array_equal(whole, changed)
    assert np.array_equal(whole, longer) == (most is not None)
    assert unread_text.unread(embedder, [" ".join(words), inside]) == 0
    lost = 0 if most is None else len("days")
    assert unread_text.unread(embedder, [inside, beyond]) == lost / (len(inside) + len(beyond))


def test_offsets_lie_in_the_text(embedder: Any) -> None:
    spans = embedder.token_offsets("leave days")
    assert "".join("leave days"[start:end] for start, end in spans).replace(" ", "") == "leavedays"
    assert len(embedder.token_offsets("leave days " * 500)) >= 1000

    @settings(max_examples=60, deadline=None)
    @example("e\u0301\u0301 ﬁ İ ß ǰ")
    @example("가각힣 \u200d\ufeff\x00")
    @example(TEXTS[3])
    @given(st.text(max_size=40))
    def check(text: str) -> None:
        spans = embedder.token_offsets(text)
        assert all(0 <= start <= end <= len(text) for start, end in spans)
        assert all(isinstance(number, int) for span in spans for number in span)
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(spans))

    check()
