# ruff: noqa: T201
"""What a shaper, a gate and a condenser change without a model: prompt tokens, seconds, second searches and dropped candidates.

    python tests/bench/shaping.py handbook
    python tests/bench/shaping.py injection dataset.bipia=$RAG_DATA/bipia-train chunker=whole queries=human k=2 check=none \
        "index=[bm25s]" fusion=single "metric=[attack_success]" "metrics=[attack_success]"

With `injection`, it also prints in how many prompts the words that an attack asks for are in the condensed context.
"""

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rag.components.condensers.none import NoCondenser
from rag.config.build import Components
from rag.config.experiment import Experiment
from rag.config.search_space import Trial
from rag.core.looks import Condensed
from rag.core.roles.looking import Kept
from rag.core.text.tokens import count
from rag.core.types import Answer, Example, Framed, Query, Reply
from rag.execution.graph import plan
from rag.execution.store import maintenance
from rag.execution.sweep.open_config import config_of, open_config
from rag.pipeline.pipeline import Pipeline
from rag.pipeline.search.traces import Trace

PARTS: Mapping[str, list[str]] = {
    "none": [],
    "shape": ["shape=rules"],
    "gate": ["selector=relevance_gate"],
    "condense": ["condense=extractive"],
    "all": ["shape=rules", "selector=relevance_gate", "condense=extractive"],
}
MOST = 400


def measured(name: str, overrides: list[str], queries: list[Query], pipeline: Pipeline) -> list[Trace]:
    """Print a row for one pipeline over questions, each asked alone after one round to warm up."""
    pipeline.traces(queries[:20])
    traces, seconds, tokens = [], [], []
    for query in queries:
        began = time.perf_counter()
        traces.append(pipeline.trace(query))
        seconds.append(time.perf_counter() - began)
        request = pipeline.prepare(query, traces[-1]).request
        tokens.append(sum(count(message.content) for message in request.messages) if request else 0)
    acts = [Counter(step.act for step in trace.look.steps) if trace.look else Counter() for trace in traces]
    failed = sum(step.act == "condense" and bool(step.failure) for trace in traces if trace.look for step in trace.look.steps)
    kept = [min(len(trace.selected.row(0)), 20) / max(min(len(trace.reranked.row(0)), 20), 1) for trace in traces]
    asked = [number for number in tokens if number]
    print(
        f"{name:9} prompt {np.mean(asked):6.0f} tokens ({len(asked)} asked)  {1000 * np.median(seconds):6.1f} ms p50"
        f"  {1000 * np.quantile(seconds, 0.95):6.1f} ms p95  searched twice {sum(one['search'] > 1 for one in acts)}"
        f"  not condensed {failed}  dropped of 20 {1 - np.mean(kept):.3f}"
    )
    return traces


def exposed(config: Mapping[str, Any], examples: Sequence[Example], pipeline: Pipeline, traces: Sequence[Trace]) -> None:
    """Print in how many condensed contexts the words of an attack are; the search of this set is by names of notes."""
    metric = Components().build(config["metric"]["attack_success"], "metric")
    rows = [(one, hit) for one, hit in zip(examples, traces, strict=True) if any(tag.startswith("goal:") for tag in one.tags)]
    chunks = [tuple(one.chunk for one in pipeline.contexts(hit)) for _, hit in rows]
    kept = [Kept(one.query, one.query.text, read, Framed(())) for (one, _), read in zip(rows, chunks, strict=True)]
    made = [one.condensed or Condensed() for one in (pipeline.condenser or NoCondenser()).condense(kept)]
    texts = {"passages": [" ".join(chunk.text for chunk in read) for read in chunks]}
    texts |= {part: [" ".join(item.text for item in getattr(one, part)) for one in made] for part in ("facts", "constraints")}
    for part, said in texts.items():
        pairs = zip(rows, said, strict=True)
        reached = sum(metric.measure(one, Answer(one.query, (), Reply(text))) == 1 for (one, _), text in pairs)
        print(f"  words of the goal in {part}: {reached} of {len(rows)} attacked questions")


def main(dataset: str, *overrides: str) -> None:
    """Print a row for every part."""
    for name, parts in PARTS.items():
        given = [f"dataset={dataset}", "latency=0", *overrides, *parts]
        config = config_of(given)
        trial = plan.assemble(Experiment("shaping", "", ()), [Trial("", {}, config)], maintenance.at(config["store"])).trials[0]
        examples = trial.golden.examples[:: max(1, len(trial.golden.examples) // MOST)]
        traces = measured(name, parts, [example.query for example in examples], open_config(config))
        looks = [trace.look for trace in traces]
        if name in ("shape", "all"):
            print("  intents:", dict(Counter(look.shape.intent for look in looks if look and look.shape)))
        if dataset == "injection" and name == "condense":
            exposed(config, examples, open_config(config), traces)


if __name__ == "__main__":
    main(*sys.argv[1:])
