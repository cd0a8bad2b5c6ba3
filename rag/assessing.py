"""What a judge is asked about answers: their claims, their relevance, that of their contexts, their citations."""

from collections.abc import Collection, Sequence

from rag.claims import Assessment, Case
from rag.records import Answer
from rag.roles import Judge


def assess(judge: Judge, answers: Sequence[Answer | None], needs: Collection[str]) -> list[Assessment]:
    """One assessment per answer, of the parts in `needs` (`rag.claims.PARTS`); an empty one for an answer that failed."""
    verdicts = judge.judge([_case(answer) for answer in answers]) if "verdict" in needs else [None] * len(answers)
    return [Assessment(judge.threshold, verdict) for verdict in verdicts]


def _case(answer: Answer | None) -> Case:
    if answer is None:
        return Case("", ())
    return Case(answer.reply.text, tuple(hit.chunk.text for hit in answer.contexts), answer.query.text)
