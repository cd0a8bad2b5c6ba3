"""Many trials as one graph: stages that run or are reused, and estimates. Nothing is spent and no model is loaded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from rag.config.build import Components
from rag.config.experiment import Experiment, Trial
from rag.config.identity import Digests, digest, without_runtime
from rag.config.validation import control_of, repeats_of
from rag.core.assessments import Spent
from rag.core.errors import ProblemsError, UserError
from rag.core.numbers import finite
from rag.core.roles import Loader
from rag.evaluation.data import golden as golden_sets
from rag.evaluation.data import sampling
from rag.evaluation.data.golden import Golden, Loaded
from rag.execution.graph import cost_estimate
from rag.execution.graph.cost_estimate import Forecast, Outlook
from rag.execution.graph.stage_graph import Graph, Stage, golden_of
from rag.execution.graph.trial_graph import Ends, add_trial
from rag.execution.graph.unparsed_files import refuse_unparsed
from rag.execution.store import budget
from rag.execution.store.budget import Ledger
from rag.execution.store.cached_replies import components_for as components_for
from rag.execution.store.store import Entry, Store

Corpora = Mapping[str, Loaded]
NONE: Corpora = MappingProxyType({})
HELD: ContextVar[Mapping[str, Loader]] = ContextVar("HELD", default=NONE)
"""Corpora in memory, by the digest of the config of their loader."""
ELSEWHERE = ("language", "store", "execute", "latency", "data", "replay", "budget")
"""Keys of the wiring that do not change what a trial is; the components have the language among their parameters."""
BY_CHARACTER = ("enrich", "roster", "chunk", "passage", "embed", "embed tokens", "index", "gold")
"""Stages whose time grows with the corpus; the others grow with the questions."""


@dataclass(frozen=True)
class PlannedTrial:
    """A trial with its last stages and the golden set that it is scored on."""

    trial_id: str
    trial: Trial
    ends: Ends
    golden: Golden


@dataclass(frozen=True)
class Plan:
    """The union of the stages of all trials, and which of them must run; `corpora` are by the digests of their loaders."""

    experiment: Experiment
    trials: tuple[PlannedTrial, ...]
    graph: Graph
    goldens: Mapping[str, Golden]
    to_run: tuple[str, ...]
    estimate: "Estimate"
    ledger: Ledger
    corpora: Corpora

    @property
    def stages(self) -> Mapping[str, Stage]:
        """Every distinct stage, by key."""
        return self.graph.stages

    def to_json(self) -> dict[str, Any]:
        """The output of `rag plan --json`."""
        distinct, total = len(self.stages), sum(1 for trial in self.trials for _ in self.graph.ancestors(*ends_of(trial)))
        counts = {"total": total, "distinct": distinct, "cached": distinct - len(self.to_run), "to_run": len(self.to_run)}
        return {
            "experiment": self.experiment.name,
            "question": self.experiment.question,
            "trials": len(self.trials),
            "sample": self.trials[0].golden.sampled or None,
            "stages": counts,
            "seconds": self.estimate.seconds,
            "unmeasured": self.estimate.unmeasured,
            **_spending_json(self.estimate.spending.likely),
            "most": _spending_json(self.estimate.spending.most),
            "servers": [asdict(server) for server in self.graph.components.servers.values()],
        }


@dataclass(frozen=True)
class Estimate:
    """Estimates for the stages that must run; `seconds` leaves out the `unmeasured` stages, of kinds that never ran."""

    seconds: float = 0.0
    unmeasured: int = 0
    spending: Outlook = field(default_factory=Outlook)
    by_stage: Mapping[str, float] = field(default_factory=dict)


def _spending_json(spent: Spent) -> dict[str, Any]:
    return {"tokens": spent.tokens, "cost": finite(spent.cost)}


def ends_of(trial: PlannedTrial) -> tuple[str, ...]:
    """The stages that a trial's row in a leaderboard needs."""
    return tuple(filter(None, (trial.ends.score, trial.ends.latency)))


def make(experiment: Experiment, store: Store, parses: bool = True) -> Plan:
    """Compose, build and key every trial; ProblemsError with the errors of all trials.

    UnparsedError where files of a corpus are not parsed yet and `parses` is False.
    """
    trials = experiment.trials()
    if not parses:
        refuse_unparsed((trial.config for trial in trials), components_for(store))
    return assemble(experiment, trials, store)


def assemble(
    experiment: Experiment, trials: Sequence[Trial], store: Store, ledger: Ledger | None = None, read: Corpora = NONE
) -> Plan:
    """Build and key trials that are composed already; ProblemsError with the errors of all trials.

    Spending is counted in `ledger`, or in a new ledger with the budget that the trials name. `read` are those of another plan.
    """
    ledger = ledger or Ledger(store, budget.common(trial.config for trial in trials))
    graph = Graph(components_for(store, ledger))
    goldens, corpora = dict[str, Golden](), dict(read)
    planned: list[PlannedTrial] = []
    problems: dict[str, UserError] = {}
    digests = Digests(without_runtime)
    for trial in trials:
        try:
            golden = _golden(trial.config, graph.components, goldens, corpora)
            last = add_trial(graph, cost_estimate.within(graph.components, trial.config, ledger.terms), golden)
        except UserError as error:
            problems.setdefault(str(error), error)
            continue
        planned.append(PlannedTrial(trial_id(trial.config, golden, digests), trial, last, golden))
    if problems:
        raise ProblemsError(problems.values())
    ends = dict.fromkeys(end for trial in planned for end in ends_of(trial))
    for end in ends:
        # A leaderboard is read from these results: reading removes a damaged one, so that its stage runs again.
        store.read_meta(graph.stages[end].entry)
    to_run = missing(graph, ends, store)
    by_data = {digest: golden for golden in goldens.values() for digest in (golden.corpus_digest, golden.queries_digest)}
    by_data |= {golden.golden_digest: golden for golden in goldens.values()}
    ahead = estimate(graph, to_run, by_data, store)
    return Plan(experiment, tuple(planned), graph, by_data, tuple(to_run), ahead, ledger, corpora)


@contextmanager
def held(loader: Mapping[str, Any], corpus: Loader) -> Iterator[None]:
    """A block whose plans and pipelines take what a loader of this config would read from `corpus`."""
    token = HELD.set({**HELD.get(), digest(loader): corpus})
    try:
        yield
    finally:
        HELD.reset(token)


def loader_of(config: Mapping[str, Any], components: Components) -> Loader:
    """The loader of a config, or its corpus where that is held."""
    loader: Loader = HELD.get().get(digest(config["loader"])) or components.role("loader", config["loader"])
    return loader


def _golden(config: Mapping[str, Any], components: Components, known: dict[str, Golden], corpora: dict[str, Loaded]) -> Golden:
    key = digest(config["loader"], config["dataset"], *(config.get(name) for name in ("split", "sample", "sample_seed")))
    if key not in known:
        questions = components.role("dataset", config["dataset"])
        loader = digest(config["loader"])
        corpora[loader] = corpora.get(loader) or Loaded.of(loader_of(config, components))
        known[key] = sampling.asked(golden_sets.load(corpora[loader], questions), config)
    return known[key]


def trial_id(config: Mapping[str, Any], golden: Golden, digests: Digests) -> str:
    """Ten hex digits of a digest over the golden set of a trial and its config without runtime, as `digests` reads it."""
    own = {key: value for key, value in config.items() if key not in (*ELSEWHERE, "loader", "dataset", "sample", "sample_seed")}
    usual = {"control": control_of(config) == "none", "repeats": repeats_of(config) == 1}
    own = {key: value for key, value in own.items() if not usual.get(key)}  # Trials from before a key have the same ids.
    if parsing := _parsing(config["loader"], golden):
        own["parsing"] = parsing
    # Digests sort keys, and the order of indexes and selectors matters.
    orders = list(config["index"]), list(config["selector"])
    return digests(own, *orders, golden.corpus_digest, golden.golden_digest)[:10]


def _parsing(loader: Mapping[str, Any], golden: Golden) -> dict[str, Any]:
    """The parsers of the suffixes of a corpus, but for texts, and the redactor: two with equal results are two trials."""
    parsed = golden.suffixes - {"md", "txt"}
    parsers = {suffix: node for suffix, node in loader.get("parsers", {}).items() if suffix in parsed}
    redactor = loader.get("redactor") or {}
    is_none = str(redactor.get("_target_", "")).startswith("rag.components.redactors.none.")
    return ({"parsers": parsers} if parsers else {}) | ({"redactor": redactor} if redactor and not is_none else {})


def missing(graph: Graph, ends: Iterable[str], store: Store) -> list[str]:
    """Stages that must run for some ends: absent from the store, and needed by an end or by another that must run."""
    needed: dict[str, None] = {}
    waiting = list(dict.fromkeys(ends))
    present: dict[str, bool] = {}
    while waiting:
        key = waiting.pop()
        if key in needed or key not in graph.stages or present.setdefault(key, store.has(graph.stages[key].entry)):
            continue
        needed[key] = None
        waiting += graph.stages[key].inputs.values()
    return [key for key in graph.stages if key in needed]


def work(graph: Graph, stage: Stage, goldens: Mapping[str, Golden]) -> int:
    """The amount of work of a stage, in characters of the corpus or in questions."""
    golden = golden_of(graph, stage, goldens)
    if stage.name in BY_CHARACTER:
        return golden.characters
    return int(stage.values["latency"]) if stage.name == "latency" else len(golden.examples)


def estimate(graph: Graph, to_run: Sequence[str], goldens: Mapping[str, Golden], store: Store) -> Estimate:
    """Seconds from recorded rates; tokens and cost from the generators' own estimates and their stored replies."""
    rates: dict[str, float | None] = {}
    by_stage: dict[str, float] = {}
    outlook, forecast, waiting = Outlook(), Forecast(graph, store), set(to_run)
    for key in (key for key in graph.stages if key not in waiting):
        forecast.fresh(graph.stages[key], golden_of(graph, graph.stages[key], goldens))
    for key in to_run:
        stage = graph.stages[key]
        if (place := stage.rate_key) not in rates:
            rates[place] = (store.read_meta(place) or {}).get("seconds")
        if (rate := rates[place]) is not None:
            by_stage[key] = rate * work(graph, stage, goldens)
        outlook += forecast.of(stage, golden_of(graph, stage, goldens))
    return Estimate(round(sum(by_stage.values()), 2), len(to_run) - len(by_stage), outlook, by_stage)


def record_rates(plan: Plan, costs: Mapping[str, float], store: Store) -> None:
    """Store how fast stages ran, one rate per kind, for the estimates of later plans."""
    sums: dict[str, tuple[float, int]] = {}
    for key, seconds in costs.items():
        stage = plan.stages[key]
        total, amount = sums.get(stage.rate_key, (0.0, 0))
        sums[stage.rate_key] = (total + seconds, amount + work(plan.graph, stage, plan.goldens))
    for place, (total, amount) in sums.items():
        store.write(place, Entry(meta={"seconds": total / max(amount, 1)}))
