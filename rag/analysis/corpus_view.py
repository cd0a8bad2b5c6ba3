"""A corpus to look at: its documents, their chunks by one or two chunkers, flags, and the places of gold."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rag.analysis.chunk_structure import SeenChunk, Structure
from rag.analysis.text_flags import FLAGS, Flagger
from rag.config.catalog import defaults
from rag.config.validation import check_together
from rag.core.corpus import Corpus
from rag.core.errors import ConfigError
from rag.core.records.sets import NO_RECORDS, RecordSet, RecordTable, united
from rag.core.types import FATES, Anchor, Document, Example, Place, document_of, spans_of
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data.golden import Golden
from rag.execution.graph.open_pipeline import TrialParts
from rag.execution.graph.plan import components_for
from rag.execution.store import maintenance
from rag.execution.sweep.open_config import config_of
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search import steps

CHUNKERS = ("recursive", "token")
MOST = 2
WHOLE = "whole document"


@dataclass(frozen=True)
class GoldPlace:
    """Evidence for question number `question`: its `pieces` [start, end) in a document, and how they were found there.

    `state` is exact, pieced, words, not placed, lost by parser, redaction or noise, or WHOLE; the first three have pieces.
    """

    question: int
    state: str
    pieces: Sequence[tuple[int, int]] = ()
    rule: str = ""


@dataclass(frozen=True)
class SeenDocument:
    """A document with its flags, its chunks for each chunker, the gold in it, its pages, and the rows of its tables."""

    document: Document
    flags: Sequence[str]
    chunks: Sequence[Sequence[SeenChunk]]
    gold: Sequence[GoldPlace]
    pages: int
    rows: int


@dataclass(frozen=True)
class CorpusView:
    """Documents by name; `questions` are the ids and texts of those with gold."""

    name: str
    chunkers: Sequence[str]
    documents: Sequence[SeenDocument]
    questions: Sequence[tuple[str, str]]
    records: RecordSet = NO_RECORDS

    def to_json(self) -> dict[str, Any]:
        """Counts: documents, pages, blocks, rows of tables, redactions by rule, evidence by state, chunks, flags, records."""
        seen = [each.document for each in self.documents]
        return {
            "name": self.name,
            "documents": len(seen),
            "pages": sum(each.pages for each in self.documents),
            "blocks": sum(len(document.blocks) for document in seen),
            "rows": sum(each.rows for each in self.documents),
            "redactions": dict(Counter(each.rule for document in seen for each in document.redactions)),
            "gold": dict(Counter(gold.state for each in self.documents for gold in each.gold)),
            "flags": _counts(flag for each in self.documents for flag in each.flags),
            "chunkers": {name: self._chunker(place) for place, name in enumerate(self.chunkers)},
        } | ({"records": summary(self.records)} if self.records.tables else {})

    def _chunker(self, place: int) -> dict[str, Any]:
        chunks = [chunk for each in self.documents for chunk in each.chunks[place]]
        cut = sum(
            not any(chunk.start <= gold.pieces[0][0] and gold.pieces[-1][1] <= chunk.end for chunk in each.chunks[place])
            for each in self.documents
            for gold in each.gold
            if gold.pieces
        )
        parted = sum(each.rows - len({row for chunk in each.chunks[place] for row in chunk.rows}) for each in self.documents)
        flags = _counts(flag for chunk in chunks for flag in chunk.flags)
        return {"chunks": len(chunks), "gold_cut": cut, "rows_parted": parted, "flags": flags}


def of_config(overrides: Sequence[str], chunkers: Sequence[str] = CHUNKERS) -> CorpusView:
    """The corpus of some overrides, cut by one or two choices of `chunker`, each with parameters: `fixed size=400`.

    A choice may name a passage as well: `fixed size=400 passage=titled`.
    Gold is that of `dataset`; there is none if the overrides name a `loader.path` and no dataset. UserError for a config that
    cannot be read.
    """
    if not 0 < len(chunkers) <= MOST:
        raise ConfigError("--chunkers", f"names {len(chunkers)}", f"one or two, for example {','.join(CHUNKERS)}")
    if chosen := [each for each in overrides if each.startswith("chunker=")]:
        raise ConfigError(chosen[0], "is given with --chunkers", f"--chunkers {chosen[0].partition('=')[2]}")
    named = [each.split() for each in chunkers]
    configs = [
        config_of([*overrides, f"chunker={name}", *(v if v.startswith("passage") else f"chunker.{v}" for v in values)])
        for name, *values in named
    ]
    parts = TrialParts(configs[0], components_for(maintenance.at(configs[0]["store"])))
    loader, keys = parts.role("loader"), [each.partition("=")[0] for each in overrides]
    if "loader.path" in keys and not any(key.split(".")[0] == "dataset" for key in keys):
        golden = Golden(golden_sets.load_documents(loader), ())
    else:
        golden = golden_sets.load(loader, parts.role("dataset"))
    corpora = dict[str, Corpus]()
    for name, config in zip(chunkers, configs, strict=True):
        chunker = parts.components.role("chunker", config["chunker"])
        corpus = Corpus.of(golden.documents, (span for document in golden.documents for span in chunker.chunk(document)))
        corpora[name], _, _ = steps.passages(parts.components.role("passage", config["passage"]), corpus)
    check_together(parts.components, configs[0])
    made = united([each.enrich(golden.documents) for each in parts.group("enrich").values()])
    records = parts.role("roster").join(made)
    model = parts.role("embedder") if any(index.uses_vectors for index in parts.indexes.values()) else None
    seen = view(" ".join(overrides) or f"dataset={defaults()['dataset']}", corpora, golden.examples, model)
    return replace(seen, records=records)


def of_pipeline(name: str, pipeline: Pipeline) -> CorpusView:
    """The corpus of an open pipeline with the chunks that it searches, without gold."""
    model = pipeline.embedder if any(pipeline.uses_vectors.values()) else None
    return replace(view(name, {"its own chunker": pipeline.corpus}, (), model), records=pipeline.records)


def view(name: str, corpora: Mapping[str, Corpus], examples: Sequence[Example] = (), model: object = None) -> CorpusView:
    """The view of chunks over the same documents; `model` is the embedder that reads the chunks, None if none does."""
    first, *_ = corpora.values()
    asked = [example for example in examples if example.has_gold]
    gold: dict[str, list[GoldPlace]] = {}
    for number, example in enumerate(asked):
        for place in (place for group in example.evidence if group.grade > 0 for place in group.alternatives):
            gold.setdefault(document_of(place), []).append(_gold(number, place))
    whole = Flagger.over(document.text for document in first.documents)
    structures = [Structure.of(document.text) for document in first.documents]
    chunks = [_chunks(corpus, model, structures) for corpus in corpora.values()]
    documents = [
        SeenDocument(document, whole.flags(document.text), list(own), gold.get(document.doc_id, ()), pages, len(structure.rows))
        for document, pages, structure, *own in zip(first.documents, first.page_counts, structures, *chunks, strict=True)
    ]
    return CorpusView(name, tuple(corpora), documents, [(each.query.query_id, each.query.text) for each in asked])


def _gold(question: int, place: Place) -> GoldPlace:
    if isinstance(place, str):
        return GoldPlace(question, WHOLE)
    pieces = [(span.start, span.end) for span in spans_of(place)]
    fate, rule = (place.fate, place.rule) if isinstance(place, Anchor) else (FATES[0], "")
    return GoldPlace(question, fate if pieces else "not placed" if fate == "unplaced" else f"lost by {fate}", pieces, rule)


def _chunks(corpus: Corpus, model: object, structures: Sequence[Structure]) -> list[list[SeenChunk]]:
    flagger, rows = Flagger.over(corpus.texts, model), [list[SeenChunk]() for _ in corpus.documents]
    for position, row in enumerate(corpus.doc.tolist()):
        flags = flagger.flags(corpus.texts[position], corpus.index_text(position))
        rows[row].append(structures[row].seen(corpus, position, flags))
    return rows


def _counts(flags: Iterable[str]) -> dict[str, int]:
    counted = Counter(flags)
    return {name: counted[name] for name in FLAGS}


LISTED = 200
"""The most failures, and joins that are no match, that are listed one by one."""


def summary(records: RecordSet) -> dict[str, Any]:
    """As JSON values: fields by table, counts of failures and joins, and LISTED of these one by one, mismatches first."""
    failed = Counter(each.field for each in records.failures)
    unmatched = [each for each in records.reconciled if each.status != "match"]
    unmatched.sort(key=lambda each: (each.status != "mismatch", not each.near))
    return {
        "tables": [
            {"name": each.name, "records": len(each.records), "fields": _fields(each, failed)} for each in records.tables
        ],
        "failed": len(records.failures),
        "failures": [asdict(each) for each in records.failures[:LISTED]],
        "reconciled": dict(Counter(each.status for each in records.reconciled)),
        "unmatched": [asdict(each) for each in unmatched[:LISTED]],
    }


def _fields(table: RecordTable, failed: Counter[str]) -> list[dict[str, Any]]:
    filled = [sum(record.values[place] is not None for record in table.records) for place in range(len(table.fields))]
    rows = zip(table.fields, filled, strict=True)
    types = {each.name: f"{each.type}, inferred" if each.inferred else each.type for each in table.fields}
    return [{"name": each.name, "type": types[each.name], "filled": count, "failed": failed[each.name]} for each, count in rows]
