"""Questions about a clause of English: a question word in front, the auxiliary verb, and the clause without its answer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.datasets.generation.english import DETERMINER, PREPOSITION, Clause, English

WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen|twenty|thirty|forty"
    "|fifty|sixty|seventy|eighty|ninety|one hundred|two hundred"
)
NUM = rf"(?:(?:{WORDS})(?:[- ](?:{WORDS}))?|\d[\d,]*(?:\.\d+)?(?: (?:hundred|thousand|million|billion))?)"
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = rf"(?:\d{{1,2}} (?:{MONTH})(?: \d{{4}})?|(?:{MONTH}) \d{{1,2}}(?:, \d{{4}})?|(?:{MONTH})(?: \d{{4}})?|the end of (?:{MONTH}))"
YEAR = r"(?:1\d|20)\d\d"
UNIT = r"(?:seconds|minutes|hours|days|weeks|months|years|decades|centuries)"
TIME = rf"(?:(?:working|calendar|school|business|completed|full|consecutive) )?{UNIT}"
ABOUT = r"(?:at least |up to |at most |no more than |not more than |more than |fewer than |less than |about |around |approximately |only |over |nearly |exactly )?"
EVERY = rf"every (?:{NUM} )?{TIME}|every (?:other )?(?:day|week|month|year|hour)|(?:once|twice|{NUM} times) (?:a|every|each|per) (?:day|week|month|year|hour|shift)"
PHRASES = tuple(
    (re.compile(rf"\s(?P<a>{pattern})(?=\s|$)"), head, rule)
    for pattern, head, rule in (
        (rf"for {ABOUT}{NUM} {TIME}", "For how long", "duration"),
        (rf"within {ABOUT}{NUM} (?P<u>{TIME})", "Within how many {u}", "duration"),
        (rf"after {NUM} (?P<u>{TIME})", "After how many {u}", "duration"),
        (rf"(?:at least )?(?:{EVERY})", "How often", "frequency"),
        (rf"(?:until|till) (?:the )?{DATE}", "Until when", "date"),
        (rf"(?:by|before) (?:the )?{DATE}", "By when", "date"),
        (rf"from (?:the )?{DATE}", "From when", "date"),
        (rf"on (?:the )?{DATE}", "When", "date"),
        (rf"in (?:(?:early|late) )?(?:(?:{MONTH}),? )?{YEAR}", "When", "date"),
        (r"at (?:(?:[01]?\d|2[0-3]):[0-5]\d|\d{1,2}(?:[:.]\d\d)? ?[ap]\.?m\.?|noon|midnight)", "At what time", "time"),
        (r"(?P<p>below|above|over|under|at) -?\d+(?:\.\d+)? ?°[CF]", "{p} what temperature", "temperature"),
        (r"(?P<p>within|up to) \d+(?:\.\d+)? ?(?:m|km|cm|mm|miles?|metres|meters|feet)", "{p} what distance", "distance"),
        (rf"(?P<p>at|by|to|up to) {ABOUT}\d+(?:\.\d+)? ?(?:%|per cent|percent)", "{p} what percentage", "share"),
    )
)  # fmt: skip
AFTER = rf"(?P<after>(?:\s(?:{PREPOSITION}|a|each|every)\s.+)?)"
COUNT = re.compile(
    rf"(?P<verb>(?:(?:been|be) )?[\w-]+ (?:(?:in|up|out|over|off|down) )?)(?P<a>{ABOUT}{NUM} (?P<unit>(?:[\w-]+ ){{0,2}}?[\w-]+s|people|children|men|women)){AFTER}"
)
MONEY = re.compile(rf"(?P<verb>(?:be )?[\w-]+ )(?P<a>{ABOUT}[£$€]\s?\d[\d,.]*(?<=\d)(?: (?:thousand|million|billion))?){AFTER}")
NUMBERED = re.compile(rf"\d|\b(?:{WORDS})\b")
REASON = re.compile(r"\s(?P<a>(?:because (?:of )?|so that |in order to ).+)", re.IGNORECASE)
PURPOSE = re.compile(r"(?P<left>.+) (?P<a>to (?:avoid|prevent|ensure|reduce|protect|help|make sure|save|keep) .+)")
CONDITION = re.compile(r"\s(?P<a>(?:only )?(?:if|when|unless|once) .+)", re.IGNORECASE)
VERBS_OF_PLACE = "born|located|situated|built|buried|kept|stored|based|held|raised|educated|housed|parked|founded|stationed|filmed|recorded"
PLACE = re.compile(
    rf"(?P<left>(?:been )?(?:{VERBS_OF_PLACE})) (?P<a>(?:in|at|on|near|inside) (?:the )?(?!{MONTH}|\d)"
    r"(?:[A-Z][\w'-]+|\w+ (?:room|desk|store|office|cupboard|safe|yard))(?:(?: (?:of|the))? [A-Z][\w'-]+)*)(?P<next>(?:\s.+)?)"
)
CALLED = re.compile(r"(?:been )?(?:called|known as|named|referred to as|termed) (?P<a>\S.*)")
VERBS_OF_AGENT = (
    "founded|written|built|designed|led|invented|discovered|created|published|produced|directed|played|composed|commissioned|signed"
    "|checked|driven|approved|announced|elected|appointed|painted|run|owned|managed|sung|illustrated|developed|introduced|proposed"
    "|coined|conquered|defeated|killed|ruled|opened|translated|edited|hosted|chaired|succeeded|kept|held|paid|made|given|taught"
)
AGENT = re.compile(rf"(?P<left>(?:been |first )?(?:{VERBS_OF_AGENT})) by (?P<a>(?:the )?[A-Z][\w.'-]+(?:(?: (?:of|and|the|de|von))? [A-Z][\w.'-]+)*)(?P<next>(?:\s.+)?)")
NAME_ENDS = re.compile(rf"\s(?:{PREPOSITION}|and)\s|\Z")
USED = re.compile(r"used (?P<a>(?:to|for) .+)")
LINKED = re.compile(r"(?:strongly |closely |positively |negatively |inversely )?(?:associated|correlated|linked) (?:with|to) (?P<a>.+)")
NEEDED = re.compile(r"(?P<left>(?:required|essential|responsible|necessary|needed|sufficient|critical|crucial) for .+)")
DEFINED = re.compile(r"(?P<a>(?:an?|the (?!same|reason|one|other|smallest|largest|only|most|result|case)) ?[a-z].+)")
NO_OBJECT = re.compile(rf"(?:{PREPOSITION}|\w+ly|more|less|most|up|out|not|only|and|or|when|that|one)\b", re.IGNORECASE)
END_OF_OBJECT = re.compile(r" (?:from|by|to|with|for|at|in) (?:about |more than )?[\d£$€].*| (?:compared|relative) .*| as .*")
COPULA = ("is", "are", "was", "were")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a sentence, the words that answer it, and the name of the rule."""

    text: str
    answer: str
    rule: str


def questions(sentence: str, english: English) -> Iterator[Asked]:
    """The questions that a sentence answers."""
    clause = english.clause(sentence)
    for asked in (found for rule in (_phrases, _counts, _reasons, _names, _effects) for found in rule(clause, english)) if clause else ():
        if text := english.finished(asked.text):
            yield Asked(text, asked.answer.strip(" ,"), asked.rule)


def _do(clause: Clause, english: English) -> str:
    return f"{clause.aux} {english.inside(clause.subject)}"


def _phrases(clause: Clause, english: English) -> Iterator[Asked]:
    """Questions about durations, dates and shares: a phrase with a preposition becomes a question word."""
    text = f" {clause.rest}"
    for pattern, head, rule in PHRASES:
        found = pattern.search(text)
        before, after = (text[: found.start()], text[found.end() :]) if found else ("", "")
        if not found or not before or re.search(r"\b(?:and|or|than|to|not)\b|,", before) or NUMBERED.search(after):
            continue
        if re.match(r"\s(?:and|or|to|until|of)\b", after) or (rule == "date" and re.match(rf"\s(?:{DETERMINER})\b", before)):
            continue
        units = {name: value or "" for name, value in found.groupdict().items()}
        yield Asked(f"{head.format(**units).capitalize()} {_do(clause, english)} {before} {after}", found["a"], rule)
        return


def _counts(clause: Clause, english: English) -> Iterator[Asked]:
    """Questions about a number of things, or a sum of money, that is the object of the verb."""
    if clause.aux in COPULA and not re.match(r"(?:\w+ed|given|paid)\b", clause.rest):
        return
    for pattern, rule in ((COUNT, "number"), (MONEY, "money")):
        found = pattern.fullmatch(clause.rest)
        if not found or NUMBERED.search(found["after"]) or re.search(rf"\b(?:{PREPOSITION}|and|or|not)\s\Z", found["verb"].strip()):
            continue
        head = f"How many {found['unit']}" if rule == "number" else "How much"
        yield Asked(f"{head} {_do(clause, english)} {found['verb']} {found['after']}", found["a"], rule)
        return


def _reasons(clause: Clause, english: English) -> Iterator[Asked]:
    """Questions about reasons, purposes and conditions."""
    if len(clause.rest.split()) < 2 or re.search(r"\b(?:just|simply|partly|mainly|not|largely)\Z", clause.rest):
        return
    if (found := REASON.fullmatch(clause.tail)) or (found := PURPOSE.fullmatch(clause.rest)):
        left = found.groupdict().get("left") or clause.rest
        yield Asked(f"Why {_do(clause, english)} {left}", found["a"], "reason")
    elif (found := CONDITION.match(clause.tail)) and clause.aux in ("may", "can", "must", "should", "is", "are", "do", "does"):
        yield Asked(f"When {_do(clause, english)} {clause.rest.removesuffix(' only')}", found["a"], "condition")


def _names(clause: Clause, english: English) -> Iterator[Asked]:
    """Questions about names, places, agents, uses, needs, and what a thing is."""
    if clause.aux not in COPULA:
        return
    do = _do(clause, english)
    for pattern, head, rule in ((PLACE, "Where", "place"), (AGENT, "Who", "agent")):
        if (found := pattern.fullmatch(clause.rest)) and NAME_ENDS.match(found["next"]):
            yield Asked(f"{head} {do} {found['left']}{' by' if rule == 'agent' else ''}", found["a"], rule)
    for pattern, end, rule in ((CALLED, "called", "name"), (USED, "used for", "use"), (LINKED, "linked to", "relation")):
        if found := pattern.fullmatch(clause.rest):
            yield Asked(f"What {do} {end}", found["a"], rule)
    if clause.aux in ("is", "was") and (found := NEEDED.fullmatch(clause.rest)):
        yield Asked(f"What {clause.aux} {found['left']}", clause.subject, "need")
    if clause.aux in ("is", "was") and (found := DEFINED.fullmatch(clause.rest)) and _is_term(clause.subject):
        words = set(re.findall(r"\w+", found["a"])[:8])
        is_name = re.fullmatch(r"[A-Z][\w.'-]+(?: [A-Z][\w.'-]+){1,3}", clause.subject)
        head = "Who" if words & english.wording.words("roles") else "Who or what" if is_name else "What"
        yield Asked(f"{head} {do}", found["a"] + clause.tail, "definition")


def _is_term(subject: str) -> bool:
    """True for a subject that can be defined: at most five words, with a name or a modifier behind an article."""
    words = subject.split()
    return len(words) <= 5 and not (words[0].lower() == "the" and len(words) < 3) and not re.search(r"\d{3}|\b(?:of|in|one)\b", subject)


def _effects(clause: Clause, english: English) -> Iterator[Asked]:
    """Questions about the effect of one thing on another, and about the object of a verb."""
    verb = next((verb for verb in english.objects if clause.rest.startswith(f"{verb} ")), clause.rest.partition(" ")[0])
    what = clause.rest[len(verb) + 1 :]
    if clause.aux not in ("do", "does", "did") or not what or NO_OBJECT.match(what):
        return
    first, second = english.inside(clause.subject), END_OF_OBJECT.sub("", what)
    if verb in english.effects and len(second.split()) <= 9:
        name = {"did": "effect_past", "does": "effect", "do": "effects"}[clause.aux]
        yield Asked(english.wording.text(name, first=first, second=second).rstrip("?"), f"{verb} {what}", "effect")
    elif verb in english.objects:
        yield Asked(f"What {clause.aux} {first} {verb}", what + (clause.tail if clause.tail.startswith(",") else ""), "object")
