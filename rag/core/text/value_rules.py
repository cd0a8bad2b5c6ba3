"""Rules that decide whether an answer states the value of a short reference; they leave sentences to a judge.

The rules know English: yes and no, negations, and words between alternatives. Numbers, dates in digits, names and phrases are
compared in any language.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile

from rag.core.assessments import Compared
from rag.core.questions import Expected
from rag.core.text.facts import READ, Fact
from rag.core.text.refusals import declines, refused
from rag.core.text.squad import normalised
from rag.core.text.stated import Stated
from rag.core.text.value_places import is_another, is_denied, is_name, is_option, value_places
from rag.core.text.values.words import NEGATION

SHORT = 8
"""The most facts of a short reference, those of the question left out."""
PLAIN = 3
"""The most of them that are neither names nor numbers, if the reference ends as a sentence does."""
WEIGHTS = {"number": 3.0, "name": 2.0, "word": 1.0}
"""The weights of the facts of a reference: its number says more than the noun behind it."""
SENTENCE = re.compile(r"[.!?](?=\s)|\n+")
JOINT = re.compile(r"\s*(?:[-–,/]|to|and|or|,? or|and/or)\s*(?:the |an? )?", re.IGNORECASE)
"""The text between two numbers that are alternatives or the ends of a range."""
EITHER = re.compile(r"\s*(?:,? or|and/or|/)\s*(?:in |at |by |the |an? )*", re.IGNORECASE)
POLAR = re.compile(r"\W*(?:(yes|yeah|correct|indeed|both|true)|(no|nope|neither|incorrect|false))\b", re.IGNORECASE)
AMONG = re.compile(r"^\s*(?:between|of|unlike|compared (?:to|with))\b[^,\n]*,", re.IGNORECASE)
ITEM = re.compile(r"[,;\n•]|\band\b|^\s*[-*]\s", re.MULTILINE)
ALIKE = 0.75
"""The least share of the words of a clause on the same matter that the question or the clause of the right value has."""


def decide(question: str, answer: str, reference: str, language: str = "english") -> Compared | None:
    """The value of an answer by the first rule that applies; None for a reference that a judge must compare.

    1. The same words: 1. 2. An empty answer: 0. 3. A reference that declines: 1 if the answer declines too, else 0. 4. Yes or
    no. 5. A reference of at most SHORT facts besides those of the question, and no sentence of more than PLAIN plain words:
    `phrase`.
    """
    reference, answer = reference[:READ], answer[:READ]
    if normalised(answer, language) == normalised(reference, language):
        return Compared(1.0, "same")
    if not re.search(r"\w", answer):
        return Compared(0.0, "empty")
    if refused(reference):
        return Compared(float(declines(answer)), "declines")
    asked, given = Stated.of(question, language), Stated.of(answer, language)
    polar, said = POLAR.match(reference), POLAR.match(given.text)
    wanted = Stated.of(reference[polar.end() :] if polar else reference, language)
    new = tuple(fact for fact in wanted.facts if not asked.has(fact)) or wanted.facts
    short = len(new) <= SHORT and not (reference.rstrip()[-1:] in ".!?" and sum(fact.kind == "word" for fact in new) > PLAIN)
    if polar and (short or said) and _affirms(given, asked) != bool(polar[1]):
        return Compared(0.0, "yes or no")
    if not wanted.facts:
        return Compared(1.0, "yes or no") if polar else None
    return phrase(asked, given, wanted, new) if short else None


def _affirms(given: Stated, asked: Stated) -> bool | None:
    """Whether an answer says yes: by its first word, or else because it denies no more often than the question.

    None for an answer without such a word that has less than half of the facts of the question.
    """
    if match := POLAR.match(given.text):
        return bool(match[1])
    if 2 * len(given.shared(asked.facts)) < len(asked.facts):
        return None
    return len(NEGATION.findall(SENTENCE.split(given.text)[0])) <= len(NEGATION.findall(asked.text))


def phrase(asked: Stated, given: Stated, wanted: Stated, new: Sequence[Fact]) -> Compared:
    """The weighted share of the facts of a short reference in an answer, 0 if it denies them or states a rival value.

    Facts of the question count only if the reference has no others. In an answer that is a value itself the share is the F1 of
    both. A number or name in the place of a missing one is a rival.
    """
    held = [fact for fact in new if given.has(fact)]
    places = value_places(given, new) if len(held) == len(new) else []
    if places and all(is_denied(asked, given, wanted, place) for place in places):
        return Compared(0.0, "denied")
    if places and all(is_option(given, wanted, place) for place in places):
        return Compared(0.0, "rival")
    if len(held) == len(new) and is_name(wanted) and all(is_another(asked, given, wanted, place) for place in places):
        return Compared(0.0, "rival")
    if other := _alternative(asked, wanted):
        return Compared(float(_prefers(given, wanted, other)), "choice")
    recall = _weight(held) / _weight(new)
    own = [fact for fact in given.facts if not asked.has(fact)]
    right = set(given.shared(wanted.facts))
    others = [fact for fact in own if fact not in right]
    brief = len(own) <= max(2 * len(new), SHORT // 2)
    if recall < 1:
        missing = {fact.sort for fact in new if not given.has(fact) and fact.kind != "word"}
        rivals = [fact for fact in others if fact.sort in missing and not fact.weak]
        if rivals and (brief or any(fact.kind == "number" for fact in rivals)):
            return Compared(0.0, "rival")
        precision = _weight(held) / max(_weight(held) + _weight(others), 1.0)
        return Compared(2 * precision * recall / (precision + recall) if brief and recall else recall**2, "part")
    if len(new) == len(wanted.facts) or any(not asked.has(fact) for fact in new):
        main = max(new, key=lambda fact: WEIGHTS[fact.kind])
        if _rivalled(asked, given, wanted, {given.clause_of(fact) for fact in given.shared([main])}, main):
            return Compared(0.0, "rival")
    return Compared(1.0, "phrase")


def _weight(found: Iterable[Fact]) -> float:
    return sum(WEIGHTS[fact.kind] for fact in found)


def _rivalled(asked: Stated, given: Stated, wanted: Stated, clauses: Iterable[int], main: Fact) -> bool:
    """True if an answer states another value of the same kind: joined with the right one, or in a clause on the same matter."""
    if main.kind == "word" or (main.kind == "number" and sum(fact.sort == main.sort for fact in wanted.facts) > 1):
        return False
    right, joint = set(given.shared(wanted.facts)), EITHER if main.kind == "name" or main.sort[1] == "year" else JOINT
    alike = [fact for fact in given.facts if fact.sort == main.sort and not fact.weak]
    for one, other in pairwise(alike):
        if (one in right) != (other in right) and joint.fullmatch(given.text, one.end, other.start):
            return True
    same = [fact for clause in clauses for fact in given.clauses[clause]]
    known = Stated("", (*asked.facts, *wanted.facts, *same))
    skeletons = {_skeleton(given, clause, main.kind) for clause in clauses} - {()}
    for clause in {given.clause_of(fact) for fact in alike if fact not in right and not asked.has(fact)} - set(clauses):
        rest = [fact for fact in given.clauses[clause] if fact.kind != main.kind]
        on_matter = main.kind == "number" and sum(map(known.has, rest)) >= ALIKE * len(rest)
        if on_matter or _skeleton(given, clause, main.kind) in skeletons:
            return True
    return False


def _skeleton(given: Stated, clause: int, kind: str) -> tuple[str, ...]:
    """The words of a clause up to its last fact, without the facts of a kind."""
    facts, words, at = given.clauses[clause], list[str](), clause
    for fact in facts:
        words += re.findall(r"\w+", given.text[at : fact.start if fact.kind == kind else fact.end].lower())
        at = fact.end
    return tuple(words)


def _alternative(asked: Stated, wanted: Stated) -> list[Fact]:
    """The facts that a question offers beside the reference: those on the other side of an `or` next to it."""
    for middle in re.finditer(r"\bor\b", asked.text):
        before = [fact for fact in asked.facts if fact.end <= middle.start()]
        behind = [fact for fact in asked.facts if fact.start >= middle.end()]
        for near, far in ((before[::-1], behind), (behind, before[::-1])):
            if near and far and wanted.has(near[0]) and all(asked.has(fact) for fact in wanted.facts):
                kind = far[0].kind
                return [fact for fact in takewhile(lambda each: each.kind == kind, far) if not wanted.has(fact)]  # noqa: B023
    return []


def _prefers(given: Stated, wanted: Stated, other: Sequence[Fact]) -> bool:
    """Whether an answer names the reference, and before the alternative: `Of A and B, B is older` names B."""
    lead = AMONG.match(given.text)
    said = Stated("", tuple(fact for fact in given.facts if fact.start >= (lead.end() if lead else 0)))
    own = [fact for fact in wanted.facts if not Stated("", tuple(other)).has(fact)]
    ours, theirs = (min((fact.start for fact in said.shared(each)), default=READ) for each in (own, other))
    return ours < theirs


def expected(question: str, answer: str, expects: Expected, language: str = "english") -> Compared:
    """The value of an answer that should be one value, or name a set of values or of rows: the F1 of the set.

    Values that are not in the set are items of a list in the answer with a fact of the same kind that the question has not.
    """
    asked, given = Stated.of(question, language), Stated.of(answer, language)
    if not expects.set:
        wanted = Stated.of(expects.value, language)
        return decide(question, answer, expects.value, language) or phrase(asked, given, wanted, wanted.facts)
    sought = {_sequence(Stated.of(value, language).facts) for value in expects.set} - {()}
    lengths, row = {len(each) for each in sought}, _sequence(given.facts)
    named = {row[start : start + length] for length in lengths for start in range(len(row) - length + 1)}
    found = len(sought & named)
    known, kinds = {key for each in sought for key in each}, {key[0] for each in sought for key in each} - {"word"}
    items = [Stated.of(item, language).facts for item in ITEM.split(given.text)]
    extra = sum(_is_other([fact for fact in item if not asked.has(fact)], known, kinds or {"word"}) for item in items)
    return Compared(2 * found / (len(sought) + found + extra) if sought else 0.0, "set")


def states(question: str, answer: str, value: str, language: str = "english") -> bool:
    """Whether an answer states one value and no rival: stricter than `decide`, which gives parts of a value parts of a point.

    With a number or date it may have no other number that the question has not, with a name only a few other facts.
    """
    if normalised(answer, language) == normalised(value, language):
        return True
    asked, given, wanted = (Stated.of(text[:READ], language) for text in (question, answer, value))
    if polar := POLAR.match(value):
        return _affirms(given, asked) == bool(polar[1])
    new = [fact for fact in wanted.facts if not asked.has(fact)] or wanted.facts
    others = [fact for fact in given.facts if not asked.has(fact) and not wanted.has(fact)]
    if not new or not all(map(given.has, new)):
        return False
    if any(fact.kind == "number" for fact in new):
        return not any(fact.kind == "number" and not fact.weak for fact in others)
    return len(others) <= max(2 * len(new), SHORT // 2)


def set_f1(items: Sequence[str], values: Sequence[str], language: str = "english") -> float:
    """The F1 of the items of a list and the values that it should have; an item may say more than its value."""
    wanted = {_sequence(Stated.of(value, language).facts) for value in values} - {()}
    given = [_sequence(Stated.of(item, language).facts) for item in dict.fromkeys(items)]
    holds = [{each for each in wanted if each in {row[at : at + len(each)] for at in range(len(row))}} for row in given]
    found = len(set[tuple[tuple[str, str, str], ...]]().union(*holds))
    return 2 * found / (len(wanted) + sum(1 for held in holds if not held) + found) if wanted else 0.0


def _is_other(item: Sequence[Fact], known: set[tuple[str, str, str]], kinds: set[str]) -> bool:
    """True if a short item of a list names a value that is not known."""
    own = {key for key in _sequence(item) if key[0] in kinds}
    return bool(own) and len(item) <= SHORT // 2 and known.isdisjoint(own)


def _sequence(found: Sequence[Fact]) -> tuple[tuple[str, str, str], ...]:
    """Facts as values that are equal if they are written the same, or have the same size."""
    kinds = (("number" if fact.kind == "number" else "", fact) for fact in found)
    return tuple((kind, fact.dimension, min(fact.sizes or fact.keys)) for kind, fact in kinds)
