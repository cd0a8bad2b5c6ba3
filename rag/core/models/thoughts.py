"""Thoughts of a reasoning model before its answer, as servers that do not take them out leave them in the text of a reply.

The forms are `<think>…</think>` (DeepSeek, Qwen), `<thought>` (Gemini), `[THINK]` (Magistral), `<|channel>…<channel|>` (Gemma),
and OpenAI's harmony format, `<|channel|>analysis<|message|>…<|channel|>final<|message|>…` (gpt-oss). Thoughts are cut at the
start of a reply only: a tag behind other text belongs to the answer.
"""

import re
from collections.abc import Mapping

FINAL = re.compile(r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
"""The header of the answer in the harmony format."""
END = re.compile(r"<\|(?:return|end|call|start)\|>")
CLOSERS: Mapping[str, re.Pattern[str]] = {
    **{f"<{name}>": re.compile(f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")},
    **{"[THINK]": re.compile(r"\[/THINK\]"), "<|channel>": re.compile(r"<channel\|>")},
    **{"<|channel|>": FINAL, "<|start|>": FINAL},
}
"""The beginning of thoughts → what ends them."""
LONE = re.compile(r"^[ \t]*</think>|</think>(?=\s*\n)", re.MULTILINE)
"""The end of thoughts that the template of the chat began: the reply has no beginning of them."""


def may_think(text: str) -> bool:
    """Whether a reply that begins with this text begins with thoughts, or may do so."""
    start = text.lstrip()
    return any(start.startswith(tag) or tag.startswith(start) for tag in CLOSERS)


def split_thoughts(text: str) -> tuple[str, str, bool]:
    """The answer in a reply, the thoughts before it, and whether the reply ended inside them."""
    thoughts, answer = "", text
    while closer := next((closer for tag, closer in CLOSERS.items() if answer.lstrip().startswith(tag)), None):
        if not (found := closer.search(answer)):
            return "", text, True
        thoughts, answer = thoughts + answer[: found.end()], answer[found.end() :].lstrip()
        if closer is FINAL:
            return END.split(answer)[0], thoughts, False
    lone = None if thoughts else LONE.search(answer)
    if lone and "<think" not in answer[: lone.start()]:
        return answer[lone.end() :].lstrip(), answer[: lone.end()], False
    return answer, thoughts, False
