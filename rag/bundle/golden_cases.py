"""Golden questions of a bundle with the measured results that it must repeat."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from rag.bundle.errors import misfit, refused
from rag.bundle.layout import GOLDEN
from rag.bundle.open_bundle import Bundle
from rag.bundle.strict_parse import json_bytes, lines_of
from rag.config.build import TARGET
from rag.config.identity import digest
from rag.core.looks import Look
from rag.core.records.queries import Routed
from rag.core.types import Message, Query, Recalled, Sought
from rag.execution.graph.stage_inputs import lived_of, rankings_of
from rag.execution.store.serialisation import answer_parts, looks_of, sought_of
from rag.pipeline.prompt.context_packing import hits, passages
from rag.pipeline.prompt.prompt_assembly import Prepared

if TYPE_CHECKING:  # opening a bundle needs no sweeps
    from rag.bundle.source_trial import Measured

MOST = 1000
"""Most golden questions of a bundle: a server asks all of them when it starts."""
ANSWERING = ("generator", "check", "guard")
"""Roles that write a reply, or ask for another one."""


@dataclass(frozen=True)
class Case:
    """A golden question with what the trial measured for it.

    `retrieved` are the chunk_ids of the retrieved passages, best first; `prompt` is the digest of the exact messages to the
    model; `contexts` are the chunk_ids that the answer was made from, and `answer` is its text. None stands for a result that
    a bundle need not repeat. `sought`, `recalled` and `routed` are what a model wrote on the way: replays use them in its
    place.
    """

    query: Query
    retrieved: tuple[str, ...]
    prompt: str | None = None
    contexts: tuple[str, ...] | None = None
    answer: str | None = None
    sought: Sought | None = None
    recalled: Recalled | None = None
    routed: Routed | None = None


SCHEMA = TypeAdapter(Case)


def digest_of_messages(messages: Iterable[Message]) -> str:
    """The digest of the messages to a model; no messages if the model is not asked."""
    return digest([[message.role, message.content] for message in messages])


def prompt_of(prepared: Prepared) -> str:
    """The digest of the messages for one question."""
    return digest_of_messages(prepared.request.messages if prepared.request else ())


def golden_bytes(cases: Iterable[Case]) -> bytes:
    """The content of golden.jsonl: one case per line."""
    return b"".join(json_bytes(asdict(case)) for case in cases)


def cases_of(bundle: Bundle) -> list[Case]:
    """The golden questions of a bundle; BundleError if the file holds anything else, or more than `MOST`."""
    where = f"{bundle.path}: {GOLDEN}"
    lines = list(lines_of(bundle.read(GOLDEN), where))
    if len(lines) > MOST:
        raise refused(where, f"holds {len(lines):,} questions", f"a bundle has at most {MOST:,}")
    try:
        return [SCHEMA.validate_python(line) for line in lines]
    except ValidationError as error:
        raise misfit(where, error) from error


def measured_cases(source: "Measured", most: int) -> list[Case]:
    """Up to `most` questions of a trial, spread evenly over its golden set, with results read from its stored stages."""
    examples, config = source.golden.examples, source.config
    if not (count := min(most, len(examples))):
        return []
    rows = [number * len(examples) // count for number in range(count)]
    heads, corpus = rankings_of(source.entry(source.trial.ends.ranking)).first(config["k"]), source.corpus
    queries, conversed = [example.query for example in examples], source.before("converse")
    queries = lived_of(source.entry(conversed.key), queries) if conversed else queries
    sought, looks = _searches(source), _looks(source)
    cases = [
        Case(
            replace(queries[row], rewrite=""),
            tuple(passage.chunk(corpus).chunk_id for passage in passages(heads, row, corpus)),
            sought=replace(sought[row], note="", tokens=0, cost=0.0) if sought else None,
            routed=replace(looks[row].routed, tokens=0, cost=0.0) if looks else None,
        )
        for row in rows
    ]
    return list(_with_answers(source, rows, cases)) if source.trial.ends.generate else cases


def _searches(source: "Measured") -> list[Sought] | None:
    """What was searched for, if a model wrote it."""
    stage = source.before("rewrite")
    return sought_of(source.entry(stage.key).meta) if stage and asks(source.config["queries"]) else None


def _looks(source: "Measured") -> list[Look]:
    """The looks of all questions, if a model chose the routes; empty otherwise."""
    stage = source.before("route") if asks(source.config["route"]) else None
    return [look or Look() for look in looks_of(source.entry(stage.key).meta)] if stage else []


def _with_answers(source: "Measured", rows: Sequence[int], cases: Sequence[Case]) -> Iterator[Case]:
    """The cases with their prompts and, unless a chat model wrote them, with their contexts and answers."""
    ends, corpus = source.trial.ends, source.corpus
    prepared = source.runner.job(ends.generate).prepared() if ends.generate else []
    parts = answer_parts(source.entry(ends.check).meta) if ends.check else []
    remembers = asks(source.config["memory"])
    repeats = not asks([source.config.get(role) for role in ANSWERING])
    for row, case in zip(rows, cases, strict=True):
        ready, part = prepared[row], parts[row]
        recalled = replace(ready.recalled, note="", tokens=0, cost=0.0) if remembers else None
        case = replace(case, prompt=prompt_of(ready), recalled=recalled)
        if part and (repeats or not ready.asks):
            read = hits(corpus, part.read, part.ends)
            case = replace(case, contexts=tuple(hit.chunk.chunk_id for hit in read), answer=part.reply.text)
        yield case


def asks(node: Any) -> bool:
    """Whether part of a config, whose classes were built before, holds a component that asks a model."""
    if isinstance(node, list | tuple):
        return any(map(asks, node))
    if not isinstance(node, Mapping):
        return False
    return (TARGET in node and _is_costly(str(node[TARGET]))) or any(map(asks, node.values()))


def _is_costly(target: str) -> bool:
    module, _, name = target.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    return found is None or bool(getattr(found, "costly", False))  # an unknown class counts as costly
