"""Reports of sweeps that never ran: as many trials and questions as one likes, with names that would break a careless page."""

from dataclasses import replace
from functools import cache

import numpy as np

from rag.analysis.chunk_structure import SeenChunk
from rag.analysis.headroom import Headroom
from rag.core.types import Evidence, Example, Query, Turn
from rag.evaluation.statistics.effects import Effect, Interaction
from rag.execution.sweep.selection import Mean, Winner
from rag.reporting.html.view_model import (
    FAILED,
    LOST,
    NO_GOLD,
    PARTLY,
    SOLVED,
    Data,
    Explorer,
    GoldChunks,
    Heat,
    Listing,
    Material,
    Passage,
    Ranked,
    Reuse,
    Shown,
    TrialRow,
)

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
STAGES = (
    *("not in the corpus", "cut apart by the chunker", "not among the candidates of any index"),
    *("ranked too low by every index", "lost in fusion", "lost in reranking", "dropped by a selector"),
    *("left out of the prompt", "in the contexts, not in the answer"),
)
COLUMNS = ("recall@5", "recall@10", "ndcg@10", "mrr@10", "precision@5", "char_recall@5", "iou@5", "token_f1")
SCORED = ("ndcg@10", "recall@5", "recall@10", "mrr@10")
CHUNKERS = ("recursive-400", "recursive-800", "token-128", "sentence-5", "fixed-1000")
SEARCHES = ("bm25s", "dense", "rrf", "weighted", "dense-hnsw")
RERANKERS = ("none", "maxsim", "cross_encoder", "mmr")
WORDS = (
    "leave", "harbour", "ticket", "rule", "night", "nurse", "ferry", "winter", "dose", "claim", "policy", "manager", "paid",
)  # fmt: skip


@cache
def material(trials: int = 3, questions: int = 20, seed: int = 0, width: int = 10) -> Material:
    """A report with every section; the same for the same numbers."""
    random = np.random.default_rng(seed)
    rows = _rows(trials, questions, random)
    done = [row for row in rows if row.status == "done"]
    ids = [row.trial_id for row in done]
    kinds = ("kind=factoid", "kind=table", "kind=multi_hop", "words=1-8", "words=9-16", "tag=rota", "turns=2+")
    sizes = tuple(int(size) for size in random.integers(1, max(2, questions), len(kinds)))
    heat = {row.trial_id: random.normal(row.score.mean, 0.09, len(kinds)).clip(0, 1).tolist() for row in done}
    lost = [int(questions * (1 - row.score.mean)) for row in done]
    spread = (0.02, 0.1, 0.18, 0.3, 0.12, 0.1, 0.03, 0.05, 0.1)
    counts = [dict(zip(STAGES, random.multinomial(many, spread).tolist(), strict=True)) for many in lost]
    best, tied = ids[0], tuple(ids[: min(5, max(1, len(ids) // 3 + 1))])
    why = "it is the fastest of the trials that the data does not tell apart"
    verdict = Winner(best, tied[-1], tied, why, (), uses=2, family=210, holdout=True)
    return Material(
        experiment="synthetic",
        question="Which chunks, which search and is a second look worth it?",
        objective="maximize ndcg@10",
        column="ndcg@10",
        maximize=True,
        columns=COLUMNS,
        data=Data("handbook", 120, 480_000, questions, questions, max(2, questions // 3), "tune", "3fa9c1d2e4b5"),
        reuse=Reuse(trials, trials * 9, max(5, trials), 812.0, (("chunk", 3, trials), ("search", 9, trials * 2))),
        trials=tuple(rows),
        verdict=verdict,
        held=30,
        effects=_effects(random),
        interactions=(Interaction("search", "dense", "reranker", "maxsim", 0.022, 0.006, 0.038, 0.01),),
        effects_sentence="reranker +.041 [+.028, +.055]; chunk size within noise; maxsim helps only with dense.",
        heat=Heat(dict(zip(kinds, sizes, strict=True)), heat),
        blame=dict(zip(ids, counts, strict=True)),
        headroom=(
            Headroom("perfect chunker", 0.021, 0.008, 0.035),
            Headroom("perfect order", 0.094, 0.071, 0.118),
            Headroom("perfect reader", 0.06, 0.04, 0.082),
        ),
        headroom_sentence="Your order of candidates leaves .09 on the table, your reader .06, your chunker .02.",
        controls=Listing(
            ("token_f1", "difference"),
            (("closed book", ".112", "−.301"), ("gold contexts", ".633", "+.220")),
            "The contexts are read: without them token_f1 falls by .301.",
        ),
        latency={row.trial_id: tuple(random.gamma(4, row.measured["latency_p50_ms"] / 4, 16).tolist()) for row in done},
        explorer=explorer(ids, questions, width, random),
    )


def _rows(trials: int, questions: int, random: np.random.Generator) -> list[TrialRow]:
    names = [(c, s, r, k) for k in (5, 3, 10, 8) for c in CHUNKERS for s in SEARCHES for r in RERANKERS][:trials]
    quality = np.sort(random.beta(14, 7, trials))[::-1]
    rows = []
    for number, ((chunker, search, reranker, k), mean) in enumerate(zip(names, quality, strict=True)):
        reach = 1.96 * 0.3 / np.sqrt(questions)
        means = {name: _mean(float(np.clip(mean + random.normal(0, 0.03), 0, 1)), reach, questions) for name in COLUMNS}
        p50 = float(random.gamma(3, 4) + (60 if reranker == "cross_encoder" else 1))
        measured = {
            "latency_p50_ms": p50,
            "latency_p95_ms": p50 * float(random.uniform(1.2, 2.5)),
            "index_bytes": float(random.uniform(1e5, 6e6)),
            "stage_seconds": float(random.uniform(1, 90)),
        }
        holdout = {"holdout": _mean(mean - 0.01, reach * 1.2, questions)}
        rows.append(
            TrialRow(
                f"{number:010x}",
                f"{chunker} {search} {reranker} k {k}",
                {"chunker": chunker, "search": search, "reranker": reranker, "k": str(k)},
                "done",
                {name: vars(each) for name, each in means.items()},
                {},
                measured,
                score=means["ndcg@10"],
                **(holdout if number < 5 else {}),
            )
        )
    rows.sort(key=lambda row: -row.score.mean)
    fastest = [min(other.measured["latency_p95_ms"] for other in rows[: place + 1]) for place in range(len(rows))]
    rows = [
        replace(row, front=row.measured["latency_p95_ms"] <= least, tied=place < 5 and place <= trials // 3)
        for place, (row, least) in enumerate(zip(rows, fastest, strict=True))
    ]
    rows.append(TrialRow("f" * 10, "fixed-40 dense", {}, "failed", {}, {}, {}, error="out of memory"))
    return rows


def _mean(mean: float, reach: float, n: int) -> Mean:
    return Mean(float(mean), float(mean - reach), float(mean + reach), n=n)


def _effects(random: np.random.Generator) -> tuple[Effect, ...]:
    found = []
    for axis, choices in (("chunker", CHUNKERS), ("search", SEARCHES), ("reranker", RERANKERS)):
        for choice in choices[1:]:
            mean = float(random.normal(0, 0.04))
            p = 0.01 if abs(mean) > 0.015 else 0.7
            found.append(Effect(axis, choice, choices[0], mean, mean - 0.015, mean + 0.015, p, 4))
    return tuple(found)


def explorer(ids: list[str], questions: int, width: int, random: np.random.Generator) -> Explorer:
    """Questions, outcomes and passages for trials of these ids; every fourth trial shares the rankings of another."""
    documents = {f"doc-{number}.md": " ".join(random.choice(WORDS, 400)) for number in range(max(4, questions // 4))}
    documents["hostile.md"] = f"# Hostile {HOSTILE}\n\nThe rule `x|y` & more {HOSTILE} " + " ".join(WORDS * 6)
    metadata = {"hostile.md": {"title": HOSTILE, "year": 2024}}
    names = list(documents)
    asked, places = zip(*(_question(number, names, documents, random) for number in range(questions)), strict=True)
    rankings = {
        f"r{number}": replace(
            _ranked(questions, names, documents, width, random), gold=[_chunks(groups, number) for groups in places]
        )
        for number in range(max(1, len(ids) * 3 // 4))
    }
    keys = list(rankings)
    ranked = [keys[number % len(keys)] for number in range(len(ids))]
    shown = tuple(_shown(number, trial, questions, ranked[number], places, random) for number, trial in enumerate(ids))
    return Explorer(asked, places, shown, rankings, documents, metadata)


def _question(
    number: int, names: list[str], documents: dict[str, str], random: np.random.Generator
) -> tuple[Example, list[list[Passage]]]:
    """A question, and the places of its gold."""
    text = "What is the " + " ".join(random.choice(WORDS, 6)) + "?"
    kind = ("factoid", "table", "multi_hop", "conversation", "unanswerable")[number % 5]
    if number == 0:
        asked = Example(Query("q-hostile", f"Why {HOSTILE}?"), (Evidence(("hostile.md",)),), (HOSTILE,), kind, (HOSTILE,))
        return asked, [[("hostile.md", 12, 90)]]
    places = [names[int(place)] for place in random.integers(0, len(names), 2)]
    gold = [[(place, 40, 180)] for place in places[: 1 + (kind == "multi_hop")]] if kind != "unanswerable" else []
    history = Turn("user", "Hello, I work at night."), Turn("assistant", "Then rule four is for you.")
    query = Query(f"q{number}", text, history if kind == "conversation" else ())
    groups = tuple(Evidence((doc,)) for ((doc, _, _),) in gold)
    return Example(query, groups, ("nine crowns",), kind, ("rota",) if number % 3 else ()), gold


def _ranked(questions: int, names: list[str], documents: dict[str, str], width: int, random: np.random.Generator) -> Ranked:
    places = random.integers(0, len(names), (questions, width))
    starts = random.integers(0, 6, (questions, width)) * 200
    passages = [
        [
            (names[int(place)], int(start), min(int(start) + 400, len(documents[names[int(place)]])))
            for place, start in zip(*row, strict=True)
        ]
        for row in zip(places, starts, strict=True)
    ]
    found = random.integers(0, 12, (questions, 2)).tolist()
    return Ranked(passages, found)


def _chunks(groups: list[list[Passage]], number: int) -> list[GoldChunks]:
    """Two chunks with each group of gold, which are found at the first rank in the first ranking."""
    found = f"finds the gold at rank {number + 1}, {HOSTILE}"
    return [
        GoldChunks(
            found,
            doc,
            (
                (number + 1, SeenChunk(max(start - 20, 0), start + 30, ("<b>flag</b>",), (f"Above {HOSTILE}", ""), ())),
                (0, SeenChunk(start + 30, end + 9, (), (f"Instead {HOSTILE}",) if number else (), ())),
            ),
        )
        for (doc, start, end), *_ in groups
    ]


def _shown(
    number: int, trial: str, questions: int, ranking: str, places: tuple[list[list[Passage]], ...], random: np.random.Generator
) -> Shown:
    outcomes = np.where(random.random(questions) < 0.66, SOLVED, np.where(random.random(questions) < 0.3, PARTLY, LOST))
    outcomes[[row for row, groups in enumerate(places) if not groups]] = NO_GOLD
    if number == 2:
        outcomes[1] = FAILED
    stages = np.where((outcomes == LOST) | (outcomes == PARTLY), random.integers(1, 10, questions), 0)
    scores = {name: np.where(outcomes == NO_GOLD, np.nan, random.random(questions).round(3)).tolist() for name in SCORED}
    answers = [f"It is {'nine' if outcome == SOLVED else 'four'} crowns [1]." for outcome in outcomes]
    return Shown(trial, 5, outcomes.tolist(), stages.tolist(), scores, ranking, answers)
