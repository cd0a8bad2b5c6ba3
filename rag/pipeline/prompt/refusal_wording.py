"""Refusals that say why: nothing on the question was found, a check failed, or a reply names no source to verify it by."""

from collections.abc import Mapping
from dataclasses import replace

from rag.core.pages import label
from rag.core.text.citations import place_of
from rag.core.text.refusals import refused
from rag.core.text.templates import fill
from rag.core.types import Query
from rag.pipeline.prompt.postprocess import MARKERS, Checked
from rag.pipeline.prompt.prompt_assembly import Prepared

LONGEST = 80
"""Characters of a question in a refusal."""
UNVERIFIED = frozenset({"citations", MARKERS})
"""The sources of findings on replies without a source."""


def worded(checked: Checked, prepared: Prepared, query: Query, refusal: str, sentences: Mapping[str, str]) -> Checked:
    """A refusal in the words of `absent`, `failed` or `unverified` of a prompt, where it has these; other replies as they are.

    {topic} is the question, {checks} the checks that refused, {pages} the pages of the passages that were read, if any.
    """
    found = (*prepared.screened.findings, *checked.findings)
    checks = dict.fromkeys(each.source for each in found if each.action == "refuse")
    sentence = sentences.get("absent" if not checks else "unverified" if UNVERIFIED.issuperset(checks) else "failed", "")
    if not sentence or not checked.abstained or any(each.reply for each in found) or not refused(checked.reply.text, refusal):
        return checked
    topic = " ".join(query.text.split())
    pages = dict.fromkeys(filter(None, (label(place_of(chunk).pages) for chunk in prepared.chunks)))
    values = {
        "refusal": refusal,
        "topic": topic if len(topic) <= LONGEST else f"{topic[: LONGEST - 1].rstrip()}…",
        "checks": ", ".join(checks),
        "pages": f" ({', '.join(pages)})" if pages else "",
    }
    return replace(checked, reply=replace(checked.reply, text=fill(sentence, values), citations=()))
