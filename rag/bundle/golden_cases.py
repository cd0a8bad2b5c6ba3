"""Golden questions with what a trial was measured to make of them: a bundle carries some, and must do the same again."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rag.bundle.errors import refused
from rag.bundle.layout import GOLDEN
from rag.bundle.open_bundle import Bundle
from rag.bundle.source_trial import Measured
from rag.config.build import TARGET
from rag.config.identity import digest
from rag.core.records import Message, Query, Recalled, Sought, Turn
from rag.execution.graph.stage_inputs import lived_of, rankings_of
from rag.execution.store.serialisation import answer_parts, sought_of
from rag.pipeline.context_packing import hits
from rag.pipeline.prompt_assembly import Prepared

MOST = 1000
"""Questions of a bundle: they are asked whenever a server starts."""
ANSWERING = ("generator", "check", "guard")
"""Roles that a reply comes from, or is asked for again by."""


@dataclass(frozen=True)
class Case:
    """A question, and what came of it when the trial was measured.

    `retrieved` are the chunk_ids of the passages that were found for reading, best first. `prompt` is the digest of the exact
    messages, `contexts` the chunk_ids of what the answer was made from, as it was shown, `answer` the text that a person reads;
    None for what a bundle need not repeat. `sought` and `recalled` hold what models said on the way, where they did: these are
    not asked again.
    """

    query: Query
    retrieved: tuple[str, ...]
    prompt: str | None = None
    contexts: tuple[str, ...] | None = None
    answer: str | None = None
    sought: Sought | None = None
    recalled: Recalled | None = None

    def to_json(self) -> dict[str, Any]:
        """One line of golden.jsonl."""
        history = [asdict(turn) for turn in self.query.history]
        asked = {"query_id": self.query.query_id, "question": self.query.text, "history": history}
        said = {"sought": self.sought and _sought(self.sought), "recalled": self.recalled and _recalled(self.recalled)}
        given = {
            "prompt": self.prompt,
            "contexts": None if self.contexts is None else list(self.contexts),
            "answer": self.answer,
        }
        return {**asked, "retrieved": list(self.retrieved), **given, **said}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> "Case":
        """From what `to_json` gave; KeyError, TypeError or ValueError for anything else."""
        sought, recalled = line["sought"], line["recalled"]
        query = Query(str(line["query_id"]), str(line["question"]), _turns(line["history"]))
        remembered = None if recalled is None else Recalled(_turns(recalled["turns"]), str(recalled["summary"]))
        found = None if sought is None else Sought(str(sought["question"]), _texts(sought["texts"]))
        contexts = None if line["contexts"] is None else _texts(line["contexts"])
        return cls(query, _texts(line["retrieved"]), line["prompt"], contexts, line["answer"], found, remembered)


def _texts(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list):
        raise TypeError(f"{given!r} is no list")
    return tuple(map(str, given))


def _turns(given: Any) -> tuple[Turn, ...]:
    if any(turn["role"] not in ("user", "assistant") for turn in given):
        raise ValueError("somebody else than user and assistant speaks")
    return tuple(Turn(turn["role"], str(turn["text"])) for turn in given)


def _sought(sought: Sought) -> dict[str, Any]:
    return {"question": sought.question, "texts": list(sought.texts)}


def _recalled(recalled: Recalled) -> dict[str, Any]:
    return {"turns": [asdict(turn) for turn in recalled.turns], "summary": recalled.summary}


def digest_of_messages(messages: Iterable[Message]) -> str:
    """The digest of the messages that a model is given; of none where it is not asked."""
    return digest([[message.role, message.content] for message in messages])


def lines_of(cases: Sequence[Case]) -> bytes:
    """golden.jsonl."""
    return b"".join(map(_line, cases))


def _line(case: Case) -> bytes:
    try:
        return json.dumps(case.to_json(), ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(case.to_json()).encode() + b"\n"  # half a character, as JSON can write it


def read(data: bytes) -> list[Case]:
    """The cases of a golden.jsonl; errors as in `Case.from_json`, ValueError for more than MOST."""
    lines = [line for line in data.decode("utf-8").split("\n") if line]
    if len(lines) > MOST:
        raise ValueError(f"{len(lines):,} of them, and at most {MOST:,} are asked")
    return [Case.from_json(json.loads(line)) for line in lines]


def cases_of(bundle: Bundle) -> list[Case]:
    """The golden questions of a bundle; BundleError for a file that holds something else."""
    if GOLDEN not in bundle.manifest.files:
        return []
    try:
        return read(bundle.read(GOLDEN))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise refused(f"{bundle.path}: {GOLDEN}", f"holds no golden questions ({error!r})") from error


def cases(found: Measured, most: int) -> list[Case]:
    """Up to `most` questions of a trial, spread over its golden set, read from its stored stages."""
    examples = found.golden.examples
    if not (count := min(most, len(examples))):
        return []
    rows = [number * len(examples) // count for number in range(count)]
    rankings, corpus = rankings_of(found.entry(found.trial.ends.ranking)), found.corpus
    heads = [rankings.first(found.config["k"]).row(row) for row in rows]
    retrieved = [tuple(corpus.chunk(position).chunk_id for position, _ in head) for head in heads]
    asked, sought = _queries(found), _rewritten(found)
    plain = [
        Case(replace(asked[row], rewrite=""), ids, sought=sought[row] if sought else None)
        for row, ids in zip(rows, retrieved, strict=True)
    ]
    return list(_answered(found, rows, plain)) if found.trial.ends.generate else plain


def _queries(found: Measured) -> list[Query]:
    queries = [example.query for example in found.golden.examples]
    lived = found.before("converse")
    return lived_of(found.entry(lived.key), queries) if lived else queries


def _rewritten(found: Measured) -> list[Sought] | None:
    """What was searched for, where a model said so."""
    stage = found.before("rewrite")
    if stage is None or not asks(found.config["queries"]):
        return None
    return sought_of(found.entry(stage.key).meta)


def _answered(found: Measured, rows: Sequence[int], plain: Sequence[Case]) -> Iterator[Case]:
    """Cases with what was read, laid out by the stage that generated, and with what was replied.

    Only what repeats itself is held against a bundle: a reply of a chat model is none of it.
    """
    ends, corpus = found.trial.ends, found.corpus
    prepared = found.job(ends.generate).prepared() if ends.generate else []
    parts = answer_parts(found.entry(ends.check).meta) if ends.check else []
    remembers = asks(found.config["memory"])
    repeats = not asks([found.config.get(role) for role in ANSWERING])
    for row, case in zip(rows, plain, strict=True):
        one, part = prepared[row], parts[row]
        case = replace(case, prompt=prompt_of(one), recalled=one.recalled if remembers else None)
        if part and (repeats or one.request is None):
            read = hits(corpus, part.read, part.ends)
            case = replace(case, contexts=tuple(hit.chunk.chunk_id for hit in read), answer=part.reply.text)
        yield case


def prompt_of(prepared: Prepared) -> str:
    """The digest of what a model is given for one question."""
    return digest_of_messages(prepared.request.messages if prepared.request else ())


def asks(node: Any) -> bool:
    """Whether a part of a config, all of it built before, holds a component that asks a model: replies cost, and may differ."""
    if isinstance(node, list | tuple):
        return any(map(asks, node))
    if not isinstance(node, Mapping):
        return False
    return (TARGET in node and _is_costly(str(node[TARGET]))) or any(map(asks, node.values()))


def _is_costly(target: str) -> bool:
    module, _, name = target.rpartition(".")
    # Of a class that nobody knows, the worst.
    found = getattr(sys.modules.get(module), name, None)
    return found is None or bool(getattr(found, "costly", False))
