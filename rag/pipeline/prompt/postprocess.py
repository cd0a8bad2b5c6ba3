"""The steps after generation, for many questions or for one: checks and guards, citations, abstention."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.core.errors import RefusalError
from rag.core.roles import Generator, Inspection
from rag.core.text.citations import Marker, bracketed, cited, to_nothing
from rag.core.text.edits import Cut, Edited
from rag.core.text.final_answer import concluded
from rag.core.text.refusals import ASSERTS, refused
from rag.core.types import Finding, Message, Reply, Request
from rag.pipeline.prompt.excerpts import GUARD

MARKERS = "markers"
"""The source of findings on citation markers without a passage; these markers are always removed."""


@dataclass(frozen=True)
class Checked:
    """The final reply, the findings on it, and whether it declines to answer.

    Places of findings are places in the final reply; a passage that was removed has its former place, and no length.
    """

    reply: Reply
    findings: tuple[Finding, ...] = ()
    abstained: bool = False


def unasked(reply: str) -> Checked:
    """The reply where the model was not asked: the refusal, or that of a check."""
    return Checked(Reply(reply), (), True)


def streamed(pieces: Iterator[str], hear: Callable[[str], None]) -> Reply:
    """The reply that a stream ends with, or its pieces where it ends without one."""
    heard: list[str] = []
    while True:
        try:
            piece = next(pieces)
        except StopIteration as end:
            return end.value if isinstance(end.value, Reply) else Reply("".join(heard))
        hear(piece)
        heard.append(piece)


def stated(inspections: Mapping[str, Inspection], request: Request, reply: Reply, refusal: str) -> Checked:
    """Inspect an answer from records. Checks compare replies with passages, which hold no counts: only guards read it.

    It cannot be generated again, so a finding that asks for it refuses the answer.
    """
    guards = {name: part for name, part in inspections.items() if name.startswith(GUARD)}
    (findings,) = inspected(guards, [request], [reply])
    done = _finished(request, reply, [_final(finding) for finding in findings], refusal)
    return replace(done, abstained=done.reply.text == refusal)


def check(
    inspections: Mapping[str, Inspection],
    requests: Sequence[Request],
    replies: Sequence[Reply],
    generator: Generator,
    refusal: str,
    final: str = "",
    inputs: Mapping[str, str] | None = None,
) -> list[Checked]:
    """Inspect replies. Where a finding asks for it, a reply is generated once more, and refused if it fails again.

    `final` are the words that announce the answer after reasoning; no inspection reads the reasoning. `inputs` are as in
    `concluded`. RefusalError for a reply with a failure.
    """
    if failure := next((reply.failure for reply in replies if reply.failure), ""):
        raise RefusalError.of(failure)
    kept, noted = _read(requests, replies, final, inputs)
    found = _joined(noted, inspected(inspections, requests, kept))
    again = [number for number, findings in enumerate(found) if _wanted_again(findings)]
    if again:
        once_more = generator.generate([_again(requests[number], kept[number], found[number]) for number in again])
        second, noted = _read([requests[number] for number in again], once_more, final, inputs)
        looked = _joined(noted, inspected(inspections, [requests[number] for number in again], second))
        for number, reply, findings in zip(again, second, looked, strict=True):
            kept[number], found[number] = _replaced(kept[number], found[number], reply, findings)
    rows = zip(requests, kept, found, strict=True)
    return [_finished(request, reply, findings, refusal) for request, reply, findings in rows]


def _read(
    requests: Sequence[Request], replies: Sequence[Reply], final: str, inputs: Mapping[str, str] | None
) -> tuple[list[Reply], list[list[Finding]]]:
    """The announced answers with citations in brackets, and what was noted when they were read."""
    pairs = zip(requests, replies, strict=True)
    written = [replace(reply, text=bracketed(reply.text, len(request.contexts))) for request, reply in pairs]
    noted = [[Finding(source, what) for source, what in reply.notes.items()] for reply in replies]
    kept, unannounced = concluded(written, final, inputs)
    return kept, _joined(noted, unannounced)


def inspected(
    inspections: Mapping[str, Inspection], requests: Sequence[Request], replies: Sequence[Reply]
) -> list[list[Finding]]:
    """The findings of all inspections, per reply."""
    found: list[list[Finding]] = [[] for _ in replies]
    for inspection in inspections.values():
        for gathered, findings in zip(found, inspection.inspect(requests, replies), strict=True):
            gathered += findings
    return found


def _joined(first: Sequence[list[Finding]], second: Sequence[list[Finding]]) -> list[list[Finding]]:
    return [[*left, *right] for left, right in zip(first, second, strict=True)]


def _again(request: Request, reply: Reply, findings: Sequence[Finding]) -> Request:
    advice = "\n".join(dict.fromkeys(each.advice or each.what for each in findings if each.action == "regenerate"))
    messages = (*request.messages, Message("assistant", reply.text), Message("user", advice))
    return replace(request, messages=messages)


def _wanted_again(findings: Sequence[Finding]) -> bool:
    """Whether a reply is generated once more: not where it is refused anyway."""
    actions = {finding.action for finding in findings}
    return "regenerate" in actions and "refuse" not in actions


def _replaced(first: Reply, before: Sequence[Finding], second: Reply, after: Sequence[Finding]) -> tuple[Reply, list[Finding]]:
    """The second reply with the findings on both; the first, refused, where there is no second."""
    if second.failure:
        return first, [_final(finding) for finding in before]
    told = [replace(each, input="") for each in before]
    earlier = [_placeless(each if each.action == "regenerate" else replace(each, action="flag")) for each in told]
    return _both(first, second), [*earlier, *map(_final, after)]


def _both(first: Reply, second: Reply) -> Reply:
    """The second reply with the tokens and the cost of both."""
    tokens = first.prompt_tokens + second.prompt_tokens, first.completion_tokens + second.completion_tokens
    return replace(second, prompt_tokens=tokens[0], completion_tokens=tokens[1], cost=first.cost + second.cost)


def _final(finding: Finding) -> Finding:
    return replace(finding, action="refuse") if finding.action == "regenerate" else finding


def _finished(request: Request, reply: Reply, findings: Sequence[Finding], refusal: str) -> Checked:
    if any(finding.action == "refuse" for finding in findings):
        return Checked(replace(reply, text=refusal, citations=()), tuple(map(_placeless, findings)), True)
    contexts = [chunk.text for chunk in request.contexts]
    removed = [Cut(each.start, each.end) for each in findings if each.action == "remove" and not each.context]
    text, placed = _moved(reply.text, removed, findings)
    if removed and not ASSERTS.search(text):
        # Nothing but blanks and punctuation is left: refuse with a sentence.
        return Checked(replace(reply, text=refusal, citations=()), tuple(map(_placeless, findings)), True)
    while nothing := to_nothing(text, len(contexts)):
        # Removing a marker can make a new one, as in [[9]8].
        placed += [_cites_nothing(marker, len(contexts)) for marker, _ in nothing]
        text, placed = _moved(text, [Cut(marker.start, marker.end, left) for marker, left in nothing], placed)
    numbers = cited(text, len(contexts))
    return Checked(replace(reply, text=text, citations=numbers), tuple(placed), refused(text, refusal, contexts))


def _moved(text: str, cuts: Sequence[Cut], findings: Sequence[Finding]) -> tuple[str, list[Finding]]:
    """A text after cuts, and findings with their new places; findings on contexts stay."""
    edited = Edited.of(text, cuts)
    rows = zip(findings, edited.stretches((each.start, each.end) for each in findings), strict=True)
    return edited.text, [each if each.context else replace(each, start=start, end=end) for each, (start, end) in rows]


def _cites_nothing(marker: Marker, contexts: int) -> Finding:
    gone = ", ".join(marker.beyond(contexts))
    return Finding(MARKERS, f"cites {gone}, and there are {contexts} contexts", start=marker.start, end=marker.end)


def _placeless(finding: Finding) -> Finding:
    """A finding on a reply that is not shown: without a place."""
    return finding if finding.context else replace(finding, start=0, end=0)
