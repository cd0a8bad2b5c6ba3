"""Building a component loads no model and imports no heavy library: a plan builds every component of every trial."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.choices import choices, node

HEAVY = ("torch", "transformers", "sentence_transformers", "model2vec", "openai", "onnxruntime", "tiktoken", "faiss")
HEAVY += ("scipy", "sklearn", "ragas")
HASHING = {"_target_": "rag.components.embedders.hashing.HashingEmbedder"}
PROGRAM = """
import json, sys
from rag.config.build import Components
from rag.core.roles import fingerprint
nodes, heavy = json.loads(sys.argv[1])
names = [fingerprint(Components().role(group, node)) for group, node in nodes]
print(json.dumps([names, [module for module in heavy if module in sys.modules]]))
"""


@pytest.mark.parametrize("group", ["embedder", "reranker", "judge"])
def test_building_loads_no_model_and_names_it(group: str, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).touch()
    nodes = {choice: node(group, choice) for choice in choices(group)}
    for name, values in nodes.items():
        values |= {key: HASHING for key, value in values.items() if value == "${embedder}"}
        if name in ("sentence_transformer", "cross_encoder"):
            values |= {"model": str(tmp_path), "revision": None}
        if "form" in values:
            values["base_url"] = "http://127.0.0.1:1"
    argument = json.dumps([[(group, values) for values in nodes.values()], HEAVY])
    ran = subprocess.run([sys.executable, "-c", PROGRAM, argument], capture_output=True, text=True, check=True)
    names, loaded = json.loads(ran.stdout)
    assert loaded == []
    known = {choice for choice, name in zip(nodes, names, strict=True) if name}
    assert known == set(choices(group)) - {"hashing", "minilm_windows", "none", "mmr"}
