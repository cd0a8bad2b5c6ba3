"""Hostile configs: nothing of them is built, and the error names what was refused. Every shipped choice is trusted."""

from pathlib import Path
from typing import Any

import pytest
from support.forged_bundles import Cases, Change, config, forged, node, refusal, written

from rag.bundle.layout import KEPT
from rag.bundle.trust import ROOMS, SEVERAL, check_config, check_roles
from rag.config import catalog
from rag.config.build import Components
from rag.config.identity import without_runtime
from rag.core.roles import INDEX_PARTS
from rag.execution.sweep.open_config import config_of

OPENAI = "rag.components.generators.openai.OpenAiGenerator"
STRANGER = "https://stranger.example/v1"
SECRET = "AWS_SECRET_ACCESS_KEY"


def openai(**values: Any) -> Change:
    return node("generator", target=OPENAI, model="m", **values)


def cross_encoder(**values: Any) -> Change:
    return node("reranker", target="rag.components.rerankers.cross_encoder.CrossEncoderReranker", **values)


def embedder(name: str, **values: Any) -> Change:
    return node("embedder", target=f"rag.components.embedders.{name}", **values)


def changed(**values: Any) -> Change:
    return config(lambda known: known.update(values))


def guard(name: str, **values: Any) -> Change:
    return changed(guard={"guard": {"_target_": f"rag.components.guards.{name}", **values}})


TARGETS: Cases = {
    target or "nothing": (node(place, target=target), words)
    for place, target, words in (
        ("generator", "os.system", "outside of rag"),
        ("reranker", "rag.serve.app.create_app", "not a component"),
        ("reranker", "rag.components.loaders.folder.FolderLoader", "not a component"),
        ("reranker", "rag.components.rerankers.mmr.np.load", "not a component"),
        ("reranker", "rag.components.rerankers.none.__builtins__", "not a class"),
        ("reranker", "rag.plugins.stores.indexes.qdrant.QdrantIndex", "not a component"),
        ("reranker", "rag.components.rerankers..none.NoReranker", "not the name of a class"),
        ("reranker", "rag.components.rerankers.nowhere.Class", "no module"),
        ("reranker", "rag.components.rerankers.width.Width", "rag.components.rerankers"),
        ("embedder", "rag.components.embedders.openai.ServiceError", "not a class"),
        ("generator", "rag.components.generators.gold.GoldGenerator", "reference answers"),
        ("generator", "", "not the name of a class"),
    )
}

NESTED: Cases = {
    "target inside a generator": (
        node(
            "generator",
            target="rag.components.generators.closed_book.ClosedBookGenerator",
            generator={"_target_": "os.path.join.x"},
        ),
        "outside of rag",
    ),
    "target inside a list": (node("memory", signals=[{"deep": [{"_target_": "os.system.x"}]}]), "outside of rag"),
    "target that is a list": (node("reranker", target=["os", "system"]), "not the name of a class"),
    "partial": (node("reranker", _partial_=True), "not allowed in a bundle"),
    "runtime": (node("embedder", runtime={"cache": "/tmp"}), "not allowed in a bundle"),
    "server deep inside": (
        node(
            "memory",
            target="rag.components.memories.summary_buffer.SummaryBufferMemory",
            summarizer={
                "_target_": "rag.components.memories.summaries.ModelSummary",
                "generator": {"_target_": OPENAI, "model": "m", "base_url": STRANGER},
            },
        ),
        "OPENAI_API_KEY to stranger.example",
    ),
}

PARAMETERS: Cases = {
    "cache outside": (embedder("static.StaticEmbedder", cache="/etc/cron.d"), "set by the machine"),
    "model outside": (cross_encoder(model="/usr/share", revision="1"), "owner/name"),
    "model that is not inside": (cross_encoder(model="models/reranker"), "--model reranker=<folder>"),
    "key of another service": (openai(api_key_env=SECRET), SECRET),
    "questions to a stranger": (openai(base_url=STRANGER, api_key_env=None), "questions and passages to stranger.example"),
    "preset without TLS": (openai(base_url="http://api.groq.com/openai/v1", api_key_env="GROQ_API_KEY"), "api.groq.com:80"),
    "key of another preset": (
        openai(base_url="https://api.groq.com/openai/v1", api_key_env="OPENAI_API_KEY"),
        "OPENAI_API_KEY to api.groq.com",
    ),
    "address of two readings": (openai(base_url="https://stranger.example\\@api.groq.com/"), "is 'https"),
    "loopback as part of a name": (openai(base_url="http://127.0.0.1.stranger.example/v1"), "stranger.example"),
    "secret of this machine": (openai(base_url="http://127.0.0.1:1/v1", api_key_env=SECRET), f"{SECRET} to 127.0.0.1"),
    "variable for the embedder": (embedder("openai.OpenAiEmbedder", api_key_env=SECRET), "set by the machine"),
    "environment": (node("prompt", role="${oc.env:ASSAY_CANARY}"), "interpolation"),
    "environment in a key": (node("prompt", **{"${oc.env:ASSAY_CANARY}": "x"}), "interpolation"),
    "endless pattern": (
        guard(
            "scan.ScanGuard", flag=0.5, quarantine=0.9, disguise=0.1, rules={"x": {"severity": 0.5, "patterns": [r"(a+)+\1$"]}}
        ),
        "RE2|no pattern",
    ),
    "pattern that grows": (
        guard("output.OutputGuard", actions={}, patterns={"image": "((a{1000}){1000}){1000}"}),
        "patterns.image",
    ),
    "vectors of a terabyte": (node("embedder", dimensions=10**12), "at most 1,000,000"),
    "unknown parameter": (node("reranker", command="rm -rf /"), "has no parameter"),
}

CONFIGS: Cases = {
    "unknown key": (changed(callbacks=[]), "callbacks: does not belong"),
    "missing key": (config(lambda known: known.pop("fusion")), "fusion: is missing"),
    "a number as a component": (changed(reranker=3), "is not a component"),
    "index that leads elsewhere": (
        config(lambda known: known["index"].update({"../../etc/passwd": known["index"]["dense"]})),
        "not a mapping of names",
    ),
    "index without a file": (config(lambda known: known["index"].update(other=known["index"]["dense"])), "is missing"),
    "file without an index": (config(lambda known: known["index"].pop("dense")), "index of nothing"),
    "no index": (changed(index={}), "names no index"),
    "endless depth": (changed(depth=10**6), "10,000"),
    "k beyond depth": (changed(k=200), "more than depth"),
    "k that is true": (changed(k=True), "whole number"),
    "pinned path": (changed(pinned=["../../etc/passwd"]), "is outside of the documents"),
    "deep mapping": (changed(prompt={"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]}), "nests deeper"),
    "large": (written("config.json", " " * (2 << 20)), "at most"),
    "YAML": (written("config.json", "k: !!python/object/apply:os.system ['touch canary']\n"), "not valid JSON"),
}
ALL = {**TARGETS, **NESTED, **PARAMETERS, **CONFIGS}


@pytest.mark.parametrize("name", ALL)
def test_a_hostile_config_is_refused(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ASSAY_CANARY", "the-secret-of-this-machine")
    monkeypatch.chdir(tmp_path)
    change, words = ALL[name]
    error = str(refusal(forged(base, tmp_path / "b", change)))
    assert any(part in error for part in words.split("|")), error
    assert "the-secret-of-this-machine" not in error
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def choices(role: str) -> list[str]:
    # A bundle has no reference answers, and litellm is not installed.
    return [name for name in catalog.choices(role) if role != "generator" or name not in ("gold", "auto", "litellm")]


SINGLE = {role: choices(role) for role in ROOMS if role not in (*SEVERAL, *INDEX_PARTS)}
ROUNDS = [
    {role: names[number % len(names)] for role, names in SINGLE.items()} for number in range(max(map(len, SINGLE.values())))
]


@pytest.mark.parametrize("number", range(len(ROUNDS)))
def test_presets_are_trusted(here: Path, number: int) -> None:
    chosen, several = ROUNDS[number], dict[str, str]()
    if not number:
        several = {role: ",".join(name for name in choices(role) if name != "none") for role in SEVERAL}
        adding = ("neighbours", "parents", "window")  # come behind those that order or drop
        several["selector"] = ",".join(sorted(several["selector"].split(","), key=lambda name: name in adding))
        chosen = chosen | {"fusion": "rrf"}
    elif chosen["fusion"] in ("single", "weighted"):  # these fuse a fixed number of indexes
        several["index"] = "dense" if chosen["fusion"] == "single" else "bm25s,dense"
    known = config_of(
        [*(f"{role}={name}" for role, name in chosen.items()), *(f"{role}=[{names}]" for role, names in several.items())]
    )
    config = check_config(without_runtime({key: known.get(key, []) for key in KEPT}), "config", (), ())
    check_roles(config, Components(), "config")
