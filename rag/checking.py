"""From what a model replied to what a person reads: checks and guards, citations, abstention.

The steps behind generation, for many questions or for one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rag.citations import cited
from rag.finals import concluded
from rag.records import Finding, Message, Reply, Request
from rag.roles import Generator, Inspection


@dataclass(frozen=True)
class Checked:
    """A reply as a person reads it, what was found on the way, and whether it declines to answer."""

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
    """
    kept, unannounced = concluded(replies, final)
    found = _joined(unannounced, inspected(inspections, requests, kept))
    again = [number for number, findings in enumerate(found) if any(one.action == "regenerate" for one in findings)]
    if again:
        asked = [_again(requests[number], kept[number], found[number]) for number in again]
        second, missing = concluded(generator.generate(asked), final)
        looked = _joined(missing, inspected(inspections, [requests[number] for number in again], second))
        for number, reply, findings in zip(again, second, looked, strict=True):
            first = [replace(one, action="flag") for one in found[number]]  # its places are those of a reply that is gone
            kept[number], found[number] = _both(kept[number], reply), [*first, *map(_final, findings)]
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


def _both(first: Reply, second: Reply) -> Reply:
    """The second reply, at the price of both."""
    tokens = first.prompt_tokens + second.prompt_tokens, first.completion_tokens + second.completion_tokens
    return Reply(second.text, second.citations, *tokens, first.cost + second.cost)


def _final(finding: Finding) -> Finding:
    return replace(finding, action="refuse") if finding.action == "regenerate" else finding


def _finished(request: Request, reply: Reply, findings: Sequence[Finding], refusal: str) -> Checked:
    text = reply.text
    if any(one.action == "refuse" for one in findings):
        return Checked(replace(reply, text=refusal, citations=()), tuple(findings), True)
    for one in sorted((one for one in findings if one.action == "remove" and not one.context), key=lambda one: -one.start):
        text = text[: one.start] + text[one.end :]
    numbers = cited(text, len(request.contexts))
    declined = not text.strip() or (bool(refusal) and text.strip() == refusal)
    return Checked(replace(reply, text=text, citations=numbers), tuple(findings), declined)
