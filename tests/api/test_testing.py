"""The checks for authors of plug-ins: our own choices pass, and each law finds a component that breaks it."""

from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np
import pytest

from rag import testing
from rag.components.analysers.words import WordAnalyser
from rag.components.chunkers.fixed import FixedChunker
from rag.components.embedders.hashing import HashingEmbedder
from rag.components.fusion.rrf import ReciprocalRankFusion
from rag.components.indexes.bm25s import Bm25sIndex
from rag.components.metrics.recall import Recall
from rag.core.assessments import Claim, Verdict
from rag.core.rankings import Rankings
from rag.core.roles import INDEX_PARTS, LOADER_PARTS, ROLES, SEVERAL
from rag.core.systems import SystemPassage, SystemReply
from rag.core.types import Block, Document, Finding, Message, Parsed, Query, Recalled, Reply, Request, Sought, Span


def test_every_role_has_a_check() -> None:
    assert set(testing.CHECKS) == {*ROLES, *LOADER_PARTS, *SEVERAL, *INDEX_PARTS} - {"dataset"}


class Gap(FixedChunker):
    def chunk(self, document: Document) -> list[Span]:
        return super().chunk(document)[1:]


class Batched(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> Any:
        return super().embed_documents(texts) * np.float32(1 + len(texts))


class Deaf(WordAnalyser):
    def terms(self, text: str, known: Container[str] | None = None) -> list[str]:
        return super().terms(text) if known is None else []


class Forgetful(Bm25sIndex):
    def open(self, arrays: Any) -> Any:
        searcher = super().open(arrays)

        class Searcher:
            def search(self, texts: Any, vectors: Any, depth: int, allowed: Any = None) -> Rankings:
                return searcher.search(texts, vectors, depth)

        return Searcher()


class Inventing(ReciprocalRankFusion):
    def fuse(self, rankings: Any, depth: int) -> Rankings:
        fused = super().fuse(rankings, depth)
        return Rankings.pack([[*fused.row(row), (99, -5.0)][:depth] for row in range(len(fused))])


class Halting:
    def answer(self, queries: Sequence[Query]) -> list[SystemReply]:
        return [SystemReply((SystemPassage("x"),), failure="it stopped") for _ in queries]


class Rewriting:
    def rewrite(self, queries: Sequence[Query]) -> list[Sought]:
        return [Sought("other words", ("other words",)) for _ in queries]


class Remembering:
    def recall(self, queries: Sequence[Query]) -> list[Recalled]:
        return [Recalled(query.history[:1], "said before") for query in queries]


class Citing:
    def generate(self, requests: Sequence[Request]) -> list[Reply]:
        return [Reply("So it is [9].", (9,)) for _ in requests]

    def stream(self, request: Request) -> Any:
        yield "So it is [9]."


class Halved(Recall):
    def score(self, judged: Any, cut: Any) -> Any:
        return super().score(judged, cut) * 2


class Outside:
    def inspect(self, requests: Sequence[Request], replies: Sequence[Reply]) -> list[list[Finding]]:
        return [[Finding("me", "found", "flag", 0, 0, len(reply.text) + 1)] for reply in replies]


class Reversing:
    pairwise = False

    def score(self, queries: Any, passages: Any, scores: Any) -> list[list[float]]:
        return [[float(len(queries))] * len(row) for row in passages]


class Same:
    def load(self) -> Any:
        return iter([Document("d", "one"), Document("d", "two")])


class Astray:
    suffixes, in_process = ("txt",), True

    def parse(self, data: bytes, name: str) -> Parsed:
        return Parsed("one", (Block("text", 0, 9),))


class Marking:
    def find(self, text: str) -> list[tuple[int, int, str]]:
        return [(0, 1, "first")] if text else []


class Eager:
    def find(self, documents: Sequence[Document]) -> list[list[tuple[int, int, str]]]:
        return [[(0, 1, "all")] for _ in documents]


class Undecided:
    purpose, keys = "Tests.", ("one",)

    def decide(self, file: Any) -> None:
        return None


class Adding:
    def select(self, rankings: Rankings, corpus: Any) -> Rankings:
        return Rankings.pack([[(0, 9.0)] for _ in range(len(rankings))])


class Filling:
    refusal = ""

    def render(self, material: Any) -> tuple[Message, ...]:
        text = "\n".join([*material.contexts, material.query.text])
        return (Message("user", text.replace("{question}", material.query.text)),)


class Sure:
    threshold = 0.5

    def judge(self, cases: Sequence[Any]) -> list[Verdict]:
        return [Verdict((Claim(0, len(case.text), 1.5),)) for case in cases]

    def relate(self, pairs: Sequence[Any]) -> list[float]:
        return [1.0 for _ in pairs]


class Screening:
    def screen(self, queries: Sequence[Query], contexts: Any) -> list[list[Finding]]:
        return [[Finding("me", "found", "remove")] for _ in queries]


@pytest.mark.parametrize(
    ("check", "component", "sentence"),
    [
        (testing.check_chunker, Gap(), "left out"),
        (testing.check_embedder, Batched(), "what else is in the batch"),
        (testing.check_index, Forgetful(WordAnalyser()), "keeps to what is allowed"),
        (testing.check_analyser, Deaf(), "finds its own text"),
        (testing.check_fusion, Inventing(), "nothing is found"),
        (testing.check_reranker, Reversing(), "a question alone"),
        (testing.check_system, Halting(), "without passages and reply"),
        (testing.check_queries, Rewriting(), "keeps its words"),
        (testing.check_memory, Remembering(), "recalls nothing"),
        (testing.check_generator, Citing(), "citations"),
        (testing.check_metric, Halved(), r"\[0, 1\]"),
        (testing.check_guard, Outside(), "lies in its text"),
        (testing.check_check, Screening(), "flag, quarantine, abstain"),
        (testing.check_loader, Same(), "an id of its own"),
        (testing.check_parser, Astray(), "lies in the text"),
        (testing.check_redactor, Marking(), "nothing is found after"),
        (testing.check_noise, Eager(), "without blocks"),
        (testing.check_ingest, Undecided(), "is decided"),
        (testing.check_selector, Adding(), "nothing is added"),
        (testing.check_prompt, Filling(), "contexts unchanged"),
        (testing.check_judge, Sure(), "claims, or it abstains|lies in its text|lies in \\[0, 1\\]"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) and not callable(value) else None,
)
def test_a_broken_law_is_found(check: Callable[[Any], None], component: Any, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check(component)
