"""One golden question in a trial: the ranks of its evidence after every step, and the stage that lost it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.analysis import blame, headroom
from rag.analysis.blame import Lost
from rag.analysis.finding_counts import Matrix, confusion
from rag.analysis.headroom import Headroom
from rag.analysis.why.account import Account, account
from rag.analysis.why.reopened_trial import ReopenedTrial, find, prepare
from rag.core.errors import ConfigError
from rag.core.pages import pages_of
from rag.core.types import Anchor, Document, Example, Place, spans_of
from rag.evaluation.scoring import parse_column
from rag.execution.graph.plan import PlannedTrial
from rag.execution.sweep.objective import USUAL


@dataclass(frozen=True)
class Why:
    """A golden question with its gold, and its account in one or two trials."""

    question: Mapping[str, Any]
    trials: Sequence[Account]

    def to_json(self) -> dict[str, Any]:
        """What `rag study why --json` prints."""
        return {"question": dict(self.question), "trials": [asdict(account) for account in self.trials]}


def explain(example: Example, trials: Sequence[ReopenedTrial]) -> Why:
    """Account for a golden question in trials that ran; ConfigError if a trial does not have the question."""
    return Why(_question(example, trials[0]), [account(example.query.query_id, trial) for trial in trials])


def _question(example: Example, reopened: ReopenedTrial) -> dict[str, Any]:
    documents = {document.doc_id: document for document in reopened.trial.golden.documents}

    def place(gold: Place) -> dict[str, Any]:
        if isinstance(gold, str):
            return {"document": gold}
        spans = [(span.start, span.end) for span in spans_of(gold)]
        quote = " … ".join(documents[gold.doc_id].text[start:end] for start, end in spans)
        # A lost quote may be one of a file that was not read.
        whole = {"start": spans[0][0], "end": spans[-1][1], "page": _page(documents[gold.doc_id], spans)} if spans else {}
        fate = {"fate": gold.fate, "rule": gold.rule, "pieces": spans} if isinstance(gold, Anchor) else {}
        return {"document": gold.doc_id} | whole | {"quote": quote} | fate

    groups = [{"grade": group.grade, "any": [place(gold) for gold in group.alternatives]} for group in example.ranked]
    history = [{"role": turn.role, "text": turn.text} for turn in example.query.history]
    about = {"id": example.query.query_id, "text": example.query.text, "history": history, "kind": example.kind}
    return about | {"split": example.split, "answers": list(example.answers), "evidence": groups}


def _page(document: Document, spans: Sequence[tuple[int, int]]) -> dict[str, int] | None:
    """The first and the last page of the pieces of a quote; None for a document without pages."""
    pages = pages_of(document.blocks, spans[0][0], spans[-1][1])
    return {"first": pages[0], "last": pages[1]} if pages else None


ANSWERS = "token_f1"
"""The preferred answer metric for the headroom."""


@dataclass(frozen=True)
class Overview:
    """The lost questions of a trial, by id and counted by stage, and its headroom by column; `answerable` questions have gold.

    `named` is the name of the trial on the command line, `routes` the right and the chosen routes, `inputs` the kinds of
    messages.
    """

    trial_id: str
    name: str
    named: str
    questions: int
    answerable: int
    counts: Mapping[str, int]
    lost: Mapping[str, Lost]
    headroom: Mapping[str, Sequence[Headroom]]
    routes: Matrix
    inputs: Matrix


@dataclass(frozen=True)
class Overviews:
    """One or two trials over the same questions; `texts` has the text of every question that one of them lost."""

    texts: Mapping[str, str]
    trials: Sequence[Overview]

    def to_json(self) -> dict[str, Any]:
        """What `rag study why --json` prints without a question."""
        trials = [
            {"trial": each.trial_id, "name": each.name, "questions": each.questions, "answerable": each.answerable}
            | {"counts": dict(each.counts), "lost": [asdict(lost) for lost in each.lost.values()]}
            | {"headroom": {column: [part.to_json() for part in parts] for column, parts in each.headroom.items()}}
            | ({"routes": each.routes} if each.routes else {})
            | ({"inputs": each.inputs} if each.inputs else {})
            for each in self.trials
        ]
        return {"trials": trials}


def overview(trials: Sequence[ReopenedTrial]) -> Overviews:
    """The lost questions of one or two trials; ConfigError if their questions differ."""
    if len({each.trial.golden.asked_digest for each in trials}) > 1:
        raise ConfigError("trial", "the two trials have different questions", "name two trials over the same questions")
    overviews = [_overview(each) for each in trials]
    lost = {query_id for each in overviews for query_id in each.lost}
    queries = [example.query for example in trials[0].trial.golden.examples]
    return Overviews({query.query_id: query.text for query in queries if query.query_id in lost}, overviews)


def _overview(reopened: ReopenedTrial) -> Overview:
    trial, made, store = reopened.trial, reopened.made, reopened.store
    lost = blame.lost_questions(trial, made, store)
    return Overview(
        trial_id=trial.trial_id,
        name=trial.trial.name,
        named=reopened.named,
        questions=len(trial.golden.examples),
        answerable=sum(bool(example.ranked) for example in trial.golden.examples),
        counts=blame.counts(lost),
        lost={each.query_id: each for each in lost},
        headroom={column: headroom.measure_headroom(trial, made, store, column) for column in _columns(trial)},
        routes=confusion(trial, made, store),
        inputs=confusion(trial, made, store, "input"),
    )


def _columns(trial: PlannedTrial) -> list[str]:
    """The usual or first ranking column and, if answers are generated, the usual or first answer column."""
    config = trial.trial.config
    columns = {column: parse_column(column, config["k"]).unit for column in config["metrics"]}
    rankings, answers = ([column for column, unit in columns.items() if bool(unit) is kind] for kind in (True, False))
    chosen = [USUAL if USUAL in rankings else rankings[0]] if rankings else []
    if answers and trial.ends.generate:
        chosen.append(ANSWERS if ANSWERS in answers else answers[0])
    return chosen
