"""Read and judge the stored results of trials; shared results are read and judged once."""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rag.analysis.blame.corridor import Ground, Steps, fallen
from rag.core.arrays import Flags, Ints
from rag.core.corpus import Corpus
from rag.core.rankings import Rankings
from rag.evaluation.scoring import Gold, judge
from rag.execution.graph.engine import Runner
from rag.execution.graph.plan import Plan, PlannedTrial
from rag.execution.graph.search_graph import PLACE
from rag.execution.graph.stage_inputs import corpus_of, rankings_of
from rag.execution.store.store import Store
from rag.pipeline.prompt.context_packing import shown_chunks


@dataclass
class Reader:
    """Reads and judges the stored results of the trials of one plan; shared results are read and judged once."""

    made: Plan
    store: Store
    runner: Runner = field(init=False)
    ranks: dict[tuple[str, str, int], NDArray[np.int32]] = field(default_factory=dict)
    grounds: dict[str, Ground] = field(default_factory=dict)
    corpora: dict[str, Corpus] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.runner = Runner(self.made.graph, self.made.goldens, self.store)

    def corpus(self, trial: PlannedTrial) -> Corpus:
        """The chunks of a trial."""
        key = trial.ends.corpus
        if key not in self.corpora:
            self.corpora[key] = corpus_of(self.runner.obtain(key), trial.golden)
        return self.corpora[key]

    def gold(self, trial: PlannedTrial) -> Gold:
        """The gold of a trial in its chunks."""
        return Gold.from_arrays(self.runner.obtain(self._gold_key(trial)).arrays)

    def rankings(self, key: str) -> Rankings:
        """The rankings of a stage."""
        return rankings_of(self.runner.obtain(key))

    def ground(self, trial: PlannedTrial) -> Ground:
        """The properties of the groups of a trial before any search."""
        key = self._gold_key(trial)
        if key not in self.grounds:
            ground = Ground.of(self.corpus(trial), trial.golden.examples, self.gold(trial))
            # The chunks of another system are the passages that it returned: what none of them has was not found.
            cut = self.made.stages[trial.ends.corpus].name != PLACE
            self.grounds[key] = ground if cut else replace(ground, whole=np.ones_like(ground.whole))
        return self.grounds[key]

    def group_ranks(self, trial: PlannedTrial, key: str, head: int) -> NDArray[np.int32]:
        """Group ranks in the first `head` chunks of a ranking; 0 for all chunks."""
        place = (key, self._gold_key(trial), head)
        if place not in self.ranks:
            ranking = self.rankings(key)
            self.ranks[place] = judge(ranking.first(head) if head else ranking, self.gold(trial)).group_ranks
        return self.ranks[place]

    def read(self, trial: PlannedTrial) -> Flags | None:
        """Flags of the groups that the contexts of a trial satisfy; None if nothing is generated."""
        if trial.ends.generate is None:
            return None
        read, corpus = self.runner.obtain(trial.ends.generate).meta, self.corpus(trial)
        rows = [zip(firsts, ends, strict=True) for firsts, ends in zip(read["read"], read["ends"], strict=True)]
        chunks = [{each: score for (first, score), end in row for each in shown_chunks(corpus, first, end)} for row in rows]
        return judge(Rankings.pack([list(row.items()) for row in chunks]), self.gold(trial)).group_ranks > 0

    def stages(self, trial: PlannedTrial) -> Ints | None:
        """The number of the stage that lost each group of a trial; None if the trial cannot be traced."""
        steps = Steps.of(trial, self.made.stages)
        if steps is None:
            return None
        cuts = trial.trial.config["k"], trial.trial.config["rerank_depth"]
        return fallen(steps, partial(self.group_ranks, trial), self.ground(trial), *cuts, self.read(trial))

    def _gold_key(self, trial: PlannedTrial) -> str:
        return self.made.stages[trial.ends.judge].inputs["gold"]
