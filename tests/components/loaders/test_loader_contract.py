"""The laws of loaders and datasets, for every choice in conf, and that their YAMLs fit together."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from rag.config.build import Components
from rag.config.nested_choices import with_choices
from rag.core.roles import Loader, Questions
from rag.core.types import Span
from rag.evaluation.data import golden
from rag.testing import check_loader

CONF = Path(__file__).parents[3] / "conf"
LOADERS = sorted(path.stem for path in (CONF / "loader").glob("*.yaml"))
DATASETS = sorted(path.stem for path in (CONF / "dataset").glob("*.yaml"))
Collection = Callable[[str], Path]


@pytest.fixture
def composed(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    (tmp_path / "wiring").mkdir()
    (tmp_path / "wiring" / "config.yaml").write_text(
        f"defaults: [_self_, loader: folder, dataset: handbook]\ndata: {tmp_path / 'data'}\n"
    )

    def compose_with(*overrides: str) -> dict[str, Any]:
        with initialize_config_dir(str(tmp_path / "wiring"), version_base=None):
            config = compose("config", overrides=[f"hydra.searchpath=[file://{CONF}]", *overrides])
            plain: Any = OmegaConf.to_container(config, resolve=True)
            return {key: with_choices(value) for key, value in plain.items()}

    return compose_with


def built(config: dict[str, Any]) -> tuple[Any, Any]:
    components = Components()
    return components.role("loader", config["loader"]), components.role("dataset", config["dataset"])


def test_every_format_is_wired() -> None:
    assert {"folder", "beir", "chroma", "squad"} <= set(LOADERS)
    assert {"handbook", "native", "beir", "chroma", "squad"} <= set(DATASETS)


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
    assert config["loader"] == {"_target_": "rag.components.loaders.chroma.ChromaLoader", "path": "/x"}


def test_span_gold_quotes_its_document(collection: Collection, composed: Callable[..., dict[str, Any]]) -> None:
    for name, quotes in {"native": ["25 days"], "chroma": ["Salt is salty."], "squad": ["Ann", "Bob", "Bob B"]}.items():
        loaded = golden.load(*built(composed(f"dataset={name}", f"dataset.path={collection(name)}")))
        texts = {document.doc_id: document.text for document in loaded.documents}
        places = [p for e in loaded.examples for g in e.evidence for p in g.alternatives if isinstance(p, Span)]
        assert [texts[place.doc_id][place.start : place.end] for place in places] == quotes
