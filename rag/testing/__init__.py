"""Contract checks for every role, for authors of plug-ins.

`check_chunker(ParagraphChunker())` tests a chunker: it raises AssertionError with the law that the component breaks.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rag.testing.answering import (
    check_check,
    check_generator,
    check_guard,
    check_judge,
    check_memory,
    check_metric,
    check_prompt,
    check_queries,
)
from rag.testing.looking import check_condense, check_enrich, check_policy, check_reuse, check_roster, check_route, check_shape
from rag.testing.reading import check_ingest, check_noise, check_parsed, check_parser, check_redactor
from rag.testing.retrieval import (
    check_analyser,
    check_chunker,
    check_embedder,
    check_fusion,
    check_index,
    check_loader,
    check_passage,
    check_reranker,
    check_selector,
)
from rag.testing.structure import check_structure

CHECKS: Mapping[str, Callable[[Any], None]] = {
    "loader": check_loader,
    "parser": check_parser,
    "redactor": check_redactor,
    "ingest": check_ingest,
    "noise": check_noise,
    "enrich": check_enrich,
    "roster": check_roster,
    "chunker": check_chunker,
    "passage": check_passage,
    "embedder": check_embedder,
    "index": check_index,
    "analyser": check_analyser,
    "fusion": check_fusion,
    "reranker": check_reranker,
    "selector": check_selector,
    "route": check_route,
    "policy": check_policy,
    "queries": check_queries,
    "memory": check_memory,
    "reuse": check_reuse,
    "shape": check_shape,
    "condense": check_condense,
    "prompt": check_prompt,
    "generator": check_generator,
    "check": check_check,
    "guard": check_guard,
    "judge": check_judge,
    "metric": check_metric,
}
"""Config group → the check of its choices."""

# Written out, so that type checkers of plug-in packages see the names.
__all__ = ["CHECKS", "check_analyser", "check_check", "check_chunker", "check_embedder", "check_fusion", "check_generator"]
__all__ += ["check_guard", "check_index", "check_ingest", "check_judge", "check_loader", "check_memory", "check_metric"]
__all__ += ["check_noise", "check_parsed", "check_parser", "check_passage", "check_prompt", "check_queries", "check_redactor"]
__all__ += ["check_reranker", "check_selector", "check_structure"]
__all__ += ["check_condense", "check_enrich", "check_policy", "check_reuse", "check_roster", "check_route", "check_shape"]
