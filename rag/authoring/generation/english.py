"""Questions about English sentences: an auxiliary verb moves to the front, and a question word replaces the answer.

The grammar is data (`parts` and `rules` in conf/question_templates.yaml). A sentence is asked about only if its grammar is
certain: the verb is an auxiliary or in a list, the subject has no verb of its own, and the clause ends before a comma,
conjunction or relative pronoun.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from rag.authoring.generation.wording import Wording, turn
from rag.core.text.templates import fill

SAID = {"are you": "am I", "were you": "was I", "you": "I", "your": "my", "yourself": "myself", "Who written": "Who wrote"}
"""Words of a question made from those of a sentence → the words that a person types."""
MOST = 11
"""The most words of a question: readers refused 12 of 18 longer ones, most as copies of their sentence, and 8 of 42 others."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A main clause: `aux` may be do, does or did, `rest` then begins with the base form; `tail` is what follows the clause."""

    subject: str
    aux: str
    rest: str
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a sentence, the words that answer it, and the name of the rule."""

    text: str
    answer: str
    rule: str


class English:
    """Asks about sentences; `common` are words that the documents write in lower case."""

    def __init__(self, wording: Wording, common: Collection[str] = ()) -> None:
        self.wording, self.common = wording, common
        self.forms = {form: found for verb in sorted(wording.words("verbs")) for form, found in _forms(verb)}
        self.forms |= {"has": ("have", "does"), "have": ("have", "do"), "had": ("have", "did")}
        self._pasts = frozenset(form for form, (_, aux) in self.forms.items() if aux == "did") | {"did"}
        lists = {"roles": "roles", "jobs": "jobs", "classes": "defined", "measures": "measured"}
        parts = {name: "|".join(sorted(wording.words(words))) for name, words in lists.items()}
        parts["listed"] = "|".join(sorted(map(re.escape, self.forms), key=len, reverse=True))
        for name, part in wording.texts["parts"].items():
            parts[name] = fill(str(part), parts)
        self._parts = {name: re.compile(part) for name, part in parts.items()}
        self._rules = [_Rule.of(rule, parts) for rule in wording.texts["rules"]]

    def questions(self, sentence: str) -> Iterator[Asked]:
        """The questions that a sentence answers, one for each name of a rule."""
        if not self._parts["whole"].fullmatch(sentence):
            return
        clause = self.clause(sentence)
        seen: set[str] = set()
        for rule in self._rules:
            if rule.name not in seen and (found := rule.asked(sentence, clause, self.inside(clause.subject) if clause else "")):
                seen.add(rule.name)
                yield from self._finished(found)

    def clause(self, sentence: str) -> Clause | None:
        """The main clause of a sentence, None if its grammar is not certain."""
        parts = self._parts
        text = parts["bracket"].sub("", sentence)
        for name in ("numbering", "label", "lead", "shown"):
            found = parts[name].match(text)
            text = text[found.end() :] if found else text
        text = parts["dropped"].sub("", text).strip(" .")
        dated = parts["dated"].match(text)
        text = parts["appositive"].sub(r"\1 ", text[dated.end() :] if dated else text)
        found = parts["finite"].fullmatch(text)
        is_short = not 4 <= len(text.split()) <= 45
        if not found or is_short or parts["no_sentence"].search(text) or not self._is_subject(found["subject"]):
            return None
        clause = self._with_do(found)
        cut = parts["cut"].search(clause.rest) if clause else None
        when = f" {dated['when'][:1].lower()}{dated['when'][1:]}" if dated else ""
        if not clause or not cut:
            return clause and replace(clause, rest=clause.rest + when)
        is_list = cut[0].strip() == "," and parts["list_after"].match(clause.rest[cut.end() :])
        if is_list or parts["relative"].match(cut[0]) or not cut.start():
            return None
        return replace(clause, rest=clause.rest[: cut.start()] + when, tail=clause.rest[cut.start() :])

    def _with_do(self, found: re.Match[str]) -> Clause | None:
        """The clause of a finite verb, with do, does or did for a verb that is no auxiliary; None if it may be a noun."""
        clause = Clause(found["subject"], (found["aux"] or "").lower(), found["rest"])
        if not found["verb"]:
            return clause
        base, aux = self.forms[found["verb"]]
        if base == "have" and self._parts["participle"].match(found["rest"]):
            return replace(clause, aux=found["verb"])
        agrees = aux == "did" or self._is_plural(clause.subject) == (aux == "do")
        if self._parts["verb"].match(found["rest"]) or found["rest"].startswith("by ") or not agrees:
            return None
        return replace(clause, aux=aux, rest=f"{base} {found['rest']}")

    def _is_subject(self, text: str) -> bool:
        words, parts = text.split(), self._parts
        if text.lower() == "you":
            return True
        if len(words) > 9 or parts["no_subject"].match(text) or parts["inner"].search(text) or parts["points"].search(text):
            return False
        nouns = [word for word in words if not re.fullmatch(parts["det"], word.lower())]
        if len(nouns) <= 2 and nouns[-1].lower() in self.wording.words("vague"):
            return False
        return not any(self._is_verb(word) and not parts["modifier"].fullmatch(before) for before, word in pairwise(words))

    def _is_verb(self, word: str) -> bool:
        return word in self._pasts or (word in self.forms and word.endswith("s")) or bool(re.fullmatch(r"[a-z]+ed", word))

    def _is_plural(self, subject: str) -> bool:
        head = re.split(rf"\s(?:{self._parts['prep'].pattern})\s", subject)[0]
        return bool(self._parts["plural"].search(head.lower())) or " and " in head

    def inside(self, subject: str) -> str:
        """A subject inside of a question: its first word in lower case if the documents write it so."""
        first, _, others = subject.partition(" ")
        is_common = (
            first[1:].islower()
            and not re.match(r"(?:and )?[A-Z]", others)
            and (first.lower() in self.common or (others and self._parts["no_name"].search(first)))
        )
        is_det = self._parts["det"].fullmatch(first.lower()) and not (first in ("One", "Two", "Three") and others[:1].isupper())
        return first.lower() + subject[len(first) :] if is_common or is_det or first == "You" else subject

    def points_back(self, text: str, document: str, title: str) -> bool:
        """True if a question has a thing that only its document explains: `the` thing of the past, or `a` thing there."""
        is_past = self._parts["past"].search(text)
        nouns = {each["noun"] for each in self._parts["definite"].finditer(text)} - self.wording.words("unique")
        unknown = (noun for noun in nouns if noun not in title.lower())
        return any(is_past or re.search(rf"(?i)\ban? (?:[\w-]+ )?{noun}\b", document) for noun in unknown)

    def _finished(self, asked: Asked) -> Iterator[Asked]:
        """The question with `I` for `you`, in plainer words; none if it points to another sentence, or is too short or long."""
        text = " ".join(asked.text.split()).rstrip(" .,")
        if (
            self._parts["open_end"].search(text)
            or self._parts["points"].search(text.replace("there", ""))
            or not 3 <= len(text.split()) <= MOST
            or text.count("you") > 1
            or self._parts["speaker"].search(asked.answer)
            or (asked.rule == "role" and text.split()[-1] in asked.answer)
        ):
            return
        if asked.rule in ("condition", "date"):  # `can only be used if`: the answer says the rest.
            text = re.sub(r"(?<!the) only ", " ", text)
        for pattern, said in SAID.items():
            text = re.sub(rf"\b{pattern}\b", said, text)
        yield replace(asked, text=f"{text[:1].upper()}{text[1:]}?")


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    patterns: dict[str, re.Pattern[str]]
    asks: tuple[str, ...]
    answer: str
    whole: bool

    @classmethod
    def of(cls, row: dict[str, Any], parts: dict[str, str]) -> "_Rule":
        """The rule of a line of the file; `parts` fill its patterns."""
        patterns: dict[str, re.Pattern[str]] = {}
        for key in ("sentence", "aux", "subject", "rest", "tail"):
            patterns |= {key: re.compile(fill(str(row[key]), parts))} if key in row else {}
        asks = (row["ask"],) if isinstance(row["ask"], str) else tuple(row["ask"])
        return cls(row["rule"], patterns, asks, row.get("answer", "{a}"), bool(row.get("whole")))

    def asked(self, sentence: str, clause: Clause | None, subject: str) -> Asked | None:
        """The question about a sentence or its clause, None if it does not fit. With `whole` the answer goes on at a comma."""
        texts: dict[str, str] = {"sentence": sentence, "subject": subject}
        texts |= {"aux": clause.aux, "rest": clause.rest, "tail": clause.tail} if clause else {}
        values: dict[str, str] = {key: texts[key] for key in ("aux", "subject") if key in texts}
        for key, pattern in self.patterns.items():
            found = pattern.fullmatch(texts[key]) if key in texts else None
            if not found:
                return None
            values |= {name: value or "" for name, value in found.groupdict().items()}
        ask = self.asks[turn(sentence, len(self.asks))]
        answer = fill(self.answer, values) + (clause.tail if clause and self.whole and clause.tail.startswith(",") else "")
        return Asked(fill(ask, values), answer.strip(" ,"), self.name)


def _forms(verb: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The finite forms of a listed verb, each with base form and the auxiliary of its questions."""
    base, _, past = verb.partition("/")
    word, blank, particle = base.partition(" ")
    stem = f"{word[:-1]}i" if re.search(r"[^aeiou]y\Z", word) else word
    third = f"{stem}es" if stem != word or re.search(r"(?:s|sh|ch|x|z|go)\Z", word) else f"{word}s"
    yield base, (base, "do")
    yield third + blank + particle, (base, "does")
    if past or "/" not in verb:
        yield past or (f"{word}d" if word.endswith("e") else f"{stem}ed") + blank + particle, (base, "did")
