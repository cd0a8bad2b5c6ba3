"""Traces as rows of questions, by the tool that exported them."""

from functools import partial

from rag.authoring.exchange.format_table import Format
from rag.plugins.trace_exports.paths import FORMATS_OF_SPANS
from rag.plugins.trace_exports.spans import by_trace

FORMATS = {
    name: Format(holds=frozenset(), columns=paths.columns, rows=partial(by_trace, paths))
    for name, paths in FORMATS_OF_SPANS.items()
}
