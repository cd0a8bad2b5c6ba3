"""One trial's account of one question, from the stored results of the trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rag.analysis import blame
from rag.analysis.blame.corridor import ANSWER, STAGES, Steps
from rag.analysis.blame.reader import Reader
from rag.analysis.why.reopened_trial import ReopenedTrial, row_of
from rag.analysis.why.stage_sentence import Whereabouts, sentence_on_loss
from rag.core.rankings import Rankings
from rag.core.types import Anchor, Answer, Evidence, Example, Reply, Sought, Span, document_of, spans_of
from rag.execution.graph.stage_inputs import answers_of
from rag.execution.store.serialisation import sought_of
from rag.execution.sweep import trial_scores
from rag.pipeline.pipeline import Trace
from rag.pipeline.shapes.answer_json import answer_json, found_passages


@dataclass(frozen=True)
class Account:
    """One question in one trial.

    `stage` is the stage that lost it, "" if it was not lost; `said` is a sentence about that. `stages` and `told` are the same
    for every group of evidence. `ranks` has the rank of every group by step, 0 if it was not found; ranks count `unit`, passage
    or document. `read` flags the groups that the contexts satisfy. `passages` are the first k, each with its
    `gold`: group, and start and end in its text. `answer` has the reply and its scores. `read` and `answer` are None if nothing
    is generated.
    """

    trial_id: str
    name: str
    k: int
    stage: str
    said: str
    stages: Sequence[str]
    told: Sequence[str]
    unit: str
    ranks: Mapping[str, Sequence[int]]
    read: Sequence[bool] | None
    passages: Sequence[Mapping[str, Any]]
    answer: Mapping[str, Any] | None


def account(query_id: str, asked: ReopenedTrial) -> Account:
    """Account for a question in a trial that ran; ConfigError if the trial does not have the question."""
    return _Row(asked, row_of(query_id, asked.trial.golden), Reader(asked.made, asked.store)).account()


@dataclass(frozen=True)
class _Row:
    asked: ReopenedTrial
    row: int
    reader: Reader

    @property
    def steps(self) -> Steps:
        return self.asked.steps

    @property
    def config(self) -> Mapping[str, Any]:
        return self.asked.trial.trial.config

    @property
    def example(self) -> Example:
        return self.asked.trial.golden.examples[self.row]

    @cached_property
    def groups(self) -> tuple[Evidence, ...]:
        return self.example.ranked

    def account(self) -> Account:
        trial, answer = self.asked.trial, self._answer()
        wrong = [self.example.query.query_id] if answer and answer["wrong"] else []
        lost = blame.lost_questions(trial, self.asked.made, self.asked.store, [self.example.query.query_id], wrong, self.reader)
        numbers, read = self.reader.stages(trial), self.reader.read(trial)
        stages = ["" if number < 0 else STAGES[number] for number in ([] if numbers is None else numbers[self.row].tolist())]
        stages = stages[: len(self.groups)]
        unit = "document" if bool(self.reader.gold(trial).by_document[self.row]) else "passage"
        where = [self._whereabouts(group, unit) for group in range(len(self.groups))]
        sentences = [sentence_on_loss(stage, place) for stage, place in zip(stages, where, strict=True)]
        return Account(
            trial_id=trial.trial_id,
            name=trial.trial.name,
            k=self.config["k"],
            stage=lost[0].stage if lost else "",
            said=self._summary(lost[0] if lost else None, sentences, where),
            stages=stages,
            told=sentences,
            unit=unit,
            ranks={name: [self._rank(key, group) for group in range(len(where))] for name, key in self._named_steps().items()},
            read=None if read is None else read[self.row, : len(where)].tolist(),
            passages=self._passages(),
            answer=answer,
        )

    def _rank(self, key: str, group: int) -> int:
        return int(self.reader.group_ranks(self.asked.trial, key, 0)[self.row, group])

    def _named_steps(self) -> dict[str, str]:
        """The keys of the steps that change something, by their names in reports."""
        named = dict(self.steps.indexes)
        if len(named) > 1:
            named["fused"] = self.steps.fused
        if self.steps.reranked != self.steps.fused:
            named["reranked"] = self.steps.reranked
        if self.steps.selected != self.steps.reranked:
            named["selected"] = self.steps.selected
        return named

    def _whereabouts(self, group: int, unit: str) -> Whereabouts:
        return Whereabouts(
            documents=[document_of(gold) for gold in self.groups[group].alternatives],
            rules=[gold.rule for gold in self.groups[group].alternatives if isinstance(gold, Anchor) and gold.rule],
            indexes={name: self._rank(key, group) for name, key in self.steps.indexes.items()},
            **{step: self._rank(getattr(self.steps, step), group) for step in ("fused", "reranked", "selected")},
            share=float(self.reader.ground(self.asked.trial).share[self.row, group]),
            coverage=float(self.config["coverage"]),
            k=self.config["k"],
            rerank_depth=self.config["rerank_depth"] if self.steps.reranked != self.steps.fused else 0,
            depth=self.config["depth"],
            unit=unit,
        )

    def _summary(self, lost: blame.Lost | None, sentences: Sequence[str], where: Sequence[Whereabouts]) -> str:
        count = len(sentences)
        if not count and self.example.route == "records":
            return "Records answer it: its evidence is not searched for, so none of it can be lost."
        if not count:
            return "This corpus has no answer to it: there is no evidence that could be lost."
        if lost and lost.stage == STAGES[ANSWER]:
            return sentence_on_loss(lost.stage, where[0])
        if lost:
            return sentences[lost.group] if count == 1 else f"Evidence {lost.group + 1} of {count}. {sentences[lost.group]}"
        return sentences[0] if count == 1 else f"Found: all {count} pieces of evidence, within the first {where[0].k}."

    def _answer(self) -> dict[str, Any] | None:
        trial = self.asked.trial
        if trial.ends.check is None:
            return None
        corpus, queries = self.reader.corpus(trial), [example.query for example in trial.golden.examples]
        answer = answers_of(self.reader.runner.obtain(trial.ends.check), corpus, queries)[self.row]
        answer = answer or Answer(self.example.query, (), Reply(""))
        scores = trial_scores.read_scores(trial, self.asked.made, self.asked.store).scores
        values = blame.measured(scores, self.row, self.config["k"])
        wrong = blame.is_wrong(answer.reply, self.example, values)
        return {**answer_json(answer, self._sought(), corpus), "scores": values, "wrong": wrong}

    def _sought(self) -> Sought:
        """What was searched for: the output of the rewriter, or the question as it was typed."""
        made, index = self.asked.made, next(iter(self.steps.indexes.values()), "")
        key = made.stages[index].inputs["queries"] if index else self.steps.fused
        if key in made.stages:
            return sought_of(self.reader.runner.obtain(key).meta)[self.row]
        return Sought(self.example.query.text, (self.example.query.text,))

    def _passages(self) -> list[dict[str, Any]]:
        fused = self._ranking(self.steps.fused)
        reranked = fused if self.steps.reranked == self.steps.fused else self._ranking(self.steps.reranked)
        selected = reranked if self.steps.selected == self.steps.reranked else self._ranking(self.steps.selected)
        indexes = {name: self._ranking(key) for name, key in self.steps.indexes.items()}
        trace = Trace(self._sought(), indexes, fused, reranked, selected)
        corpus, k = self.reader.corpus(self.asked.trial), self.config["k"]
        passages = found_passages(corpus, trace, k)
        spans = [Span(passage["doc_id"], passage["start"], passage["end"]) for passage in passages]
        rows = zip(passages, spans, strict=True)
        return [dict(passage) | {"gold": _gold(span, self.groups)} for passage, span in rows]

    def _ranking(self, key: str) -> Rankings:
        return self.reader.rankings(key).only(self.row)


def _gold(span: Span, groups: Sequence[Evidence]) -> list[dict[str, int]]:
    """The gold in a passage: its group, from 0, and the characters [start, end) of the passage's text."""
    marks = []
    for group, evidence in enumerate(groups):
        for gold in evidence.alternatives:
            for whole in (Span(gold, span.start, span.end),) if isinstance(gold, str) else spans_of(gold):
                start, end = max(whole.start, span.start), min(whole.end, span.end)
                if whole.doc_id == span.doc_id and start < end:
                    marks.append({"group": group, "start": start - span.start, "end": end - span.start})
    return marks
