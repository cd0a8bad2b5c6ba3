"""Parameters of all components but chunkers and embedders that make no sense are refused when they are built, by their key."""

import math
from typing import Any

import pytest
from support.choices import built, node
from support.corpora import text_folder
from support.judge_texts import SayingAsRagasWants, WordEncoder

from rag.components.analysers.words import WordAnalyser
from rag.components.checks.citations import CitationsCheck
from rag.components.checks.grounded import GroundedCheck
from rag.components.checks.off_topic import OffTopicCheck
from rag.components.checks.quotes import QuotesCheck
from rag.components.checks.retrieval_floor import RetrievalFloorCheck
from rag.components.embedders.hashing import HashingEmbedder
from rag.components.fusion.rrf import ReciprocalRankFusion
from rag.components.fusion.weighted import WeightedFusion
from rag.components.generators.closed_book import ClosedBookGenerator
from rag.components.generators.extractive import ExtractiveGenerator
from rag.components.generators.openai import OpenAiGenerator
from rag.components.guards.off_topic_requests import StrangerRule
from rag.components.guards.output import OutputGuard
from rag.components.guards.rules import RulesGuard
from rag.components.guards.scan import ScanGuard
from rag.components.guards.spotlight import SpotlightGuard
from rag.components.indexes.bm25 import Bm25Index
from rag.components.indexes.bm25s import Bm25sIndex
from rag.components.judges.llm import LlmJudge
from rag.components.judges.local import LocalJudge
from rag.components.judges.nli import NliJudge
from rag.components.memories.buffer import BufferMemory
from rag.components.memories.summaries import ModelSummary, PickedSentences
from rag.components.memories.summary_buffer import SummaryBufferMemory
from rag.components.memories.two_layer import TwoLayerMemory
from rag.components.metrics.attack_success import AttackSuccess
from rag.components.metrics.citation_precision import CitationPrecision
from rag.components.metrics.citation_recall import CitationRecall
from rag.components.metrics.evidence_cited import EvidenceCited
from rag.components.noise.standard import StandardNoiseFilter
from rag.components.queries.carry_over import CarryOver
from rag.components.queries.rewrite import ModelRewrite
from rag.components.queries.several import ModelQuestions
from rag.components.queries.turns import TypedTurns
from rag.components.rerankers.cross_encoder import CrossEncoderReranker
from rag.components.rerankers.mmr import MmrReranker
from rag.components.rerankers.server import ServerReranker
from rag.components.selectors.editions import EditionsSelector
from rag.components.selectors.gate import GateSelector
from rag.components.selectors.mmr import MmrSelector
from rag.components.selectors.neighbours import NeighboursSelector
from rag.components.selectors.parents import ParentsSelector
from rag.components.selectors.score_floor import ScoreFloorSelector
from rag.components.selectors.window import WindowSelector
from rag.core.errors import ConfigError
from rag.plugins.approximate.indexes.faiss_hnsw import FaissHnswIndex
from rag.plugins.attack_sets.loaders.poisoned import AttackCorpus
from rag.plugins.ragas.judges.ragas import RagasJudge
from rag.plugins.ragas.metrics.ragas_context import RagasContext
from rag.plugins.stores.indexes.chroma import ChromaIndex
from rag.plugins.stores.indexes.pgvector import PgvectorIndex
from rag.plugins.stores.indexes.qdrant import QdrantIndex

MODEL = {"generator": SayingAsRagasWants()}
REWRITER = {**MODEL, "instruction": "", "prompt": "{question}"}
EMBEDDER = {"embedder": HashingEmbedder()}


def shipped(group: str, choice: str) -> dict[str, Any]:
    """The parameters of a choice, its components built."""
    return {
        key: built(value, MODEL["generator"])
        for key, value in node(group, choice).items()
        if key not in ("_target_", "runtime")
    }


TWO_LAYER, CARRY_OVER = shipped("memory", "two_layer"), shipped("queries", "carry_over")
OUTPUT, SCAN, SPOTLIGHT = shipped("guard", "output"), shipped("guard", "scan"), shipped("guard", "spotlight")
STRANGER = {key: value for key, value in node("guard", "scan")["stranger"].items() if key not in ("_target_", "embedder")}
LLM = shipped("judge", "llm")
RAGAS = {**MODEL, "encoder": WordEncoder(), "again": "", "unasked": "What?"}
LOCAL = shipped("judge", "local") | {"encoder": WordEncoder()}
WEIGHTS = LOCAL["weights"]
WORDS = {"analyser": WordAnalyser()}
NLI = {"model": ".", "relevance": "{question}"}
SERVER = {"model": "m", "base_url": "http://127.0.0.1:1"}


def refused(component: Any, given: dict[str, Any], group: str, *changes: dict[str, Any]) -> list[tuple[Any, ...]]:
    """One case per change; its first parameter is the key of the error."""
    return [(component, given | change, f"{group}.{next(iter(change))}") for change in changes]


REFUSED = [
    *refused(Bm25Index, WORDS, "index.bm25", {"k1": -1}, {"b": 1.1}, {"epsilon": -1}),
    *refused(Bm25sIndex, WORDS, "index.bm25s", {"k1": -0.1}, {"b": 2}, {"method": "lucen"}, {"delta": -1}),
    *refused(FaissHnswIndex, {}, "index.faiss_hnsw", {"m": 1}, {"ef_construction": 0}, {"ef_search": 0}),
    *refused(PgvectorIndex, {}, "index.pgvector", {"method": "flat"}, {"m": 101}, {"ef_search": 1001}),
    *refused(PgvectorIndex, {"m": 16}, "index.pgvector", {"ef_construction": 31}),
    *refused(PgvectorIndex, {}, "index.pgvector.runtime", {"timeout": 0}, {"build_mb": 0}),
    *refused(ChromaIndex, {}, "index.chroma", {"ef_search": 0}),
    *refused(QdrantIndex, {}, "index.qdrant.runtime", {"timeout": 0}),
    *refused(ReciprocalRankFusion, {}, "fusion", {"k": -1}, {"k": math.nan}, {"weights": [1, -1]}, {"weights": [0, 0]}),
    *refused(ReciprocalRankFusion, {}, "fusion", {"weights": []}, {"weights": [1, math.nan]}),
    *refused(WeightedFusion, {}, "fusion", {"weights": [0.5, 0.6]}, {"weights": [1.5, -0.5]}, {"weights": []}),
    *refused(WeightedFusion, {}, "fusion", {"weights": [math.inf, 0]}, {"normalisation": "minmax"}),
    *refused(MmrReranker, EMBEDDER, "reranker", {"relevance_weight": -0.1}),
    *refused(NeighboursSelector, {}, "selector.neighbours", {"before": -1}, {"after": 1001}),
    *refused(ParentsSelector, {}, "selector.parents", {"size": 0}, {"size": 100_001}),
    *refused(WindowSelector, {}, "selector.window", {"sentences": 0}, {"sentences": 1001}),
    *refused(MmrSelector, EMBEDDER, "selector.mmr", {"relevance_weight": 1.1}, {"depth": 0}),
    *refused(ScoreFloorSelector, {}, "selector.score_floor", {"floor": math.nan}, {"floor": "high"}),
    *refused(ScoreFloorSelector, {"relative": True}, "selector.score_floor", {"floor": 1.5}, {"floor": -0.1}),
    *refused(ScoreFloorSelector, {"floor": 0.1}, "selector.score_floor", {"relative": "yes"}),
    *refused(AttackCorpus, {"path": "x", "bipia": None}, "dataset", {"rounds": 0}, {"rounds": True}),
    *refused(text_folder, {"path": "x"}, "loader", {"patterns": []}, {"patterns": "*.md"}, {"patterns": ["/etc/*"]}),
    *refused(text_folder, {"path": "x"}, "loader", {"patterns": ["../*"]}, {"patterns": [""]}),
    *refused(CarryOver, CARRY_OVER, "queries", {"share": 1.1}, {"decay": -0.1}, {"most": 0}, {"enough": 0}, {"named": -1.0}),
    *refused(CarryOver, CARRY_OVER, "queries", {"language": "x"}),
    *refused(ModelRewrite, REWRITER, "queries", {"prompt": "x"}, {"turn_format": "{role}"}, {"turns": 0}, {"longest": 2}),
    *refused(ModelQuestions, REWRITER, "queries", {"most": 0}),
    *refused(TypedTurns, {}, "queries", {"turns": 0}),
    *refused(BufferMemory, {}, "memory", {"turns": 0}),
    *refused(StandardNoiseFilter, {}, "loader.noise", {"kinds": "logo"}, {"kinds": ["logos"]}, {"pages": 2}, {"files": -1}),
    *refused(StandardNoiseFilter, {}, "loader.noise", {"edge": 0.6}, {"least_pages": 1}, {"least_files": 0}),
    *refused(EditionsSelector, {}, "selector.editions", {"statuses": "superseded"}, {"share": 2}),
    *refused(GateSelector, {"judge": LocalJudge(**LOCAL)}, "selector.gate", {"theta": 2.0}, {"depth": 0}),
    *refused(CrossEncoderReranker, {"model": "."}, "reranker", {"max_length": 0}),
    (CrossEncoderReranker, {"model": ".", "batch_size": 0}, "reranker.runtime.batch_size"),
    *refused(ServerReranker, SERVER, "reranker", {"form": "other"}, {"base_url": "models:80"}, {"extra": {"top_n": 1}}),
    (ServerReranker, SERVER | {"batch_size": 0}, "reranker.runtime.batch_size"),
    *refused(SummaryBufferMemory, {"summarizer": PickedSentences()}, "memory", {"turns": -1}, {"turns": None}, {"tokens": -1}),
    *refused(SummaryBufferMemory, {"summarizer": PickedSentences()}, "memory", {"keep": 1.5}, {"summary_tokens": 0}),
    *refused(PickedSentences, {}, "memory", {"turn_format": "{role}"}),
    *refused(ModelSummary, REWRITER, "memory", {"prompt": "Before: {summary}"}),
    *refused(
        TwoLayerMemory, TWO_LAYER, "memory", {"turns": 0}, {"tokens": -1}, {"half_life": 0}, {"least": 0.9}, {"overlap": 0}
    ),
    *refused(TwoLayerMemory, TWO_LAYER, "memory", {"topic": 0, "freshness": 0, "importance": 0}, {"turn_format": "x"}),
    *refused(TwoLayerMemory, TWO_LAYER, "memory", {"language": "elvish"}),
    *refused(ExtractiveGenerator, {}, "generator", {"sentences": 0}, {"share": 1.1}, {"floor": -0.1}, {"language": "klingon"}),
    *refused(ExtractiveGenerator, {}, "generator", {"superseded_worth": 1.5}, {"superseded": "expired"}),
    *refused(ExtractiveGenerator, {}, "generator", {"superseded": ["expired", " "]}, {"superseded": [2024]}),
    *refused(OpenAiGenerator, {"model": "m"}, "generator", {"model": ""}, {"base_url": "localhost:8081/v1"}, {"max_tokens": 0}),
    *refused(OpenAiGenerator, {"model": "m"}, "generator", {"extra": {"messages": []}}),
    (OpenAiGenerator, {"model": "m", "concurrency": 0}, "generator.runtime"),
    (OpenAiGenerator, {"model": "m", "price": {"prompt": 1.0}}, "generator.runtime.price"),
    *refused(ClosedBookGenerator, REWRITER, "generator", {"prompt": "Q"}, {"turns": -1}),
    *refused(CitationsCheck, {}, "check.citations", {"words": 0}),
    *refused(GroundedCheck, EMBEDDER, "check.grounded", {"theta": 1.1}, {"words": 0}),
    *refused(QuotesCheck, {}, "check.quotes", {"words": 0}),
    *refused(
        OffTopicCheck, EMBEDDER, "check.off_topic", {"on_failure": "regenerate"}, {"words": 1.5}, {"floor": 2.0}, {"short": -1}
    ),
    *refused(OffTopicCheck, EMBEDDER, "check.off_topic", {"language": "english-ish"}),
    *refused(RetrievalFloorCheck, EMBEDDER, "check.retrieval_floor", {"on_failure": "regenerate"}, {"floor": 1.5}),
    *refused(SpotlightGuard, SPOTLIGHT, "guard.spotlight", {"opening": "<<>>"}, {"after": "{sentinel}"}, {"digits": 4}),
    *refused(RulesGuard, {}, "guard.rules", {"after": " "}),
    *refused(OutputGuard, OUTPUT, "guard.output", {"leak_words": 1}),
    (OutputGuard, OUTPUT | {"patterns": {"url": "("}}, "guard.output.patterns.url"),
    (OutputGuard, OUTPUT | {"patterns": {"urls": "a"}}, "guard.output.patterns.urls"),
    (OutputGuard, OUTPUT | {"actions": {"url": "cut"}}, "guard.output.actions.url"),
    (OutputGuard, OUTPUT | {"actions": {"urls": "flag"}}, "guard.output.actions.urls"),
    *refused(ScanGuard, SCAN, "guard.scan", {"flag": 1.5}, {"most": 0}),
    *[
        (ScanGuard, SCAN | {"rules": {"a": {"severity": 0.5, "patterns": ["a"]} | change}}, f"guard.scan.rules.a.{where}")
        for change, where in (
            ({"patterns": ["(?=a)"]}, "patterns.0"),
            ({"patterns": []}, "patterns"),
            ({"severity": 1}, "severity"),
            ({"pattern": ["a"]}, "pattern"),
        )
    ],
    *refused(StrangerRule, STRANGER | EMBEDDER, "guard.scan.stranger", {"patterns": []}, {"severity": 2}, {"least": -1}),
    (StrangerRule, STRANGER | EMBEDDER | {"answered": ["("]}, "guard.scan.stranger.answered.0"),
    *refused(LlmJudge, LLM, "judge", {"prompt": "{contexts}"}, {"relevance": "{text}"}, {"votes": 0}, {"attempts": 0}),
    *refused(LlmJudge, LLM, "judge", {"threshold": 2.0}, {"abstentions": ["("]}),
    *refused(NliJudge, NLI, "judge", {"most": 0}, {"max_length": 0}, {"threshold": 2.0}, {"abstentions": ["("]}),
    *refused(NliJudge, NLI, "judge", {"relevance": "This is an answer."}),
    (NliJudge, NLI | {"model": "a/hub-id"}, "judge.revision"),
    *refused(RagasJudge, RAGAS, "judge", {"questions": 0}, {"attempts": 0}, {"threshold": 2.0}, {"abstentions": ["("]}),
    *refused(RagasJudge, RAGAS, "judge", {"unasked": " "}),
    (RagasJudge, RAGAS | {"concurrency": 0}, "judge.runtime.concurrency"),
    *refused(LocalJudge, LOCAL, "judge", {"weights": {"bias": 0.0}}, {"threshold": 1.5}, {"most": 0}, {"abstentions": ["("]}),
    *refused(LocalJudge, LOCAL, "judge", {"encoder": object()}, {"relevance": {"bias": 0.0}}),
    (LocalJudge, LOCAL | {"weights": {name: WEIGHTS[name] for name in WEIGHTS if name != "pairs"}}, "judge.weights"),
    (LocalJudge, LOCAL | {"weights": WEIGHTS | {"numbers": 1.0}}, "judge.weights.numbers"),
    (LocalJudge, LOCAL | {"weights": WEIGHTS | {"clause": math.nan}}, "judge.weights.clause"),
    *[
        (metric, {"coverage": coverage}, f"metric.{name}.coverage")
        for metric, name in (
            (CitationPrecision, "citation_precision"),
            (CitationRecall, "citation_recall"),
            (EvidenceCited, "evidence_cited"),
        )
        for coverage in (0, -1, 1.1, True, "half")
    ],
    (AttackSuccess, {"goals": {"a": []}}, "metric.attack_success.goals.a"),
    (AttackSuccess, {"goals": {"a": ["("]}}, "metric.attack_success.goals.a"),
    *[
        (AttackSuccess, {"goals": {"a": ["x"]}, "least": least}, f"metric.attack_success.least.{next(iter(least))}")
        for least in ({"a": 2}, {"a": 0}, {"b": 1})
    ],
    (RagasContext, {"which": "recall", **MODEL, "again": "", "attempts": 0}, "metric.ragas_context_recall.attempts"),
]


@pytest.mark.parametrize(("component", "parameters", "where"), REFUSED)
def test_parameters_are_refused(component: type, parameters: dict[str, Any], where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        component(**parameters)
    assert caught.value.where == where
    assert caught.value.remedy
