"""The laws of embedders, for every choice in conf/embedder."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag.config.build import Components
from rag.core.roles import Embedder
from rag.pipeline import unread_text

CONF = Path(__file__).parents[3] / "conf" / "embedder"
CHOICES = sorted(path.stem for path in CONF.glob("*.yaml"))
HEAVY = ("torch", "transformers", "sentence_transformers", "model2vec", "openai", "onnxruntime", "tiktoken")
TEXTS = [
    "How many days of leave do I have?",
    "",
    "leave",
    "Annual leave is 25 days.",
    " \n\t ",
    "𝔘nicode: naïve façade, 漢字, 👩‍👩‍👧, \x00 and \ud800.",
    "leave days " * 5_000,
    "How many days of leave do I have?",
]
TINY = "rag.components.embedders.sentence_transformer.SentenceTransformerEmbedder"
TINY_BPE = {bytes([number]): number for number in range(256)} | {b"le": 256, b"day": 257}


@pytest.fixture
def node(choice: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The choice as its file has it; those that need a hub, a service or a minute get what stands in for that."""
    found: dict[str, Any] = yaml.safe_load((CONF / f"{choice}.yaml").read_text(encoding="utf-8"))
    if choice == "minilm":
        found["runtime"] |= {"threads": 1}  # cannot change a vector; on a busy machine it is much faster
    if choice == "sentence_transformer":
        found |= {"model": str(request.getfixturevalue("tiny_model")), "revision": None}
    if choice == "minilm_windows":  # the tiny model has a smaller window: more windows in less time
        found["embedder"] = {"_target_": TINY, "model": str(request.getfixturevalue("tiny_model"))}
    if choice == "openai":
        found |= {"base_url": request.getfixturevalue("endpoint").url}
        _know_tokenizer(request.getfixturevalue("monkeypatch"))
    if choice == "static":
        found["runtime"] |= {"cache": str(request.getfixturevalue("small_static_cache"))}
    return found


def _know_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    tiny = tiktoken.Encoding("tiny", pat_str=r"\w+|\W", mergeable_ranks=TINY_BPE, special_tokens={})
    monkeypatch.setattr(tiktoken, "encoding_for_model", lambda name: tiny)


@pytest.fixture
def embedder(node: dict[str, Any]) -> Any:
    return Components().role("embedder", node)


def test_there_are_choices() -> None:
    assert {"minilm", "minilm_windows", "sentence_transformer", "openai", "static", "hashing"} <= set(CHOICES)


@pytest.mark.parametrize("choice", CHOICES)
def test_laws_of_vectors(embedder: Embedder) -> None:
    for embed in (embedder.embed_documents, embedder.embed_queries):
        vectors = embed(TEXTS)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(TEXTS), vectors.shape[1])
        assert np.isfinite(vectors).all()
        assert (np.linalg.norm(vectors, axis=1) > 0).all()
        assert np.array_equal(vectors[0], vectors[-1])
        assert not np.array_equal(vectors[0], vectors[3])
        assert np.array_equal(embed(TEXTS), vectors)
        assert np.array_equal(embed(TEXTS[::-1]), vectors[::-1])
        assert np.array_equal(np.concatenate([embed([text]) for text in TEXTS]), vectors)
        assert embed([]).shape[0] == 0


@pytest.mark.parametrize("choice", CHOICES)
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


@pytest.mark.parametrize("choice", CHOICES)
def test_offsets_lie_in_the_text(embedder: Any) -> None:
    for text in TEXTS:
        check_offsets(text, embedder.token_offsets(text))
    spans = embedder.token_offsets("leave days")
    assert "".join("leave days"[start:end] for start, end in spans).replace(" ", "") == "leavedays"
    assert len(embedder.token_offsets("leave days " * 500)) >= 1000


def check_offsets(text: str, spans: list[tuple[int, int]]) -> None:
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(isinstance(number, int) for span in spans for number in span)
    assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(spans))


@pytest.mark.parametrize("choice", ["minilm", "hashing", "openai"])
def test_offsets_of_any_text(embedder: Any) -> None:
    @settings(max_examples=150, deadline=None)
    @example("e\u0301\u0301 ﬁ İ ß ǰ")
    @example("가각힣 \u200d\ufeff\x00")
    @given(st.text(max_size=40))
    def check(text: str) -> None:
        check_offsets(text, embedder.token_offsets(text))

    check()


@pytest.mark.parametrize("choice", CHOICES)
def test_building_loads_no_model(node: dict[str, Any]) -> None:
    program = (
        "import json, sys\nfrom rag.config.build import Components\n"
        "built = Components().role('embedder', json.loads(sys.argv[1]))\n"
        "name = built.fingerprint() if hasattr(built, 'fingerprint') else ''\n"
        "print(json.dumps([name, [module for module in sys.argv[2:] if module in sys.modules]]))"
    )
    ran = subprocess.run([sys.executable, "-c", program, json.dumps(node), *HEAVY], capture_output=True, text=True, check=True)
    name, loaded = json.loads(ran.stdout)
    assert loaded == []
    built = Components().role("embedder", node)
    assert name == (built.fingerprint() if hasattr(built, "fingerprint") else "")
