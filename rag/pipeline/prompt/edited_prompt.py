"""A prompt as one text that a person can edit, and messages that replace those of a prompt."""

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from rag.core.errors import UserError
from rag.core.types import Finding, Message
from rag.pipeline.prompt.prompt_assembly import Prepared

LARGEST = 1_000_000
CONTROLS = {code: None for code in (*range(32), *range(0x7F, 0xA0), *range(0xD800, 0xE000)) if chr(code) not in "\t\n"}


def edited(messages: Sequence[Message], edit: Callable[[str], str]) -> tuple[Message, ...]:
    """The messages after `edit` of their text, as `checked`. Their first lines have a random mark, which no document knows."""
    mark = secrets.token_hex(4)
    text = edit("".join(f"=== {each.role} {mark} ===\n{each.content}\n" for each in messages)).replace("\r\n", "\n")
    before, *texts = re.split(rf"^=== \w+ {mark} ===\n", text, flags=re.MULTILINE)
    if before.strip() or len(texts) != len(messages):
        raise UserError("prompt", "has lost a line that begins a message", "edit again, and keep the lines with ===")
    return checked([replace(each, content=part.removesuffix("\n")) for each, part in zip(messages, texts, strict=True)])


def checked(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages without control characters and empty ones; UserError for more than LARGEST characters, or none of the user."""
    kept = [replace(each, content=text) for each in messages if (text := each.content.translate(CONTROLS)).strip()]
    if (size := sum(len(each.content) for each in kept)) > LARGEST or not kept or kept[-1].role != "user":
        raise UserError("prompt", f"has {size:,} characters, or none to answer", f"at most {LARGEST:,}; the user's are last")
    return tuple(kept)


def exchanged(prepared: Prepared, messages: Sequence[Message]) -> Prepared:
    """A request with other messages, and a finding that says so; as it is without messages, and where no model is asked."""
    if not messages or not prepared.asks or not prepared.request:
        return prepared
    findings = *prepared.screened.findings, Finding("prompt", "it was edited: this answer is not measured")
    request = replace(prepared.request, messages=tuple(messages))
    return replace(prepared, request=request, screened=replace(prepared.screened, findings=findings))
