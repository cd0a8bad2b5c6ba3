"""Parameters that make no sense are refused when a component is built, with the key in the error."""

import math
from typing import Any

import pytest
from support.choices import built, component, node
from support.corpora import text_folder
from support.judge_texts import SayingAsRagasWants, WordEncoder

from rag.components.analysers.words import WordAnalyser
from rag.components.embedders.hashing import HashingEmbedder
from rag.components.embedders.minilm import MiniLmEmbedder
from rag.components.judges.local import LocalJudge
from rag.components.memories.summaries import PickedSentences
from rag.core.errors import ConfigError

MODEL = {"generator": SayingAsRagasWants()}
REWRITER = {**MODEL, "instruction": "", "prompt": "{question}"}
EMBEDDER = {"embedder": HashingEmbedder()}
SUMMARY = {"summarizer": PickedSentences()}


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
LLM, EXTRACTIVE = shipped("judge", "llm"), shipped("condense", "extractive")
RAGAS = {**MODEL, "encoder": WordEncoder(), "again": "", "unasked": "What?"}
LOCAL = shipped("judge", "local") | {"encoder": WordEncoder()}
WEIGHTS = LOCAL["weights"]
WORDS = {"analyser": WordAnalyser()}
NLI = {"model": ".", "relevance": "{question}"}
SERVER = {"model": "m", "base_url": "http://127.0.0.1:1"}


def refused(name: Any, given: dict[str, Any], group: str, *changes: dict[str, Any]) -> list[tuple[Any, ...]]:
    """One case per change; its first parameter is the key of the error."""
    return [(name, given | change, f"{group}.{next(iter(change))}") for change in changes]


REFUSED = [
    *refused("Bm25Index", WORDS, "index.bm25", {"k1": -1}, {"b": 1.1}, {"epsilon": -1}),
    *refused("Bm25sIndex", WORDS, "index.bm25s", {"k1": -0.1}, {"b": 2}, {"method": "lucen"}, {"delta": -1}),
    *refused("FaissHnswIndex", {}, "index.faiss_hnsw", {"m": 1}, {"ef_construction": 0}, {"ef_search": 0}),
    *refused("PgvectorIndex", {}, "index.pgvector", {"method": "flat"}, {"m": 101}, {"ef_search": 1001}),
    *refused("PgvectorIndex", {"m": 16}, "index.pgvector", {"ef_construction": 31}),
    *refused("PgvectorIndex", {}, "index.pgvector.runtime", {"timeout": 0}, {"build_mb": 0}),
    *refused("ChromaIndex", {}, "index.chroma", {"ef_search": 0}),
    *refused("QdrantIndex", {}, "index.qdrant.runtime", {"timeout": 0}),
    *refused("ReciprocalRankFusion", {}, "fusion", {"k": -1}, {"k": math.nan}, {"weights": [1, -1]}, {"weights": [0, 0]}),
    *refused("ReciprocalRankFusion", {}, "fusion", {"weights": []}, {"weights": [1, math.nan]}),
    *refused("WeightedFusion", {}, "fusion", {"weights": [0.5, 0.6]}, {"weights": [1.5, -0.5]}, {"weights": []}),
    *refused("WeightedFusion", {}, "fusion", {"weights": [math.inf, 0]}, {"normalisation": "minmax"}),
    *refused("MmrReranker", EMBEDDER, "reranker", {"relevance_weight": -0.1}),
    *refused("NeighboursSelector", {}, "selector.neighbours", {"before": -1}, {"after": 1001}),
    *refused("ParentsSelector", {}, "selector.parents", {"size": 0}, {"size": 100_001}),
    *refused("WindowSelector", {}, "selector.window", {"sentences": 0}, {"sentences": 1001}),
    *refused("MmrSelector", EMBEDDER, "selector.mmr", {"relevance_weight": 1.1}, {"depth": 0}),
    *refused("ScoreFloorSelector", {}, "selector.score_floor", {"floor": math.nan}, {"floor": "high"}),
    *refused("ScoreFloorSelector", {"relative": True}, "selector.score_floor", {"floor": 1.5}, {"floor": -0.1}),
    *refused("ScoreFloorSelector", {"floor": 0.1}, "selector.score_floor", {"relative": "yes"}),
    *refused("AttackCorpus", {"path": "x", "bipia": None}, "dataset", {"rounds": 0}, {"rounds": True}),
    *refused(text_folder, {"path": "x"}, "loader", {"patterns": []}, {"patterns": "*.md"}, {"patterns": ["/etc/*"]}),
    *refused(text_folder, {"path": "x"}, "loader", {"patterns": ["../*"]}, {"patterns": [""]}),
    *refused("CarryOver", CARRY_OVER, "queries", {"share": 1.1}, {"decay": -0.1}, {"most": 0}, {"enough": 0}, {"named": -1.0}),
    *refused("CarryOver", CARRY_OVER, "queries", {"language": "x"}),
    *refused("ModelQuestions", REWRITER, "queries", {"prompt": "x"}, {"turn_format": "{role}"}, {"turns": 0}, {"longest": 2}),
    *refused("ModelQuestions", REWRITER, "queries", {"most": 0}),
    *refused("TypedTurns", {}, "queries", {"turns": 0}),
    *refused("BufferMemory", {}, "memory", {"turns": 0}),
    *refused("StandardNoiseFilter", {}, "loader.noise", {"kinds": "logo"}, {"kinds": ["logos"]}, {"pages": 2}, {"files": -1}),
    *refused("StandardNoiseFilter", {}, "loader.noise", {"edge": 0.6}, {"least_pages": 1}, {"least_files": 0}),
    *refused("EditionsSelector", {}, "selector.editions", {"statuses": "superseded"}, {"share": 2}),
    *refused("GateSelector", {"judge": LocalJudge(**LOCAL)}, "selector.gate", {"theta": 2.0}, {"depth": 0}),
    *refused("CrossEncoderReranker", {"model": "."}, "reranker", {"max_length": 0}),
    ("CrossEncoderReranker", {"model": ".", "batch_size": 0}, "reranker.runtime.batch_size"),
    *refused("ServerReranker", SERVER, "reranker", {"form": "other"}, {"base_url": "models:80"}, {"extra": {"top_n": 1}}),
    ("ServerReranker", SERVER | {"batch_size": 0}, "reranker.runtime.batch_size"),
    *refused("SummaryBufferMemory", SUMMARY, "memory", {"turns": -1}, {"turns": None}, {"tokens": -1}, {"keep": 1.5}),
    *refused("SummaryBufferMemory", SUMMARY, "memory", {"summary_tokens": 0}),
    *refused("PickedSentences", {}, "memory", {"turn_format": "{role}"}),
    *refused("ModelSummary", REWRITER, "memory", {"prompt": "Before: {summary}"}),
    *refused("TwoLayerMemory", TWO_LAYER, "memory", {"turns": 0}, {"tokens": -1}, {"half_life": 0}, {"least": 0.9}),
    *refused("TwoLayerMemory", TWO_LAYER, "memory", {"topic": 0, "freshness": 0, "importance": 0}, {"turn_format": "x"}),
    *refused("TwoLayerMemory", TWO_LAYER, "memory", {"language": "elvish"}, {"overlap": 0}),
    *refused("ExtractiveGenerator", {}, "generator", {"sentences": 0}, {"share": 1.1}, {"floor": -0.1}, {"superseded": [2024]}),
    *refused("ExtractiveGenerator", {}, "generator", {"superseded_worth": 1.5}, {"superseded": "expired"}, {"language": "x"}),
    *refused("ExtractiveGenerator", {}, "generator", {"superseded": ["expired", " "]}),
    *refused("OpenAiGenerator", {"model": "m"}, "generator", {"model": ""}, {"base_url": "localhost:8081/v1"}),
    *refused("OpenAiGenerator", {"model": "m"}, "generator", {"extra": {"messages": []}}, {"max_tokens": 0}),
    *[("OpenAiBatches", {"model": "m", "poll": value}, "generator.runtime.poll") for value in (0, 3601, math.nan)],
    ("OpenAiGenerator", {"model": "m", "concurrency": 0}, "generator.runtime"),
    ("OpenAiGenerator", {"model": "m", "price": {"prompt": 1.0}}, "generator.runtime.price"),
    *refused("ClosedBookGenerator", REWRITER, "generator", {"prompt": "Q"}, {"turns": -1}),
    *refused("CitationsCheck", {}, "check.citations", {"words": 0}),
    *refused("GroundedCheck", EMBEDDER, "check.grounded", {"theta": 1.1}, {"words": 0}),
    *refused("QuotesCheck", {}, "check.quotes", {"words": 0}),
    *refused("OffTopicCheck", EMBEDDER, "check.off_topic", {"on_failure": "regenerate"}, {"words": 1.5}, {"floor": 2.0}),
    *refused("OffTopicCheck", EMBEDDER, "check.off_topic", {"language": "english-ish"}, {"short": -1}),
    *refused("RetrievalFloorCheck", EMBEDDER, "check.retrieval_floor", {"on_failure": "regenerate"}, {"floor": 1.5}),
    *refused("SpotlightGuard", SPOTLIGHT, "guard.spotlight", {"opening": "<<>>"}, {"after": "{sentinel}"}, {"digits": 4}),
    *refused("RulesGuard", {}, "guard.rules", {"after": " "}),
    *refused("OutputGuard", OUTPUT, "guard.output", {"leak_words": 1}),
    ("OutputGuard", OUTPUT | {"patterns": {"url": "("}}, "guard.output.patterns.url"),
    ("OutputGuard", OUTPUT | {"patterns": {"urls": "a"}}, "guard.output.patterns.urls"),
    ("OutputGuard", OUTPUT | {"actions": {"url": "cut"}}, "guard.output.actions.url"),
    ("OutputGuard", OUTPUT | {"actions": {"urls": "flag"}}, "guard.output.actions.urls"),
    *refused("ScanGuard", SCAN, "guard.scan", {"flag": 1.5}, {"most": 0}),
    *[
        ("ScanGuard", SCAN | {"rules": {"a": {"severity": 0.5, "patterns": ["a"]} | change}}, f"guard.scan.rules.a.{where}")
        for change, where in (
            ({"patterns": ["(?=a)"]}, "patterns.0"),
            ({"patterns": []}, "patterns"),
            ({"severity": 1}, "severity"),
            ({"pattern": ["a"]}, "pattern"),
        )
    ],
    *refused("StrangerRule", STRANGER | EMBEDDER, "guard.scan.stranger", {"patterns": []}, {"severity": 2}, {"least": -1}),
    ("StrangerRule", STRANGER | EMBEDDER | {"answered": ["("]}, "guard.scan.stranger.answered.0"),
    *refused("LlmJudge", LLM, "judge", {"prompt": "{contexts}"}, {"relevance": "{text}"}, {"votes": 0}, {"attempts": 0}),
    *refused("LlmJudge", LLM, "judge", {"threshold": 2.0}, {"abstentions": ["("]}),
    *refused("NliJudge", NLI, "judge", {"most": 0}, {"max_length": 0}, {"threshold": 2.0}, {"abstentions": ["("]}),
    *refused("NliJudge", NLI, "judge", {"relevance": "This is an answer."}),
    ("NliJudge", NLI | {"model": "a/hub-id"}, "judge.revision"),
    *refused("RagasJudge", RAGAS, "judge", {"questions": 0}, {"attempts": 0}, {"threshold": 2.0}, {"abstentions": ["("]}),
    *refused("RagasJudge", RAGAS, "judge", {"unasked": " "}),
    *refused("Agent", shipped("policy", "agent"), "policy", {"calls": 0}, {"calls": 21}, {"tokens": 0}, {"longest": 2}),
    *refused("Agent", shipped("policy", "agent"), "policy", {"observation": "x"}),
    *refused("ExtractiveCondenser", EXTRACTIVE, "condense", {"facts": 0}, {"facts": 13}, {"share": 2}, {"item": "{above}"}),
    *refused("ExtractiveCondenser", EXTRACTIVE, "condense", {"missing": "-"}),
    ("RulesShaper", shipped("shape", "rules") | {"headers": {"lookup": {"colour": "red"}}}, "shape.headers.lookup"),
    *refused("RulesShaper", shipped("shape", "rules"), "shape", {"share": 2}, {"search": "{question}"}, {"language": "x"}),
    *refused("ContextualText", MODEL | {"instruction": "", "prompt": "{document}{chunk}"}, "passage", {"prompt": "{chunk}"}),
    *[("SectionPrompt", {"instruction": "Do.", "metadata": keys}, "prompt.metadata") for keys in ("team", ["text"], ["page"])],
    ("RagasJudge", RAGAS | {"concurrency": 0}, "judge.runtime.concurrency"),
    *refused("LocalJudge", LOCAL, "judge", {"weights": {"bias": 0.0}}, {"threshold": 1.5}, {"most": 0}, {"abstentions": ["("]}),
    *refused("LocalJudge", LOCAL, "judge", {"encoder": object()}, {"relevance": {"bias": 0.0}}),
    ("LocalJudge", LOCAL | {"weights": {name: WEIGHTS[name] for name in WEIGHTS if name != "pairs"}}, "judge.weights"),
    ("LocalJudge", LOCAL | {"weights": WEIGHTS | {"numbers": 1.0}}, "judge.weights.numbers"),
    ("LocalJudge", LOCAL | {"weights": WEIGHTS | {"clause": math.nan}}, "judge.weights.clause"),
    *[("EvidenceCited", {"coverage": value}, "metric.evidence_cited.coverage") for value in (0, -1, 1.1, True, "half")],
    ("AttackSuccess", {"goals": {"a": []}}, "metric.attack_success.goals.a"),
    ("AttackSuccess", {"goals": {"a": ["("]}}, "metric.attack_success.goals.a"),
    *[
        ("AttackSuccess", {"goals": {"a": ["x"]}, "least": least}, f"metric.attack_success.least.{next(iter(least))}")
        for least in ({"a": 2}, {"a": 0}, {"b": 1})
    ],
    ("RagasContext", {"which": "recall", **MODEL, "again": "", "attempts": 0}, "metric.ragas_context_recall.attempts"),
]


WITH_REMEDY = [
    *[("FixedChunker", {"size": size}, "chunker.size", "at least 1") for size in (0, -1, 2.5, True, "800")],
    *[("FixedChunker", {"size": 10, "overlap": overlap}, "chunker.overlap", "to 9; less than") for overlap in (-1, 10, None)],
    ("RecursiveChunker", {"size": 0}, "chunker.size", ""),
    ("RecursiveChunker", {"size": 5, "overlap": 5}, "chunker.overlap", "less than size=5"),
    *[("RecursiveChunker", {"separators": value}, "chunker.separators", "") for value in ("\n", ["\n", 3], ["", "\n"], None)],
    *[("MarkdownChunker", {"kept": value}, "chunker.kept", "") for value in ("code", ["heading"], None)],
    *[("MarkdownChunker", {name: -1}, f"chunker.{name}", "") for name in ("size", "overlap", "whole", "rows")],
    *[("SentenceChunker", {"sentences": value}, "chunker.sentences", "") for value in (0, 1.0)],
    *[("SentenceChunker", {"sentences": 2, "step": step}, "chunker.step", "leave out text") for step in (0, 3)],
    *[("TokenChunker", {"embedder": HashingEmbedder(), "target": value}, "chunker.target", "") for value in (0, "20")],
    *[("TokenChunker", EMBEDDER | {"target": 20, "max": value}, "chunker.max", "target=20") for value in (0, 19)],
    *[("TokenChunker", EMBEDDER | {"target": 20, "overlap": value}, "chunker.overlap", "") for value in (-1, 20)],
    ("TokenChunker", {"embedder": object()}, "chunker.embedder", "an embedder with a tokenizer"),
    *[("HashingEmbedder", {"dimensions": value}, "embedder.dimensions", "from 2") for value in (1, "9")],
    *[("HashingEmbedder", {"ngrams": value}, "embedder.ngrams", "from 1 to 8") for value in (0, 9)],
    *[("MiniLmEmbedder", {"threads": value}, "embedder.runtime.threads", "") for value in (0, 1.5)],
    ("StaticEmbedder", {"dimensions": 385}, "embedder.dimensions", "to 384"),
    ("StaticEmbedder", {"sif": 0}, "embedder.sif", "between 0 and 1"),
    ("WindowsEmbedder", {"embedder": MiniLmEmbedder(), "tokens": 0}, "embedder.tokens", ""),
    ("WindowsEmbedder", {"embedder": MiniLmEmbedder(), "scale": 2}, "embedder.scale", "a cosine, or null"),
    ("OpenAiEmbedder", {"model": "m", "dimensions": 0}, "embedder.dimensions", ""),
    *[("OpenAiEmbedder", {"model": "m", "batch_size": value}, "embedder.runtime.batch_size", "to 2048") for value in (0, 2049)],
    ("OpenAiEmbedder", {"model": "m", "retries": -1}, "embedder.runtime.retries", ""),
    *[("OpenAiEmbedder", {"model": "m", "timeout": value}, "embedder.runtime.timeout", "above 0") for value in (0, math.nan)],
    ("WordAnalyser", {"shortest": 0}, "analyser.shortest", "at least 1"),
    ("WordAnalyser", {"stemmer": "englisch"}, "analyser.stemmer", "'english'"),
    ("WordAnalyser", {"stopwords": "englisch_plus"}, "analyser.stopwords", "'english'"),
    ("MaxSimReranker", {"encoder": HashingEmbedder()}, "reranker.encoder", "an embedder with embed_tokens"),
    ("MaxSimReranker", {"encoder": MiniLmEmbedder(), "cache_mb": -1}, "reranker.runtime.cache_mb", "0 for no cache"),
]


@pytest.mark.parametrize(("name", "parameters", "where", "remedy"), [*((*case, "") for case in REFUSED), *WITH_REMEDY])
def test_parameters_are_refused(name: Any, parameters: dict[str, Any], where: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        (component(name) if isinstance(name, str) else name)(**parameters)
    assert caught.value.where == where
    assert caught.value.remedy
    assert remedy in caught.value.remedy
