"""The functions of stages with a system outside of Assay: what it returned, and the places of that in the documents."""

import hashlib
from dataclasses import asdict, replace

from rag.core.adapters import records_from
from rag.core.corpus import Corpus
from rag.core.errors import DataError
from rag.core.rankings import Rankings
from rag.core.systems import SystemPassage, SystemReply
from rag.core.types import Document, Reply, Span
from rag.documents.anchors.system_passages import place_passages
from rag.execution.graph.stage_inputs import Job, entry_of_contexts
from rag.execution.store.serialisation import json_values
from rag.execution.store.store import Entry

ELSEWHERE = "not in the documents"
"""The name of a passage without a place begins with this."""


def answered(job: Job) -> Entry:
    """Questions → the passages and replies of a system; DataError where it fails on every question."""
    given = job.components.handed(job.nodes["system"], "system").answer(job.queries)
    if given and all(each.failure for each in given):
        raise DataError("system", f"answers no question, the first because: {given[0].failure}", "ask it by itself first")
    return Entry(meta={"given": json_values(given)})


def given_of(entry: Entry) -> list[SystemReply]:
    """What a system returned, by question."""
    return records_from(list[SystemReply], entry.meta["given"])


def placed(job: Job) -> Entry:
    """What a system returned → chunks and rankings of its passages.

    A passage that is not in the documents becomes a document of its own: it keeps its rank and its text, and has no judgement.
    `foreign` has these texts by name, `unplaced` is their share of all passages, `first_foreign` the rank of the first one by
    question, 0 without one. `failed` are the failures of the system.
    """
    given = given_of(job.inputs["system"])
    passages = list(dict.fromkeys(passage for each in given for passage in each.passages))
    places, foreign = dict[SystemPassage, Span](), dict[str, str]()
    for passage, place in zip(passages, place_passages(passages, job.golden.documents), strict=True):
        if place is None:
            fields = "\0".join(map(str, asdict(passage).values()))
            name = f"{ELSEWHERE}/{hashlib.sha256(fields.encode('utf-8', 'replace')).hexdigest()[:12]}"
            foreign[name] = passage.text or passage.document or ELSEWHERE
            place = Span(name, 0, len(foreign[name]))
        places[passage] = place
    others = (Document(name, text) for name, text in foreign.items())
    corpus = Corpus.of((*job.golden.documents, *others), places.values())
    names = (corpus.documents[row].doc_id for row in corpus.doc.tolist())
    position = {
        Span(*each): row for row, each in enumerate(zip(names, corpus.start.tolist(), corpus.end.tolist(), strict=True))
    }
    rows = [list(dict.fromkeys(position[places[passage]] for passage in each.passages)) for each in given]
    ranked = Rankings.pack([[(row, float(-rank)) for rank, row in enumerate(one)] for one in rows])
    lost = [[places[passage].doc_id in foreign for passage in each.passages] for each in given]
    meta = {"foreign": foreign, "unplaced": sum(map(sum, lost)) / max(sum(map(len, lost)), 1)}
    meta |= {"first_foreign": [each.index(True) + 1 if any(each) else 0 for each in lost]}
    meta |= {"failed": [each.failure for each in given if each.failure]}
    return replace(entry_of_contexts(corpus, ranked), meta=meta)


def replies_given(job: Job) -> list[Reply]:
    """The replies of the system, by question; one with a failure where it has none."""
    none = "the system gave passages and no answer"
    return [each.reply or Reply("", failure=each.failure or none) for each in given_of(job.inputs["system"])]
