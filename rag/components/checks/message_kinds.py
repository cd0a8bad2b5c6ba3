"""The kind of a message, by its words: a pleasantry, a question about the conversation, or anything else."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rag.core.errors import ConfigError
from rag.core.text.languages import stop_words
from rag.core.text.statements import exchanges, pieces
from rag.core.text.stems import Stems
from rag.core.text.templates import check_template, fill
from rag.core.types import Query, Turn

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
GROUP = frozenset({"reply", "words", "phrases"})
LISTS = frozenset({"asks", "persons", "about", "others", "counting", "phrases"})


@dataclass(frozen=True)
class MessageKinds:
    """Recognises messages that are no question of the documents, and replies to them. Case and punctuation do not count.

    `pleasantries` are groups with a `reply`, `words` and `phrases`. A message is a pleasantry if it is one of the phrases, with
    polite words and words of `around` before and behind it; or if it has one of the words, no content word but those of the
    groups, `fillers` and the stop words of `further` languages, none of `asking`, and no question mark; or if it has neither
    words nor a question mark. The first group that fits replies, and the last one to a message without words.

    A message is about the `conversation` if it is one of its `phrases`, or if it has a word of each of `asks`, `about` and
    `persons`, and only words of these and of `others`. With a word of a key of `counting`, the words there count as `about`.

    `summary` is the reply to it: {turns} are the earlier questions with the first sentence of each answer, laid out by
    `turn_format` with {number}, {question} and {answer}. `nothing` is the reply if there are none.
    """

    pleasantries: Sequence[Mapping[str, Any]] = ()
    fillers: str = ""
    asking: str = ""
    around: str = ""
    conversation: Mapping[str, Any] = field(default_factory=dict)
    summary: str = "{turns}"
    turn_format: str = "{number}. {question} {answer}"
    nothing: str = ""
    language: str = "english"
    further: Sequence[str] = ()

    def __post_init__(self) -> None:
        where = "check.off_topic.kinds"
        for number, group in enumerate(self.pleasantries):
            if not {"reply"} <= {*group} <= GROUP:
                raise ConfigError(f"{where}.pleasantries.{number}", f"has {', '.join(group)}", "a reply, words and phrases")
            _check_texts(f"{where}.pleasantries.{number}", group)
        if self.conversation and {*self.conversation} != LISTS:
            what = f"has {', '.join(self.conversation)}"
            raise ConfigError(f"{where}.conversation", what, f"the lists {', '.join(sorted(LISTS))}")
        _check_texts(f"{where}.conversation", self.conversation)
        check_template(f"{where}.summary", self.summary, ("turns",))
        check_template(f"{where}.turn_format", self.turn_format, ("question",), ("number", "question", "answer"))

    def kind(self, query: Query) -> tuple[str, str]:
        """The kind of a message and the reply to it; both empty for a message that may be a question."""
        words = WORD.findall(query.text.lower().replace("’", "'"))
        if reply := self._polite(query.text, words):
            return "pleasantry", reply
        return ("conversation", self._listed(query.history)) if self._looks_back(words) else ("", "")

    def _polite(self, text: str, words: Sequence[str]) -> str:
        """The reply to a pleasantry, empty for another message."""
        groups, bare = self.pleasantries, self._bare(words)
        if reply := next((group["reply"] for group in groups if bare & {*group.get("phrases", ())}), ""):
            return str(reply)
        terms = (word.lower() for word in Stems(self.language).terms(text.replace("’", "'")))
        content = {word for word in terms if len(word) > 1 and "'" not in word}  # `it's` counts by its parts
        if "?" in text or {*words} & {*self.asking.split()} or not content <= self._social:
            return ""
        fitting = (group["reply"] for group in groups if {*words} & {*group.get("words", "").split()})
        return str(next(fitting, "") if words or not groups else groups[-1]["reply"])

    def _bare(self, words: Sequence[str]) -> set[str]:
        """The message without some words of `around` at its ends, in every way that leaves no more words than a phrase has."""
        around, count = self._social | {*self.around.split()}, len(words)
        first = next((place for place, word in enumerate(words) if word not in around), count)
        last = next((count - place for place, word in enumerate(reversed(words)) if word not in around), 0)
        starts = ((start, min(count, start + self._longest)) for start in range(first + 1))
        return {" ".join(words[start:end]) for start, most in starts for end in range(max(last, start + 1), most + 1)}

    @cached_property
    def _longest(self) -> int:
        """The most words of a phrase."""
        phrases = (group.get("phrases", ()) for group in (*self.pleasantries, self.conversation))
        return max((len(WORD.findall(phrase)) for listed in phrases for phrase in listed), default=0)

    @cached_property
    def _social(self) -> frozenset[str]:
        return frozenset().union(*map(stop_words, self.further)) | _words(
            [self.fillers, *(group.get("words", "") for group in self.pleasantries)]
        )

    def _looks_back(self, words: Sequence[str]) -> bool:
        if not self.conversation:
            return False
        if self._bare(words) & {*self.conversation["phrases"]}:
            return True
        asks, persons, about, others = (_words([self.conversation[name]]) for name in ("asks", "persons", "about", "others"))
        about |= _words(more for key, more in self.conversation["counting"].items() if {*key.split()} & {*words})
        return {*words} <= asks | persons | about | others and all(part & {*words} for part in (asks, persons, about))

    def _listed(self, history: Sequence[Turn]) -> str:
        """The earlier questions with the first sentence of each answer, or `nothing`."""
        asked = [turns for turns in exchanges(history) if turns[0].role == "user"]
        rows = [turns for turns in asked if not self.kind(Query("", turns[0].text))[0]]
        lines = [fill(self.turn_format, self._row(number, *turns)) for number, turns in enumerate(rows, 1)]
        return fill(self.summary, {"turns": "\n".join(lines)}) if lines else self.nothing

    def _row(self, number: int, asked: Turn, *answers: Turn) -> dict[str, str]:
        first = next(iter(pieces(" ".join(turn.text for turn in answers), self.language)), "")
        return {"number": str(number), "question": " ".join(asked.text.split()), "answer": first}


def _check_texts(where: str, values: Mapping[str, Any]) -> None:
    """ConfigError for a part that is no text, for `phrases` no list of texts, for `counting` no mapping of texts."""
    for name, value in values.items():
        of_kind = {"phrases": Sequence, "counting": Mapping}.get(name, str)
        parts = [*value.items()] if isinstance(value, Mapping) else [*value] if isinstance(value, Sequence) else []
        texts = [text for part in parts for text in (part if isinstance(part, tuple) else (part,))]
        if not isinstance(value, of_kind) or not all(isinstance(text, str) for text in texts):
            raise ConfigError(
                f"{where}.{name}", "is of another type than in the file that comes with Assay", "write it as there"
            )


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())
