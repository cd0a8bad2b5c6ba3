"""An opened pipeline answers without a store."""

from pathlib import Path

from support.small_set import write_golden

from rag.core.types import Query
from rag.execution.store.store import Store
from rag.execution.sweep.open_config import config_of, open_config

OVERRIDES = ("dataset=native", "embedder=hashing", "chunker.size=60", "reranker=mmr", "index=[dense]", "fusion=single")


def test_what_is_asked_leaves_no_trace_in_the_store(here: Path) -> None:
    golden = write_golden(here / "golden")
    config = config_of([*OVERRIDES, f"dataset.path={golden}", f"loader.path={golden / 'documents'}", "store=store"])
    pipeline = open_config(config)
    store = Store("store")
    before = {space: store.keys(space) for space in ("stages", "vectors", "pairs", "replies")}
    assert before["vectors"]
    answer = pipeline.answer(Query("typed", "Which animal may go to Holm for nothing?"))
    assert answer.contexts
    assert {space: store.keys(space) for space in before} == before
