"""One golden question in a trial: the ranks of its evidence after every step, and the stage that lost it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.analysis.why.account import Account, account
from rag.analysis.why.overview import Overview, Overviews, overview
from rag.analysis.why.reopened_trial import ReopenedTrial, find, prepare
from rag.core.pages import pages_of
from rag.core.types import Anchor, Document, Example, Place, spans_of


@dataclass(frozen=True)
class Why:
    """A golden question with its gold, and its account in one or two trials."""

    question: Mapping[str, Any]
    trials: Sequence[Account]

    def to_json(self) -> dict[str, Any]:
        """What `rag why --json` prints."""
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
