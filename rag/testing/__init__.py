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
    check_system,
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
    check.__name__.removeprefix("check_"): check
    for check in (
        *(check_loader, check_parser, check_redactor, check_ingest, check_noise, check_enrich, check_roster, check_chunker),
        *(check_passage, check_embedder, check_index, check_analyser, check_fusion, check_reranker, check_selector),
        *(check_route, check_policy, check_queries, check_memory, check_reuse, check_shape, check_condense, check_prompt),
        *(check_generator, check_guard, check_judge, check_metric, check_system),
    )
} | {"check": check_check}
"""Config group → the check of its choices."""

# Written out, so that type checkers of plug-in packages see the names.
__all__ = ["CHECKS", "check_analyser", "check_check", "check_chunker", "check_embedder", "check_fusion", "check_generator"]
__all__ += ["check_guard", "check_index", "check_ingest", "check_judge", "check_loader", "check_memory", "check_metric"]
__all__ += ["check_noise", "check_parsed", "check_parser", "check_passage", "check_prompt", "check_queries", "check_redactor"]
__all__ += ["check_reranker", "check_selector", "check_structure", "check_system"]
__all__ += ["check_condense", "check_enrich", "check_policy", "check_reuse", "check_roster", "check_route", "check_shape"]
