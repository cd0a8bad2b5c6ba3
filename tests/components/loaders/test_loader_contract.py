"""The laws of loaders and datasets, for every choice in conf, and that their YAMLs fit together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag.config.build import Components
from rag.config.catalog import choices
from rag.config.compose import compose, resolve
from rag.core.roles import Loader, Questions
from rag.core.types import Span
from rag.evaluation.data import golden
from rag.testing import check_loader

LOADERS, DATASETS = choices("loader"), choices("dataset")
Collection = Callable[[str], Path]


@pytest.fixture
def composed(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    return lambda *overrides: resolve(compose([f"data={tmp_path / 'data'}", *overrides]))


def built(config: dict[str, Any]) -> tuple[Any, Any]:
    components = Components()
    return components.role("loader", config["loader"]), components.role("dataset", config["dataset"])


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_brings_a_loader_that_fits(
    name: str, collection: Collection, composed: Callable[..., dict[str, Any]]
) -> None:
    loader, questions = built(composed(f"dataset={name}", f"dataset.path={collection(name)}"))
    assert isinstance(loader, Loader)
    assert isinstance(questions, Questions)
    check_loader(loader)
    loaded, again = golden.load(loader, questions), golden.load(loader, questions)
    assert (loaded.documents, loaded.examples) == (again.documents, again.examples)
    assert loaded.examples
    for example in loaded.examples:
        assert example.cluster
        for group in example.evidence:
            assert group.grade >= 1
            assert group.alternatives


@pytest.mark.parametrize("name", DATASETS)
def test_building_reads_no_file(name: str, composed: Callable[..., dict[str, Any]]) -> None:
    built(composed(f"dataset={name}", "dataset.path=/nowhere"))


def test_a_loader_can_be_chosen_against_the_dataset(composed: Callable[..., dict[str, Any]]) -> None:
    config = composed("dataset=native", "loader=chroma", "dataset.path=/x")
    assert config["loader"] == {"_target_": "rag.plugins.public_sets.loaders.chroma.ChromaLoader", "path": "/x"}


def test_span_gold_quotes_its_document(collection: Collection, composed: Callable[..., dict[str, Any]]) -> None:
    for name, quotes in {"native": ["25 days"], "chroma": ["Salt is salty."], "squad": ["Ann", "Bob", "Bob B"]}.items():
        loaded = golden.load(*built(composed(f"dataset={name}", f"dataset.path={collection(name)}")))
        texts = {document.doc_id: document.text for document in loaded.documents}
        places = [p for e in loaded.examples for g in e.evidence for p in g.alternatives if isinstance(p, Span)]
        assert [texts[place.doc_id][place.start : place.end] for place in places] == quotes
