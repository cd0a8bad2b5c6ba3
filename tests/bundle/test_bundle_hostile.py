"""Configs of strangers: nothing of them is built, and what was refused is said."""

from pathlib import Path

import pytest
from support.forged_bundles import Cases, appended, config, forged, node, refusal, written

OPENAI = "rag.components.generators.openai.OpenAiGenerator"
DEEP = "{a: " * 200 + "1" + "}" * 200
LAUGHS = "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b]\n"

TARGETS: Cases = {
    target or "nothing": (node(place, target=target), words)
    for place, target, words in (
        ("generator", "os.system", "outside of rag"),
        ("generator", "subprocess.Popen", "outside of rag"),
        ("generator", "builtins.eval", "outside of rag"),
        ("reranker", "joblib.numpy_pickle.load", "outside of rag"),
        ("reranker", "importlib.util.module_from_spec", "outside of rag"),
        ("reranker", "stranger.module.Class", "outside of rag"),
        ("reranker", "hydra._internal.utils._locate", "outside of rag"),
        ("reranker", "rag.cli.app.main", "no component"),
        ("reranker", "rag.rerankers.none.NoReranker", "older version"),
        ("reranker", "rag.serve.app.create_app", "no component"),
        ("reranker", "rag.bundle.open_bundle.Bundle", "no component"),
        ("reranker", "rag.analysis.gate.candidate.Candidate", "no component"),
        ("reranker", "rag.components.loaders.folder.FolderLoader", "no component"),
        ("reranker", "rag.components.judges.llm.LlmJudge", "no component"),
        ("reranker", "rag.components.selectors.score_floor.ScoreFloorSelector", "no component"),
        ("reranker", "rag.components.rerankers.none.NoReranker.select", "no component"),
        ("reranker", "rag.components.rerankers.mmr.np.load", "no component"),
        ("reranker", "rag.components.rerankers.none.NoReranker.__init__", "no component"),
        ("reranker", "rag.components.rerankers.none.__builtins__", "not a class"),
        ("reranker", "rag.components.rerankers..none.NoReranker", "no class"),
        ("reranker", "rag.components.rerankers.none.NoReranker; import os", "no class"),
        ("reranker", "rag.components.rerankers.nowhere.Class", "no module"),
        ("reranker", "rag.execution.store.store.Store", "no component"),
        ("reranker", "rag.components.embedders.openai.ServiceError", "no component"),
        ("embedder", "rag.components.embedders.openai.ServiceError", "not a class"),
        ("embedder", "rag.components.embedders.hashing.Counter", "not a class"),
        ("embedder", "rag.components.embedders.minilm.verified_weights", "not a class"),
        ("generator", "rag.components.generators.gold.GoldGenerator", "reference answers"),
        ("generator", "", "no class"),
    )
}

CONFIGS: Cases = {
    "target inside a generator": (
        node(
            "generator",
            target="rag.components.generators.closed_book.ClosedBookGenerator",
            generator={"_target_": "os.path.join.x"},
        ),
        "outside of rag",
    ),
    "target inside a rewriter": (
        node("queries", target="rag.components.queries.rewrite.ModelRewrite", generator={"_target_": "rag.cli.app.main"}),
        "no component",
    ),
    "target inside a list": (node("memory", signals=[{"deep": [{"_target_": "os.system.x"}]}]), "outside of rag"),
    "target that is a list": (node("reranker", target=["os", "system"]), "no class"),
    "positional arguments": (node("reranker", _args_=["rm"]), "stands in no bundle"),
    "partial": (node("reranker", _partial_=True), "stands in no bundle"),
    "recursive": (node("reranker", _recursive_=False), "stands in no bundle"),
    "convert": (node("reranker", _convert_="all"), "stands in no bundle"),
    "runtime": (node("embedder", runtime={"cache": "/tmp"}), "stands in no bundle"),
    "deep runtime": (node("prompt", strategies={"x": {"runtime": 1}}), "stands in no bundle"),
    "cache outside": (
        node("embedder", target="rag.components.embedders.static.StaticEmbedder", cache="/etc/cron.d"),
        "matter of the machine",
    ),
    "cache of the hub": (
        node(
            "reranker",
            target="rag.components.rerankers.cross_encoder.CrossEncoderReranker",
            model="a/b",
            revision="1",
            cache="../x",
        ),
        "matter of the machine",
    ),
    "model outside": (
        node(
            "reranker", target="rag.components.rerankers.cross_encoder.CrossEncoderReranker", model="/usr/share", revision="1"
        ),
        "owner/name",
    ),
    "model above": (
        node("reranker", target="rag.components.rerankers.cross_encoder.CrossEncoderReranker", model="a/..", revision="1"),
        "owner/name",
    ),
    "model that is not inside": (
        node("reranker", target="rag.components.rerankers.cross_encoder.CrossEncoderReranker", model="models/reranker"),
        "--model reranker=<folder>",
    ),
    "model that is not listed": (
        node(
            "reranker",
            target="rag.components.rerankers.cross_encoder.CrossEncoderReranker",
            model="nobody/none",
            revision="0" * 40,
        ),
        "lists no model",
    ),
    "key of another service": (
        node("generator", target=OPENAI, model="m", api_key_env="AWS_SECRET_ACCESS_KEY"),
        "AWS_SECRET_ACCESS_KEY",
    ),
    "key to a stranger": (
        node(
            "generator", target=OPENAI, model="m", base_url="https://stranger.example/v1", api_key_env="AWS_SECRET_ACCESS_KEY"
        ),
        "AWS_SECRET_ACCESS_KEY to stranger.example",
    ),
    "questions to a stranger": (
        node("generator", target=OPENAI, model="m", base_url="https://stranger.example/v1", api_key_env=None),
        "questions and passages to stranger.example",
    ),
    "preset without TLS": (
        node("generator", target=OPENAI, model="m", base_url="http://api.groq.com/openai/v1", api_key_env="GROQ_API_KEY"),
        "api.groq.com:80",
    ),
    "preset of another": (
        node("generator", target=OPENAI, model="m", base_url="https://api.groq.com/openai/v1", api_key_env="OPENAI_API_KEY"),
        "OPENAI_API_KEY to api.groq.com",
    ),
    "preset as a user": (
        node("generator", target=OPENAI, model="m", base_url="https://api.groq.com@stranger.example/v1"),
        "no address|is 'https",
    ),
    "address of two readings": (
        node("generator", target=OPENAI, model="m", base_url="https://stranger.example\\@api.groq.com/"),
        "is 'https",
    ),
    "this machine and another name": (
        node("generator", target=OPENAI, model="m", base_url="http://127.0.0.1.stranger.example/v1"),
        "stranger.example",
    ),
    "no port": (node("generator", target=OPENAI, model="m", base_url="http://127.0.0.1:99999/v1"), "is 'http"),
    "secret of this machine": (
        node("generator", target=OPENAI, model="m", base_url="http://127.0.0.1:1/v1", api_key_env="AWS_SECRET_ACCESS_KEY"),
        "AWS_SECRET_ACCESS_KEY to 127.0.0.1",
    ),
    "stranger deep inside": (
        node(
            "memory",
            target="rag.components.memories.summary_buffer.SummaryBufferMemory",
            summarizer={
                "_target_": "rag.components.memories.summaries.ModelSummary",
                "generator": {"_target_": OPENAI, "model": "m", "base_url": "https://stranger.example/v1"},
            },
        ),
        "OPENAI_API_KEY to stranger.example",
    ),
    "embedder of a stranger": (
        node("embedder", target="rag.components.embedders.openai.OpenAiEmbedder", base_url="https://stranger.example/v1"),
        "stranger.example",
    ),
    "variable for the embedder": (
        node("embedder", target="rag.components.embedders.openai.OpenAiEmbedder", api_key_env="AWS_SECRET_ACCESS_KEY"),
        "matter of the machine",
    ),
    "environment": (node("prompt", role="${oc.env:ASSAY_CANARY}"), "interpolation"),
    "environment in a key": (node("prompt", **{"${oc.env:ASSAY_CANARY}": "x"}), "interpolation"),
    "decoded environment": (node("generator", language="${oc.decode:${oc.env:ASSAY_CANARY}}"), "interpolation"),
    "unknown key": (config(lambda known: known.update(callbacks=[])), "callbacks: is no part"),
    "loader": (
        config(lambda known: known.update(loader={"_target_": "rag.components.loaders.folder.FolderLoader"})),
        "no part",
    ),
    "missing key": (config(lambda known: known.pop("fusion")), "fusion: is missing"),
    "two prompts": (written("config.yaml", "prompt: {}\n"), "stands in prompt.yaml too"),
    "no component": (config(lambda known: known.update(reranker=3)), "is no component"),
    "selector of an older bundle": (
        config(lambda known: known.update(selector={"_target_": "rag.components.selectors.none.NoSelector"})),
        "selector: is one component without a name",
    ),
    "index that leads elsewhere": (
        config(lambda known: known["index"].update({"../../etc/passwd": known["index"]["dense"]})),
        "no mapping of names",
    ),
    "index without a file": (config(lambda known: known["index"].update(other=known["index"]["dense"])), "is missing"),
    "file without an index": (config(lambda known: known["index"].pop("dense")), "index of nothing"),
    "no index": (config(lambda known: known.update(index={})), "names no index"),
    "endless depth": (config(lambda known: known.update(depth=10**6)), "10,000"),
    "k beyond depth": (config(lambda known: known.update(k=200)), "more than depth"),
    "k that is true": (config(lambda known: known.update(k=True)), "whole number"),
    "vectors of a terabyte": (node("embedder", dimensions=10**12), "at most 1,000,000"),
    "number without end": (written("config.yaml", "k: " + "9" * 5000), "no plain number"),
    "number to the base of 60": (written("config.yaml", "k: 1" + ":1" * 200_000), "no plain number"),
    "fraction to the base of 60": (written("config.yaml", "k: 1" + ":1" * 2000 + ".5"), "no plain number"),
    "endless pattern": (
        config(
            lambda known: known.update(
                guard={
                    "scan": {
                        "_target_": "rag.components.guards.scan.ScanGuard",
                        "flag": 0.5,
                        "quarantine": 0.9,
                        "disguise": 0.1,
                        "rules": {"x": {"severity": 0.5, "patterns": [r"(a+)+\1$"]}},
                    }
                }
            )
        ),
        "RE2|no pattern",
    ),
    "pattern that grows": (
        config(
            lambda known: known.update(
                guard={
                    "output": {
                        "_target_": "rag.components.guards.output.OutputGuard",
                        "patterns": {"image": "((a{1000}){1000}){1000}"},
                    }
                }
            )
        ),
        "",
    ),
    "pinned beyond": (config(lambda known: known.update(pinned=["../../etc/passwd"])), "there is no document"),
    "parameter of nobody": (node("reranker", command="rm -rf /"), "has no parameter"),
    "role that does not fit": (node("reranker", target="rag.components.rerankers.width.Width"), "rag.components.rerankers"),
    "alias": (written("config.yaml", "k: &a 5\ndepth: *a\n"), "anchor"),
    "billion laughs": (written("config.yaml", LAUGHS), "anchor"),
    "python tag": (written("config.yaml", "k: !!python/object/apply:os.system ['touch canary']\n"), "the tag"),
    "python name": (written("prompt.yaml", "role: !!python/name:os.system\n"), "the tag"),
    "tag of its own": (written("config.yaml", "k: !x 5\n"), "the tag"),
    "directive": (written("config.yaml", "%TAG ! tag:yaml.org,2002:python/\n---\nk: 1\n"), "directive"),
    "two documents": (written("config.yaml", "k: 1\n---\nk: 2\n"), "no plain YAML"),
    "merge": (written("config.yaml", "a: {k: 1}\n<<: {k: 2}\n"), "no text|no plain value"),
    "twice the same key": (appended("config.yaml", "k: 3\n"), "twice"),
    "date": (written("config.yaml", "k: 2020-01-01\n"), "no plain value"),
    "not a number": (appended("prompt.yaml", "x: .nan\n"), "no number to compute with"),
    "deep YAML": (written("config.yaml", DEEP), "nests deeper"),
    "deep list": (written("config.yaml", "[" * 100_000), "nests deeper"),
    "wide YAML": (written("config.yaml", "[" + "1," * 60_000 + "]"), "more than"),
    "large YAML": (written("config.yaml", "#" * (1 << 20)), "at most"),
    "binary YAML": (written("config.yaml", b"\xff\xfe\x00\x01"), "no plain YAML"),
    "control characters": (written("config.yaml", "k: '\x1b[2J'\n"), "no plain YAML"),
}


@pytest.mark.parametrize("name", [*TARGETS, *CONFIGS])
def test_a_hostile_config_is_refused(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ASSAY_CANARY", "the-secret-of-this-machine")
    monkeypatch.chdir(tmp_path)
    change, words = {**TARGETS, **CONFIGS}[name]
    said = str(refusal(forged(base, tmp_path / "b", change)))
    assert any(part in said for part in words.split("|")), said
    assert "the-secret-of-this-machine" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
