"""Open a pipeline from overrides, a trial or a bundle, and ask it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rag.api.tables import Table
from rag.bundle import open_bundle as opened
from rag.core.checks import check_choice
from rag.core.types import Answer, Query, Turn
from rag.execution.sweep import open_config
from rag.pipeline.pipeline import Pipeline, Trace
from rag.pipeline.search.metadata_filter import Condition
from rag.pipeline.search.search_filter import Scope, narrowed
from rag.pipeline.shapes import json_shapes
from rag.pipeline.shapes.answer_json import found_passages
from rag.pipeline.shapes.passage_fates import traced_answer

Turns = Sequence[tuple[str, str]]
"""Earlier turns of a conversation: pairs of question and answer."""


@dataclass(frozen=True)
class PipelineAnswer:
    """An answer with the passages it was made from."""

    pipeline: Pipeline = field(repr=False)
    trace: Trace = field(repr=False)
    answer: Answer = field(repr=False)

    @property
    def text(self) -> str:
        """The reply of the generator after checks."""
        return self.answer.reply.text

    @property
    def abstained(self) -> bool:
        """Whether the answer declines the question."""
        return self.answer.abstained

    @cached_property
    def passages(self) -> Table:
        """One row per passage that was read: number in the answer, chunk, document, offsets, section, text, score."""
        return Table.of(self.to_json()["contexts"])

    def to_json(self) -> json_shapes.PipelineAnswer:
        """What `rag ask --json` prints."""
        return traced_answer(self.pipeline, self.trace, self.answer)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class OpenPipeline:
    """A pipeline that answers questions; `name` says where it came from."""

    name: str
    pipeline: Pipeline = field(repr=False)

    def within(self, metadata: Mapping[str, Condition]) -> "OpenPipeline":
        """This pipeline, searching only documents with these metadata or fields of records.

        A condition is a value, a list of values, or {"from": …, "to": …}.

        UserError for a key that no document has, and for a range that cannot be compared with its values.
        """
        return OpenPipeline(self.name, narrowed(self.pipeline, Scope(metadata=metadata)))

    def records(self, table: str = "documents") -> Table:
        """The records of a table: document, offsets and values; UserError for a table that is not there."""
        known = {each.name: each for each in self.pipeline.records.tables}
        check_choice("records", table, known)
        columns = ("doc_id", "start", "end", *(field.name for field in known[table].fields))
        return Table(columns, tuple((each.doc_id, each.start, each.end, *each.values) for each in known[table].records))

    def ask(self, question: str, history: Turns = ()) -> PipelineAnswer:
        """Answer a question; UserError for an empty one."""
        query = _query(question, history)
        trace = self.pipeline.trace_to_answer(query)
        return PipelineAnswer(self.pipeline, trace, self.pipeline.answer_from(query, trace))

    def search(self, question: str, history: Turns = ()) -> Table:
        """Find passages: one row each, with chunk, document, offsets, section, text, score, and its rank after each step."""
        trace = self.pipeline.trace(_query(question, history))
        return Table.of(found_passages(self.pipeline.corpus, trace, self.pipeline.k))


def open_pipeline(*overrides: str) -> OpenPipeline:
    """Open the pipeline of some overrides, or of a trial: its id, the beginning of one, or `trial=ID`.

    Chunks and indexes come from the store, or are built into it. UserError for a config that cannot run.
    """
    overrides = tuple(each if "=" in each or each.startswith("~") else f"trial={each}" for each in overrides)
    return OpenPipeline(" ".join(overrides), open_config.open_config(open_config.config_of(overrides)))


def open_bundle(path: str | Path) -> OpenPipeline:
    """Open a sealed bundle, a folder or a `.tar.zst`; BundleError where anything in it was changed or is not trusted."""
    bundle = opened.open_bundle(Path(path))
    return OpenPipeline(bundle.name, bundle.pipeline)


def _query(question: str, history: Turns) -> Query:
    open_config.required_question(question)
    turns = (turn for asked, reply in history for turn in (Turn("user", asked), Turn("assistant", reply)))
    return Query("ask", question, tuple(turns))
