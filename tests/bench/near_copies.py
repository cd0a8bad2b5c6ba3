"""Near copies of the sentences of documents, made by rule: supported ones, and unsupported ones with one thing changed.

Supported: a clause less (`compressed`), two such sentences in a row joined (`fused`), a word of SAME instead of its twin
(`reworded`). Unsupported: another `word` with the same ending, `name` or `number`, half of them from the same document and half
from another one, or a `not` behind a verb (`denied`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from rag.components.judges.assertions import clauses
from rag.core.assessments import Case
from rag.core.text.sentences import blocks, sentences
from rag.core.text.values.words import Word, words

TWINS = (
    "said stated|big large|buy purchase|bought purchased|help assist|start begin|started began|ask request|need require|"
    "needs requires|send submit|use utilise|also additionally|show demonstrate|told informed|keep retain|give provide|"
    "made produced|get receive|end finish|many numerous|new recent|company firm|whole entire|every each|within inside|"
    "often frequently|almost nearly|people persons|check verify|allowed permitted|happens occurs|enough sufficient|"
    "choose select|wrong incorrect"
)
SAME = {one: other for one, other in (pair.split() for pair in TWINS.split("|"))}
HANGING = re.compile(r"\s+(and|but|while|when|which|who|where|because|after|before|although|with|as)$")
VERB = re.compile(r"\b(is|was|are|were|has|have|will|can|would|should)\b(?! not)")
KINDS = ("word", "name", "number")
Pool = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Copy:
    """A near copy, how it was made, the document that it comes from, and whether this one supports it."""

    case: Case
    kind: str
    document: int
    supported: bool


def near_copies(documents: Sequence[str], seed: int, per: int) -> list[Copy]:
    """Of up to `per` sentences of each document one supported and one unsupported copy, where the rules can make them."""
    random, everywhere = Random(seed), _pool("\n\n".join(documents))
    found = []
    for number, text in enumerate(documents):
        told = [text[start:end] for block in blocks(text) for start, end in sentences(text, block)]
        whole = [one for one in told if re.match(r"[A-Z][^|]*\.$", one) and 8 <= len(one.split()) <= 40]
        for place in sorted(random.sample(range(len(whole)), min(per, len(whole)))):
            right = list(_supported(whole[place : place + 2], random))
            wrong = list(_unsupported(random.choice([whole[place], *(one for _, one in right[:1])]), text, everywhere, random))
            for made, supported in ((right, True), (wrong, False)):
                if made:
                    kind, copy = random.choice(made)
                    found.append(Copy(Case(copy, (text,)), kind, number, supported))
    return found


def _supported(told: Sequence[str], random: Random) -> Iterator[tuple[str, str]]:
    shorter = [_compressed(one, random) for one in told]
    if shorter[0]:
        yield "compressed", shorter[0]
    if len(shorter) > 1 and all(shorter):
        yield "fused", f"{shorter[0][:-1]} and {shorter[1][0].lower()}{shorter[1][1:]}"
    if known := [word for word in words(told[0]) if told[0][word.start : word.end] in SAME]:
        word = random.choice(known)
        yield "reworded", told[0][: word.start] + SAME[told[0][word.start : word.end]] + told[0][word.end :]


def _compressed(told: str, random: Random) -> str:
    """The sentence without a clause that is not its first; empty where it has only one, or too little would be left."""
    parts = clauses(told)
    start, end = random.choice(parts[1:] or parts)
    rest = HANGING.sub("", (told[:start] + told[end:]).rstrip(" ,;.:"))
    return f"{rest}." if len(rest.split()) >= 5 else ""


def _unsupported(told: str, text: str, everywhere: Pool, random: Random) -> Iterator[tuple[str, str]]:
    own, held = {word.stem for word in words(told)}, {word.stem for word in words(text)}
    for kind in KINDS:
        pool, without = random.choice([(_pool(text), own), (everywhere, held | own)])
        places = [word for word in words(told)[1:] if word.kind == kind and _pooled(told, (word,))]
        if not places:
            continue
        word = random.choice(places)
        old = told[word.start : word.end]
        others = [new for stem, new in pool[kind].items() if stem not in without and _fits(kind, old, new)]
        if others:
            yield kind, told[: word.start] + random.choice(others) + told[word.end :]
    if verb := VERB.search(told):
        yield "denied", f"{told[: verb.end()]} not{told[verb.end() :]}"


def _fits(kind: str, old: str, new: str) -> bool:
    return kind != "word" or (new.islower() and new[-2:] == old[-2:] and new != SAME.get(old))


def _pool(text: str) -> Pool:
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for kind, stem, word in _pooled(text, words(text)):
        found[kind].setdefault(stem, word)
    return found


def _pooled(text: str, said: Iterable[Word]) -> list[tuple[str, str, str]]:
    """What may take the place of another word: numbers only where they are written in digits."""
    shown = ((word, text[word.start : word.end]) for word in said if word.kind in KINDS and word.meaning)
    return [(word.kind, word.stem, own) for word, own in shown if word.kind != "number" or own[0].isdigit()]
