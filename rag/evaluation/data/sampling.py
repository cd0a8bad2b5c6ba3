"""A sample of the questions of a golden set, by kind and cluster."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from rag.core.checks import is_whole
from rag.core.errors import ConfigError
from rag.core.types import Example
from rag.evaluation.data.golden import Golden


def asked(golden: Golden, config: Mapping[str, Any]) -> Golden:
    """The questions that a config asks: its `split`, and a `sample` of it; ConfigError for a sample that is not valid."""
    part = golden.split(str(config["split"]))
    count, seed = config.get("sample"), config.get("sample_seed") or 0
    if count is None:
        return part
    for name, value, least in (("sample", count, 1), ("sample_seed", seed, 0)):
        if not is_whole(value, least):
            raise ConfigError(name, f"is {value!r}", f"a whole number from {least}, or null")
    if config.get("history") == "live":
        what = "would leave turns of conversations out, and history=live needs all of them"
        raise ConfigError("sample", what, "history=gold, or sample=null")
    return drawn(part, count, seed)


def drawn(golden: Golden, count: int, seed: int = 0) -> Golden:
    """The golden set with `count` of its questions, in their order; the set itself if it has no more."""
    if count >= len(golden.examples):
        return golden
    kept = frozenset(order(golden.examples, seed)[:count])
    examples = tuple(example for row, example in enumerate(golden.examples) if row in kept)
    said = f"A sample of {count} of {len(golden.examples):,} questions, by kind and cluster (sample_seed={seed})."
    return replace(golden, examples=examples, sampled=said)


def order(examples: Sequence[Example], seed: int = 0) -> list[int]:
    """The rows of questions, such that the first n are a sample of n: a larger sample holds every smaller one.

    First comes one question of each kind, large kinds first; then kinds have about their shares. Within a kind no cluster has a
    second question before all have one. Places are hashes of ids, so a new question moves few others.
    """

    def place(*parts: str) -> bytes:
        return sha256("\0".join((str(seed), *parts)).encode("utf-8", "surrogatepass")).digest()

    sizes, taken = Counter(example.kind for example in examples), Counter[tuple[str, str]]()
    turns: dict[str, list[tuple[int, bytes, int]]] = {}
    for row in sorted(range(len(examples)), key=lambda row: place(examples[row].query.query_id)):
        kind, cluster = examples[row].kind, examples[row].cluster
        turns.setdefault(kind, []).append((taken[kind, cluster], place(kind, cluster), row))
        taken[kind, cluster] += 1
    shares = [
        (number / sizes[kind], -sizes[kind], kind, row)
        for kind, found in turns.items()
        for number, (_, _, row) in enumerate(sorted(found))
    ]
    return [row for *_, row in sorted(shares)]
