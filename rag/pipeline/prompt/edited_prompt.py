"""A prompt as one text that a person can edit, and the messages that are sent instead of those of the pipeline."""

import re
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from rag.core.errors import UserError
from rag.core.types import Finding, Message
from rag.pipeline.prompt.prompt_assembly import Prepared

LARGEST = 1_000_000  # characters
CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0), *range(0xD800, 0xE000)) if chr(code) not in "\t\n"}
NOT = "this answer is not measured"


def edited(messages: Sequence[Message], edit: Callable[[str], str]) -> tuple[Message, ...]:
    """The messages after `edit` of their text; UserError as `checked`.

    A line with a random mark begins each message, so that no text of a document can begin one.
    """
    mark = secrets.token_hex(4)
    text = edit("".join(f"=== {message.role} {mark} ===\n{message.content}\n" for message in messages))
    parts = re.split(rf"^=== (system|user|assistant) {mark} ===$\n?", text.replace("\r\n", "\n"), flags=re.MULTILINE)
    if parts[0].strip():
        raise UserError("prompt", "has text before its first message", "keep the lines that begin messages")
    return checked([Message(role, each.removesuffix("\n")) for role, each in zip(parts[1::2], parts[2::2], strict=True)])  # type: ignore[arg-type]


def checked(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages without control characters and empty ones; UserError for more than LARGEST characters, or none of the user."""
    kept = [replace(each, content=text) for each in messages if (text := each.content.translate(CONTROLS)).strip()]
    if (size := sum(len(each.content) for each in kept)) > LARGEST:
        raise UserError("prompt", f"has {size:,} characters", f"at most {LARGEST:,}")
    if not kept or kept[-1].role != "user":
        raise UserError("prompt", "does not end with a message of the user", "the last message asks")
    return tuple(kept)


def changed(prepared: Prepared, messages: Sequence[Message], off: Collection[str]) -> Prepared:
    """A request with other messages, if there are any and a model is asked; findings say so, and which agents are off."""
    findings = [Finding("agents", f"without {', '.join(sorted(off))}: {NOT}")] if off else []
    if messages and prepared.asks and prepared.request:
        findings.append(Finding("prompt", f"it was edited: {NOT}"))
        prepared = replace(prepared, request=replace(prepared.request, messages=tuple(messages)))
    return replace(prepared, screened=replace(prepared.screened, findings=(*prepared.screened.findings, *findings)))
