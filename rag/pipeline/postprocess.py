"""From what a model replied to what a person reads: checks and guards, citations, abstention.

The steps behind generation, for many questions or for one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.core.errors import RefusalError
from rag.core.records import Finding, Message, Reply, Request
from rag.core.roles import Generator, Inspection
from rag.core.text.citations import Marker, cited, to_nothing
from rag.core.text.edits import Cut, Edited
from rag.core.text.final_answer import concluded
from rag.core.text.refusals import ASSERTS, refused

MARKERS = "markers"
"""The source of findings about citation markers to nothing, which are dropped whatever is checked."""


@dataclass(frozen=True)
class Checked:
    """A reply as a person reads it, what was found on the way, and whether it declines to answer.

    Places of findings are those in that reply; what was cut out of it has the place where it stood, and no length.
    """

    reply: Reply
    findings: tuple[Finding, ...] = ()
    abstained: bool = False


def unasked(refusal: str, findings: Sequence[Finding]) -> Checked:
    """What is said where the model was not asked."""
    return Checked(Reply(refusal), tuple(findings), True)


def check(
    inspections: Mapping[str, Inspection],
    requests: Sequence[Request],
    replies: Sequence[Reply],
    generator: Generator,
    refusal: str,
    final: str = "",
) -> list[Checked]:
    """Inspect replies; those that a finding wants again are asked for once more, and refused if they fail again.

    `final` are the words that announce the answer where a prompt asks for reasoning before it, which no inspection reads.
    RefusalError for a reply that is none.
    """
    if failure := next((reply.failure for reply in replies if reply.failure), ""):
        raise RefusalError.of(failure)
    kept, unannounced = concluded(replies, final)
    found = _joined(unannounced, inspected(inspections, requests, kept))
    again = [number for number, findings in enumerate(found) if _wanted_again(findings)]
    if again:
        second, missing = concluded(
            generator.generate([_again(requests[number], kept[number], found[number]) for number in again]), final
        )
        looked = _joined(missing, inspected(inspections, [requests[number] for number in again], second))
        for number, reply, findings in zip(again, second, looked, strict=True):
            kept[number], found[number] = _replaced(kept[number], found[number], reply, findings)
    rows = zip(requests, kept, found, strict=True)
    return [_finished(request, reply, findings, refusal) for request, reply, findings in rows]


def inspected(
    inspections: Mapping[str, Inspection], requests: Sequence[Request], replies: Sequence[Reply]
) -> list[list[Finding]]:
    """What all inspections find, per reply."""
    found: list[list[Finding]] = [[] for _ in replies]
    for one in inspections.values():
        for gathered, findings in zip(found, one.inspect(requests, replies), strict=True):
            gathered += findings
    return found


def _joined(first: Sequence[list[Finding]], second: Sequence[list[Finding]]) -> list[list[Finding]]:
    return [[*one, *other] for one, other in zip(first, second, strict=True)]


def _again(request: Request, reply: Reply, findings: Sequence[Finding]) -> Request:
    advice = "\n".join(dict.fromkeys(one.advice or one.what for one in findings if one.action == "regenerate"))
    messages = (*request.messages, Message("assistant", reply.text), Message("user", advice))
    return replace(request, messages=messages)


def _wanted_again(findings: Sequence[Finding]) -> bool:
    """Whether a reply is asked for once more: not where it is refused whatever comes."""
    actions = {one.action for one in findings}
    return "regenerate" in actions and "refuse" not in actions


def _replaced(first: Reply, before: Sequence[Finding], second: Reply, after: Sequence[Finding]) -> tuple[Reply, list[Finding]]:
    """The second reply with what was found in both; the first, refused, where there is no second."""
    if second.failure:
        return first, [_final(one) for one in before]
    told = [_placeless(one if one.action == "regenerate" else replace(one, action="flag")) for one in before]
    return _both(first, second), [*told, *map(_final, after)]


def _both(first: Reply, second: Reply) -> Reply:
    """The second reply, at the price of both."""
    tokens = first.prompt_tokens + second.prompt_tokens, first.completion_tokens + second.completion_tokens
    return Reply(second.text, second.citations, *tokens, first.cost + second.cost)


def _final(finding: Finding) -> Finding:
    return replace(finding, action="refuse") if finding.action == "regenerate" else finding


def _finished(request: Request, reply: Reply, findings: Sequence[Finding], refusal: str) -> Checked:
    if any(one.action == "refuse" for one in findings):
        return Checked(replace(reply, text=refusal, citations=()), tuple(map(_placeless, findings)), True)
    contexts = [chunk.text for chunk in request.contexts]
    removed = [Cut(one.start, one.end) for one in findings if one.action == "remove" and not one.context]
    text, placed = _moved(reply.text, removed, findings)
    if removed and not ASSERTS.search(text):
        # Who asked gets a sentence, and not the blanks around what was cut out.
        return Checked(replace(reply, text=refusal, citations=()), tuple(map(_placeless, findings)), True)
    while nothing := to_nothing(text, len(contexts)):
        # What closes up around a marker can be one itself, as in [[9]8].
        placed += [_cites_nothing(marker, len(contexts)) for marker, _ in nothing]
        text, placed = _moved(text, [Cut(marker.start, marker.end, left) for marker, left in nothing], placed)
    numbers = cited(text, len(contexts))
    return Checked(replace(reply, text=text, citations=numbers), tuple(placed), refused(text, refusal, contexts))


def _moved(text: str, cuts: Sequence[Cut], findings: Sequence[Finding]) -> tuple[str, list[Finding]]:
    """A text after cuts, and findings with the places that they have in it; those in contexts stay."""
    edited = Edited.of(text, cuts)
    places = zip(edited.places(one.start for one in findings), edited.places(one.end for one in findings), strict=True)
    rows = zip(findings, places, strict=True)
    return edited.text, [one if one.context else replace(one, start=start, end=end) for one, (start, end) in rows]


def _cites_nothing(marker: Marker, contexts: int) -> Finding:
    gone = ", ".join(marker.beyond(contexts))
    return Finding(MARKERS, f"cites {gone}, and there are {contexts} contexts", start=marker.start, end=marker.end)


def _placeless(finding: Finding) -> Finding:
    """A finding about a reply that nobody reads: it has no place."""
    return finding if finding.context else replace(finding, start=0, end=0)
