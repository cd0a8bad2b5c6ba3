"""Every function of ours that a stage runs is code of its key: what ran is traced, then edited, and the key must change."""

import gc
import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import copy
from pathlib import Path
from types import FrameType

import pytest
import yaml
from support.choices import FILES
from support.small_set import write_golden

import rag
from rag.config import identity
from rag.config.build import Components
from rag.config.experiment import Experiment
from rag.config.identity import code_identity, libraries, reached
from rag.config.search_space import Trial
from rag.config.servers import components_in
from rag.config.source_code import Source, module_spec
from rag.core.errors import ConfigError
from rag.core.progress import WATCH
from rag.execution.graph import plan
from rag.execution.graph.engine import Runner
from rag.execution.graph.stage_functions import RUNNERS
from rag.execution.graph.stage_graph import CODE, Graph
from rag.execution.store.store import Store
from rag.execution.sweep import sweep
from rag.execution.sweep.open_config import config_of

TRUSTED = ("support",)
HISTORY = [{"role": "user", "text": "Do dogs travel to Holm?"}, {"role": "assistant", "text": "Free."}]
TALK = [
    ("Do dogs travel to Holm?", [], {"doc": "ferry.md", "quote": "Dogs travel free"}),
    ("What of bicycles?", HISTORY, {"doc": "bus.md", "quote": "Bicycles need a ticket"}),
]
GIVEN = ("dataset=native", "dataset.path=golden", "dataset.questions=talk.jsonl", "embedder=hashing", "latency=0", "k=2")
EVERYTHING = (
    *("index=[bm25,bm25s,dense,faiss_flat,faiss_hnsw,qdrant]", "reranker=mmr", "passage=row", "selector=neighbours"),
    *("queries=concatenate", "memory=two_layer", "guard=[scan,rules,spotlight,output]", "guard.scan.stranger=null"),
    *("check=[citations,grounded,numbers,quotes,retrieval_floor]", "judge=local", "~judge.encoder.runtime"),
    "judge.encoder._target_=support.judge_texts.WordEncoder",
    "metrics=[recall@5,ndcg@10,iou@5,token_f1,citation_recall,declined,faithfulness,answer_relevance,citation_support]",
    "generator=extractive",
)
COSTLY = ("generator=none", "generator._target_=support.scripted_generator.Costly")
TRIALS = (
    (*EVERYTHING, "history=live", "latency=1"),
    ("generator=extractive", "memory=buffer", "reuse=similar", "reuse.full=0.1", "reuse.half=0", "reuse.guard=none"),
    ("generator=extractive", "lock=[bus.md]", "exclude=[rules.txt]", "context_tokens=12"),
    (*COSTLY, "chunker=sentence", "metrics=[recall@k,token_f1]", "latency=1", "repeats=2"),
    (
        *("generator=extractive", "enrich=rules", "roster=csv", "roster.path=roster.csv", "roster.key=format"),
        *("roster.column=id", "roster.fields={kind: Kind}", "route=rules"),
    ),
    (*COSTLY, "policy=agent", "~policy.generator", "+policy.generator._target_=support.scripted_generator.Costly", "latency=1"),
    ("generator=none", "policy=gap_loop_rules"),
    (*COSTLY, "shape=rules", "condense=extractive", "memory=buffer"),
    (
        *("generator=none", "reranker=maxsim", "~reranker.encoder.runtime"),
        "reranker.encoder._target_=support.judge_texts.WordEncoder",
    ),
    ("generator=none", "selector=relevance_gate"),
    ("generator=system", "system=results", "system.path=results.jsonl"),
    ("generator=extractive", "control=closed_book"),
    ("generator=extractive", "control=shuffled_contexts"),
    ("generator=extractive", "control=gold_contexts"),
    ("generator=extractive", "control=perfect_chunker"),
)
Ran = dict[str, set[str]]
"""Stage key → the modules whose functions ran in it."""


@pytest.fixture(autouse=True)
def _talk(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A golden set with a conversation."""
    monkeypatch.setattr("rag.execution.store.cached_replies.plugins", lambda: TRUSTED)
    row = {"passages": ["Dogs travel free of charge."], "answer": "Free [1]."}
    lines = (json.dumps({"id": f"t-{number}", **row}) + "\n" for number in (1, 2))
    (here / "results.jsonl").write_text("".join(lines), "utf-8")
    (here / "roster.csv").write_text("id,Kind\nmd,Markdown\n", "utf-8")
    with (write_golden(here / "golden") / "talk.jsonl").open("w", encoding="utf-8") as file:
        for number, (text, history, place) in enumerate(TALK, 1):
            row = {"id": f"t-{number}", "text": text, "dialogue": "talk", "turn": number, "history": history, "split": "tune"}
            file.write(json.dumps(row | {"answers": ["free"], "evidence": [{"any": [place]}]}) + "\n")


def ours(module: str) -> bool:
    return module.partition(".")[0] in ("rag", *TRUSTED)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ran]:
    """What runs between the inputs of a stage and its stored result, in any thread."""
    found: Ran = {}
    complete = Runner.complete
    gc.collect()  # so that no object of another test ends within a stage

    def traced(self: Runner, key: str) -> object:
        modules = found.setdefault(key, set())

        def look(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and ours(module := str(frame.f_globals.get("__name__"))):
                modules.add(module)

        before = sys.getprofile()
        threading.setprofile(look)
        sys.setprofile(look)
        try:
            return complete(self, key)
        finally:
            sys.setprofile(before)
            threading.setprofile(None)  # type: ignore[arg-type]

    monkeypatch.setattr(Runner, "complete", traced)
    without = WATCH.set(lambda *_: nullcontext(lambda *_: None))  # a command line shows progress, which changes no result
    yield found
    WATCH.reset(without)


def keys(graph: Graph, known: Iterable[str]) -> list[str]:
    """The keys that stages have with the code of now, given the inputs that they have."""
    again = Graph(Components(TRUSTED))
    again.components._built = graph.components.without_inner._built
    return [again.add(stage.name, stage.nodes, stage.values, stage.inputs) for stage in map(graph.stages.__getitem__, known)]


@contextmanager
def edited(*modules: str) -> Iterator[None]:
    """The code of modules is another one inside the block."""
    known = identity.source_of

    def changed(name: str) -> Source | None:
        if (found := known(name)) and name in modules:
            found = copy(found)
            found.code = "edited"
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identity, "source_of", changed)
        code_identity.cache_clear()
        yield
    code_identity.cache_clear()


def unkeyed(graph: Graph, ran: Ran) -> set[tuple[str, str]]:
    """Stages with the modules that ran in them and may be edited while their keys stay."""
    free = set[tuple[str, str]]()
    for module in sorted(set().union(*ran.values())):
        among = [key for key in ran if module in ran[key]]
        with edited(module):
            free |= {(graph.stages[key].name, module) for key, now in zip(among, keys(graph, among), strict=True) if key == now}
    return free


def test_all_code_that_ran_in_a_stage_is_in_its_key(ran: Ran) -> None:
    trials = [Trial(str(number), {}, config_of([*GIVEN, *overrides])) for number, overrides in enumerate(TRIALS)]
    made = plan.assemble(Experiment("test", "", ()), trials, Store("store"))
    assert keys(made.graph, made.graph.stages) == list(made.graph.stages)
    done = sweep.run(made, Store("store"), {"mode": "inline"}, lambda key, outcome: None)
    assert [row.error for row in done.board.rows] == [""] * len(made.trials)
    assert {made.stages[key].name for key in ran} == set(RUNNERS)
    assert {
        *("rag.execution.graph.stage_inputs", "rag.execution.store.serialisation", "rag.execution.store.cached_vectors"),
        *("rag.execution.store.cached_replies", "support.scripted_generator"),
    } <= set().union(*ran.values())
    assert unkeyed(made.graph, ran) == set()


def closure(module: str) -> frozenset[str]:
    return frozenset(reached(module, ("rag",))[0])


def shared() -> frozenset[str]:
    return frozenset().union(*map(closure, CODE))


def targets() -> Sequence[str]:
    """The modules of all components in `conf/`."""

    nodes = [node for path in FILES.values() for node in components_in(yaml.safe_load(path.read_text("utf-8")))]
    return sorted({node["_target_"].rpartition(".")[0] for node in nodes})


def test_no_component_is_in_the_key_of_stages_that_do_not_run_it() -> None:
    components = set(targets())
    assert not components & shared()
    needed = {
        "rag.components.analysers.closed_compounds": {"rag.components.analysers.compounds", "rag.components.analysers.words"},
        "rag.components.analysers.compounds": {"rag.components.analysers.words"},
        "rag.components.checks.off_topic": {"rag.components.checks.message_kinds"},
        "rag.components.chunkers.markdown": {"rag.components.chunkers.fixed", "rag.components.chunkers.token"},
        "rag.components.chunkers.recursive": {"rag.components.chunkers.fixed"},
        "rag.components.chunkers.semantic": {"rag.components.chunkers.fixed", "rag.components.chunkers.recursive"},
        "rag.components.chunkers.sentence": {"rag.components.chunkers.fixed"},
        "rag.components.embedders.static": {"rag.components.embedders.minilm"},
        "rag.components.guards.scan": {"rag.components.guards.off_topic_requests"},
        "rag.components.loaders.folder": {"rag.components.loaders.data_slice"},
        "rag.components.loaders.native_questions": {"rag.components.loaders.data_slice"},
        "rag.components.memories.summary_buffer": {"rag.components.memories.summaries"},
        "rag.components.memories.two_layer": {"rag.components.memories.summaries"},
        "rag.plugins.litellm.generators.litellm": {"rag.components.generators.openai"},
        "rag.plugins.batches.generators.batches": {f"rag.components.generators.{form}" for form in ("anthropic", "openai")},
        "rag.plugins.systems.systems.http": {"rag.components.parsers.xlsx"},
        "rag.plugins.systems.systems.results": {"rag.components.parsers.xlsx"},
        "rag.plugins.rare_formats.parsers.pdfium_ocr": {"rag.components.parsers.pdfium"},
        "rag.components.passages.contextual": {"rag.components.passages.titled"},
        "rag.components.passages.row": {"rag.components.passages.titled"},
        "rag.plugins.table_questions.routers.model": {"rag.plugins.table_questions.routers.rules"},
        "rag.components.shapers.model": {"rag.components.shapers.rules"},
    }
    for module in components:
        assert (closure(module) & components) - {module} == needed.get(module, set()), module


def test_modules_of_stages_are_imported_by_statements_and_read_no_files_of_the_package() -> None:
    """An import by a name in a string, and a data file, are in no key; a component names its files in `fingerprint()`."""
    known = shared() | set().union(*map(closure, targets()))
    for module in known:
        source = Path(str(sys.modules[module].__file__ if module in sys.modules else _place(module)))
        # Four find classes and formats, whose own code is keyed, and this hash. No stage reads the names of `rag` for programs.
        finders = (
            *("rag.config.build", "rag.config.source_code", "rag.documents.sandbox.child"),
            "rag.authoring.exchange.format_table",
        )
        if module == "rag.core.text.languages":
            assert "bm25s" in libraries(module)  # the version of the lists that it runs as a file
        elif module != "rag" and module not in finders:
            text = source.read_text("utf-8")
            assert not any(word in text for word in ("import_module", "__import__(", "runpy")), module
            names = r"^\s*from rag import (?!__version__$)|\brag\.(sweep|plan|compare|gate|open_\w+)\("
            assert not re.search(names, text, re.MULTILINE), module
        others = [path.name for path in source.parent.iterdir() if path.is_file() and path.suffix not in (".py", ".md")]
        assert source.parent == Path(rag.__file__).parent or not others, f"{module}: {others}"


def _place(module: str) -> str:
    found = module_spec(module)
    return str(found.origin if found else "")


def test_a_stage_whose_code_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.execution.graph.stage_graph.CODE", ("rag.engines",))
    with pytest.raises(ConfigError, match=r"imports 'rag\.engines', and there is no such module"):
        Graph(Components()).add("chunk", {}, {}, {})


def test_stored_items_are_known_by_the_code_that_stores_them(here: Path) -> None:
    from rag.components.embedders.hashing import HashingEmbedder
    from rag.components.rerankers.mmr import MmrReranker
    from rag.execution.store.cached_judgements import StoredJudge
    from rag.execution.store.cached_vectors import StoredEmbedder, StoredReranker

    def spaces() -> list[str]:
        embedder, store = HashingEmbedder(), Store("store")
        stored, judge = StoredEmbedder(embedder, store, "one"), StoredJudge(None, store, "one")  # type: ignore[arg-type]
        pairs = StoredReranker(MmrReranker(embedder), store, "one").pairs  # type: ignore[arg-type]
        return [stored.documents.space, stored.queries.space, pairs.space, judge.stored.space]

    before = spaces()
    with edited("rag.execution.store.cached_vectors", "rag.evaluation.attribution"):
        after = spaces()
    assert spaces() == before
    assert not set(before) & set(after)
