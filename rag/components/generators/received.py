"""The reply of a model server: its answer, thoughts, finish reason, token counts and findings."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rag.core.models.chat import CHARACTERS
from rag.core.models.pinned import readable
from rag.core.models.thoughts import may_think, split_thoughts
from rag.core.types import Request

Counts = tuple[int | None, int | None]
"""Tokens of prompt and completion; None for a count that is missing or not a number."""

OTHER_WORDS = "ask it in other words, or another model"
FINISH: Mapping[str, str] = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("content_filter", "refusal", "safety", "recitation", "prohibited_content"), "content_filter"),
    **dict.fromkeys(("tool_calls", "function_call", "tool_use"), "tool_calls"),
}
"""The finish reasons of OpenAI, Anthropic, Gemini and Mistral, in lower case → that of OpenAI; all others are `stop`."""
ENDINGS: Mapping[str, tuple[str, str]] = {
    "length": ("spent all of its tokens", "raise generator.max_tokens"),
    "content_filter": ("filtered its answer out", OTHER_WORDS),
    "tool_calls": ("asked for a tool", "switch tools off at the server"),
}
"""Finish reason → what a model did, and the remedy."""
THINKING = ("reasoning_content", "reasoning", "thinking")
"""Fields of a message with thoughts: of DeepSeek and llama.cpp, of vLLM, Groq and Ollama, of other gateways."""
LONGEST_TEXT = 40_000
"""Characters of a reply that are read in any case, or 8 for each of `max_tokens`: checks take up to 2 s for so many."""
WINDOW = 1500
"""Tokens of a prompt that every model reads whole."""
REPEATED = re.compile(r"(\W)\1+")  # few tokens, as in the rulers of tables


@dataclass
class Received:
    """What has come of a reply; `text` has its thoughts until the `end`. `last` is the last part as the server sent it."""

    text: str = ""
    thoughts: str = ""
    refusal: str = ""
    finish: str = ""
    model: str = ""
    last: Any = None
    held: bool = True
    unclosed: bool = False
    counts: Counts = (None, None)

    def message(self, said: Mapping[str, Any], finish: object) -> Iterator[str]:
        """Yield the texts of a message, or of a piece of one, in OpenAI's form, its content a text or a list of parts."""
        self.ends(finish)
        self.thoughts += next((text for name in THINKING if isinstance(text := said.get(name), str)), "")
        self.refusal += text_of(said.get("refusal"))
        if said.get("tool_calls"):
            self.ends("tool_calls")
        content = said.get("content")
        yield from map(self.part, content if isinstance(content, list) else [{"type": "text", "text": content}])

    def part(self, part: Mapping[str, Any]) -> str:
        """Take a part of a content; its text, empty for thoughts, pictures, and a text that may begin with thoughts."""
        kind = part["type"]
        if kind in ("thinking", "reasoning"):
            said = part.get(kind) or part.get("text")
            self.thoughts += "".join(text_of(each["text"]) for each in said) if isinstance(said, list) else text_of(said)
        self.refusal += text_of(part["refusal"]) if kind == "refusal" else ""
        piece = text_of(part["text"]) if kind == "text" else ""
        before, self.text = self.text, self.text + piece
        if not self.held:
            return piece
        self.held = len(before) > 200 or may_think(self.text)  # what may think after so many characters does
        return "" if self.held else self.text

    def ends(self, reason: object) -> None:
        """Take a finish reason, None for none. What a refused answer (Anthropic) holds is not read."""
        self.finish = FINISH.get(str(reason).lower(), self.finish or "stop") if reason else self.finish
        self.text = "" if reason == "refusal" else self.text

    def end(self) -> str:
        """Cut the thoughts at the end of a reply; the answer, if no part of it was shown yet."""
        self.text, thoughts, self.unclosed = split_thoughts(self.text)
        self.thoughts += thoughts
        return self.text if self.held else ""

    def fault(self, most: int) -> tuple[str, str] | None:
        """What a reply without an answer, or with more than `most` characters, means, and its remedy; None for any other."""
        if len(self.text) > most:
            return f"answered with {len(self.text):,} characters, more than {most:,}", "it may ignore generator.max_tokens"
        if self.text.strip():
            return None
        if self.refusal.strip():
            return f"refused to answer: {self.refusal.strip()}", OTHER_WORDS
        if self.unclosed and self.finish != "length":
            return "ended inside its thoughts and wrote no answer", "raise generator.max_tokens, or switch its thinking off"
        what, remedy = ENDINGS.get(self.finish, ("gave an empty answer", OTHER_WORDS))
        return f"{what} and wrote no answer" if self.finish in ENDINGS else what, remedy

    def notes(self, request: Request, left_out: str, author: str) -> Iterator[tuple[str, str]]:
        """Findings on an answer: source and sentence. `left_out` are refused fields, `author` the model of an earlier reply."""
        if self.finish in ENDINGS:
            yield self.finish, "the model {}, so the answer is not complete: {}".format(*ENDINGS[self.finish])
        if left_out:
            yield "fields", f"the server refuses {left_out}, and got the request without: say so in the config, with null"
        # Tokenizers differ by less than a factor of 2, and Ollama fills half of its window where a prompt is too long.
        expected = sum(len(REPEATED.sub(r"\1", message.content)) for message in request.messages) // CHARACTERS
        if self.counts[0] and 2 * self.counts[0] < expected > WINDOW:
            what = f"the server read {self.counts[0]:,} tokens of a prompt of about {expected:,}"
            yield "prompt_cut", f"{what}: it may have cut it (Ollama: raise OLLAMA_CONTEXT_LENGTH)"
        if self.model and author not in ("", self.model):
            yield "other_model", f"{self.model[:80]!r} wrote the reply, and {author[:80]!r} an earlier one"


def text_of(content: Any) -> str:
    """A text, half of a surrogate pair as a question mark, empty for None; TypeError for anything else."""
    if content is not None and not isinstance(content, str):
        raise TypeError(f"{str(content)[:80]!r} is not a text")
    return readable(content or "")


def count_of(value: Any) -> int | None:
    """A count of tokens; None for a value that is none."""
    known = isinstance(value, (int, float)) and 0 <= value < 2**53  # a float of more digits is not exact
    return int(value) if known else None
