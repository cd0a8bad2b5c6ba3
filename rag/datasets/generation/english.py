"""English sentences as questions: an auxiliary verb moves to the front, and a question word replaces the answer.

Only sentences whose grammar is certain become questions: a short subject without a clause, then an auxiliary verb, or a verb of
the lists in conf/question_templates.yaml, and a main clause that ends before any comma, conjunction or relative pronoun.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag.datasets.generation.wording import Wording

AUX = r"is|are|was|were|can|could|may|might|must|should|shall|will|would|has been|have been|had been"
DETERMINERS = r"the|a|an|each|every|any|all|no|some|most|many|several|both|your|one|two|three|four|five|six"
NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|eighteen|twenty|thirty|forty"
    "|fifty|sixty|seventy|eighty|ninety|one hundred|two hundred"
)
NUM = rf"(?:(?:{NUMBER_WORDS})(?:[- ](?:{NUMBER_WORDS}))?|\d[\d,]*(?:\.\d+)?(?: (?:hundred|thousand|million|billion))?)"
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
DATE = rf"(?:\d{{1,2}} (?:{MONTHS})(?: \d{{4}})?|(?:{MONTHS})(?: \d{{1,2}})?(?:, \d{{4}}| \d{{4}})?|the end of (?:{MONTHS}))"
YEAR = r"(?:1[0-9]|20)\d\d"
TIME = r"(?:(?:working|calendar|school|business) )?(?:seconds|minutes|hours|days|weeks|months|years|decades|centuries)"
PREPOSITION = (
    r"of|in|on|at|by|for|from|to|into|with|without|within|during|after|before|under|over|above|below|between|per|until|as|near"
    r"|through|across|against|about|around|upon|towards|among|along|off|onto|inside|outside|behind|beyond|than|via|a|an|each|every"
)
CUT = re.compile(
    r"\s*[;:,]\s|\s[–—-]{1,2}\s|\s(?:because|if|when|unless|while|whereas|although|though|so that|in order to|since|where|until"
    r"|but|provided|once|whether|after|before|as soon as)\s(?!\d|the (?:first|end)\b)|"
    r"\s(?:that|which|who|whose|whom|what|how|why)\s|\s(?:and|or)\s(?=(?:the|it|they|he|she|you|we|this|that|there|a|an|must|"
    r"may|can|is|are|was|were|has|have|had|will|would|should|then|not|only)\b)",
    re.IGNORECASE,
)
LEAD = re.compile(
    r"(?:However|Therefore|Thus|Hence|Moreover|Furthermore|Also|Then|Finally|Similarly|Indeed|Instead|Consequently|In addition"
    r"|For example|For instance|In contrast|As a result|In fact|In particular|Nevertheless|Overall|Interestingly|Notably), ",
    re.IGNORECASE,
)
SHOWN = re.compile(
    r"(?:(?:we|here,? we|these (?:results|data|findings)|our (?:results|data|findings)|the results?|results|it (?:is|was)) "
    r"(?:also |further )?(?:show|shows|showed|shown|find|found|demonstrate|demonstrated|report|reported|indicate|indicated"
    r"|suggest|suggested|conclude|concluded|reveal|revealed) that )",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[QA][.:]|\(?[a-z\d]\))\s+")
LOOSE = re.compile(
    r"\b(?:i|me|my|we|us|our|ours|he|him|his|she|her|hers|it|they|them|this|these|those|such|here|there|former|latter|above"
    r"|below this|following|respectively|another|other|others|else|so|same|below that|thereby|one of|either|neither)\b",
    re.IGNORECASE,
)
"""Words that point to another sentence."""
NO_SUBJECT = re.compile(
    rf"(?:{PREPOSITION}|and|or|but|if|when|while|that|what|which|who|how|why|where|there|not|never|only|to|let|do|does|did"
    r"|although|though|because|since|as|once|unless|it|this|these|those|he|she|they|we|i|another|such|so|then|now|today)\b(?! of)",
    re.IGNORECASE,
)
CLAUSE_WORD = re.compile(
    r"\b(?:who|whom|whose|which|that|what|where|when|if|how|why|because|while|not|never|to be)\b", re.IGNORECASE
)
VERBAL = re.compile(r"\w+(?:ed|ing|es)\Z")
DROPPED = re.compile(r"\b(?:also|therefore|thus|however|then|still|already|usually|normally|generally|currently) ")


@dataclass(frozen=True, slots=True)
class Clause:
    """A main clause: `aux` may be do, does or did, `verb` is then the base form; `tail` is what follows the clause."""

    subject: str
    aux: str
    rest: str
    tail: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a sentence: `rule` is its name, `about` its subject, `answer` the words of the sentence that answer it."""

    text: str
    answer: str
    rule: str
    about: str = ""
    kind: str = "factoid"


class English:
    """Questions of English sentences."""

    def __init__(self, wording: Wording) -> None:
        self.wording = wording
        lists = [wording.words(f"{name}_verbs") for name in ("effect", "object", "time")]
        self.effects, self.objects, self.times = lists
        self.forms = {form: (base, aux) for verbs in lists for base in verbs for form, aux in _forms(base)}
        self.forms |= {"has": ("have", "does"), "have": ("have", "do"), "had": ("have", "did")}
        listed = "|".join(sorted(self.forms, key=len, reverse=True))
        self._fronted = re.compile(rf"(?P<subject>\S.*?)\s(?P<aux>{AUX})\s(?P<rest>.+)", re.IGNORECASE)
        self._simple = re.compile(rf"(?P<subject>\S.*?)\s(?P<verb>{listed})\s(?P<rest>.+)")

    def questions(self, sentence: str) -> Iterator[Asked]:
        """The questions that a sentence answers, most specific first."""
        text = DROPPED.sub("", re.sub(r"\s*[(\[][^()\[\]]*[)\]]", "", _body(sentence)))
        if '"' in text or "?" in text or "|" in text or not 4 <= len(text.split()) <= 45:
            return
        for clause in self._clauses(text):
            for asked in _asked(clause, self):
                question = self._finished(asked, clause)
                if question:
                    yield question

    def _clauses(self, text: str) -> Iterator[Clause]:
        found = self._fronted.fullmatch(text)
        simple = self._simple.fullmatch(text)
        if found and (not simple or len(found["subject"]) < len(simple["subject"])):
            aux, *more = found["aux"].split()
            clause = Clause(found["subject"], aux, " ".join([*more, found["rest"]]), "")
        elif simple:
            base, aux = self.forms[simple["verb"]]
            plural = _plural(simple["subject"])
            if (aux == "does" and plural is True) or (aux == "do" and plural is not True):
                return
            clause = Clause(simple["subject"], aux, f"{base} {simple['rest']}", "")
        else:
            return
        if not self._is_subject(clause.subject):
            return
        cut = CUT.search(clause.rest)
        if cut and re.match(r"\s(?:that|which|who|whose|whom|what|how|why|whether)\s", cut[0], re.IGNORECASE):
            return
        if (
            cut
            and cut[0].strip() == ","
            and re.match(r"(?:[\w-]+ ){0,4}[\w-]+,? (?:and|or) |(?:and|or) ", clause.rest[cut.end() :])
        ):
            return
        yield replace(clause, rest=clause.rest[: cut.start()], tail=clause.rest[cut.start() :]) if cut else clause

    def _is_subject(self, text: str) -> bool:
        words = text.split()
        if text.lower() == "you":
            return True
        inner = [word for word in words[1:] if word in self.forms and not word.endswith("s")]
        third = [word for word in words[1:-1] if word in self.forms and word.endswith("s")]
        return (
            len(words) <= 9
            and not re.search(r"[,;:\"]", text)
            and not NO_SUBJECT.match(text)
            and not CLAUSE_WORD.search(text)
            and not LOOSE.search(text)
            and not inner
            and not third
            and not re.search(rf"\s(?:{AUX}|has|have|had|{PREPOSITION}|and|or)\Z", f" {text}", re.IGNORECASE)
        )

    def _finished(self, asked: Asked, clause: Clause) -> Asked | None:
        """The question with `I` for `you`, in plainer words; None if it points to another sentence or is too short or long."""
        text = " ".join(asked.text.split())
        if LOOSE.search(_without_wh(text)) or not 4 <= len(text.split()) <= 22 or re.search(r"\byou\b.*\byou\b", text):
            return None
        if re.search(r"\byou\b|\byour", text, re.IGNORECASE):
            text = re.sub(r"\b(?:are|were) you\b", lambda found: {"are": "am I", "were": "was I"}[found[0].split()[0]], text)
            text = re.sub(r"\byourself\b", "myself", re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "I", text)))
        text = self.wording.plain(text[:1].upper() + text[1:].rstrip(" .") + "?")
        return replace(asked, text=self.wording.typed(text), about=clause.subject)


def _body(sentence: str) -> str:
    text = NUMBERED.sub("", sentence, count=1) if NUMBERED.match(sentence) else sentence
    shown = SHOWN.match(text)
    text = text[shown.end() :] if shown else text
    lead = LEAD.match(text)
    return text[lead.end() if lead else 0 :].strip().rstrip(".").strip()


def _forms(base: str) -> Iterator[tuple[str, str]]:
    """The finite forms of a verb with the auxiliary of its questions; irregular past forms are left out."""
    stem = base[:-1] if re.search(r"[^aeiou]y\Z", base) else base
    yield base, "do"
    yield (f"{stem}ies" if stem != base else f"{base}es" if re.search(r"(?:s|sh|ch|x|z)\Z", base) else f"{base}s"), "does"
    if base not in IRREGULAR:
        yield (f"{stem}ied" if stem != base else f"{base}d" if base.endswith("e") else f"{base}ed"), "did"
    elif IRREGULAR[base]:
        yield IRREGULAR[base], "did"


IRREGULAR = {
    "run": "ran", "take": "took", "begin": "began", "cost": "", "pay": "paid", "permit": "permitted", "control": "controlled",
    "slow": "slowed", "trigger": "triggered", "allow": "allowed",
}  # fmt: skip


def _plural(subject: str) -> bool | None:
    """True for a plural subject, False for a singular one; None if it is not certain."""
    head = re.split(rf"\s(?:{PREPOSITION})\s", subject)[0]
    last = head.split()[-1]
    if re.search(r"\sand\s", subject):
        return None if " of " in subject else True
    if re.search(r"(?:s|people|staff|children|men|women|data|bacteria|mice)\Z", last) and not re.search(
        r"(?:ss|us|is)\Z", last
    ):
        return True
    return False


def _without_wh(text: str) -> str:
    return re.sub(r"\bso that\b", "", text)


def _lowered(subject: str) -> str:
    """A subject inside of a question: its first word in lower case if it is a common one."""
    first, _, others = subject.partition(" ")
    is_name = first.isupper() or any(map(str.isdigit, first)) or re.search(r"\w[A-Z]", first)
    common = re.fullmatch(rf"(?:{DETERMINERS}|{PREPOSITION}|you|people)", first, re.IGNORECASE)
    if common or (
        not is_name and others and not others[:1].isupper() and not re.search(r"\b(?:of|the) [A-Z]|'s\b", others[:12])
    ):
        return f"{first[:1].lower()}{first[1:]} {others}".strip() if common or _common(first) else subject
    return subject


def _common(word: str) -> bool:
    """True for a first word that its form shows to be no name."""
    return (
        bool(re.search(r"(?:s|ing|ed|tion|al|ful|ary|ive|ous|er|ment|ity|ness|able|time|ent|ic|ine)\Z", word))
        and word[0].isupper()
    )


def _asked(clause: Clause, english: English) -> Iterator[Asked]:
    """All questions about a clause."""
    subject, do = _lowered(clause.subject), f"{clause.aux.lower()} {_lowered(clause.subject)}"
    yield from _measures(clause, do)
    yield from _reasons(clause, do)
    yield from _relations(clause, subject, do, english)


MEASURES = (
    (rf"\s(?P<a>for (?:at least |up to |about |around |over |nearly |more than |only )?{NUM} {TIME})(?=\s|$)", "For how long", "duration"),
    (rf"\s(?P<a>within (?P<n>{NUM}) (?P<u>{TIME}))(?=\s|$)", "Within how many {u}", "duration"),
    (rf"\s(?P<a>after (?P<n>{NUM}) (?P<u>(?:completed |full )?{TIME}))(?=\s|$)", "After how many {u}", "duration"),
    (rf"\s(?P<a>(?:at least )?(?:every (?:{NUM} )?{TIME}|every (?:day|week|month|year|hour)|(?:once|twice|{NUM} times) (?:a|every|each|per) "
     r"(?:\w+ )?(?:day|week|month|year|hour|shift)))(?=\s|$)", "How often", "frequency"),
    (rf"\s(?P<a>(?:until|till) (?:the )?{DATE})(?=\s|$)", "Until when", "date"),
    (rf"\s(?P<a>(?:by|before) (?:the )?{DATE})(?=\s|$)", "By when", "date"),
    (rf"\s(?P<a>from (?:the )?{DATE})(?=\s|$)(?! to)", "From when", "date"),
    (rf"\s(?P<a>on (?:the )?{DATE})(?=\s|$)", "When", "date"),
    (rf"\s(?P<a>in (?:early |late |the spring of |the summer of )?(?:(?:{MONTHS}) )?{YEAR})(?=\s|$)", "When", "date"),
    (rf"\s(?P<a>at (?P<n>\d{{1,2}}[:.]\d\d(?: ?[ap]\.?m\.?)?|noon|midnight|{NUM} (?:am|pm)))(?=\s|$)", "At what time", "time"),
    (r"\s(?P<a>(?P<p>below|above|over|under|at) -?\d+(?:\.\d+)? ?°[CF])(?=\s|$)", "{p} what temperature", "temperature"),
    (r"\s(?P<a>(?P<p>within|up to|to|over) \d+(?:\.\d+)? ?(?:m|km|cm|mm|miles?|metres|meters|feet)\b)(?=\s|$)", "{p} what distance", "distance"),
    (r"\s(?P<a>(?P<p>at|by|of|to|up to) (?:about |around |over )?\d+(?:\.\d+)? ?(?:%|per cent|percent))(?=\s|$)(?! of)", "{p} what percentage", "share"),
)  # fmt: skip
COMPILED = tuple((re.compile(pattern), head, rule) for pattern, head, rule in MEASURES)
QUALIFIER = r"(?:(?:up to|at least|at most|no more than|not more than|more than|fewer than|less than|about|around|only|over|nearly|exactly) )?"
OBJECT = re.compile(
    rf"(?P<verb>(?:(?:been|be) )?(?:[\w-]+ ){{1,2}}?)(?P<a>{QUALIFIER}{NUM} (?P<unit>(?:[\w-]+ ){{0,2}}?[\w-]+s|people|children|men|women))"
    rf"(?P<after>(?:\s(?:{PREPOSITION})\s.+)?)"
)
MONEY = re.compile(
    rf"(?P<verb>(?:be )?(?:[\w-]+ ){{1,2}}?)(?P<a>{QUALIFIER}[£$€]\s?[\d,.]+\d(?: (?:thousand|million|billion))?)(?P<after>(?:\s(?:{PREPOSITION})\s.+)?)"
)
BARE = ("measure", "distance", "share", "temperature")


def _measures(clause: Clause, do: str) -> Iterator[Asked]:
    """Questions about numbers, dates and durations: the phrase is replaced by a question word at the front."""
    for pattern, head, rule in COMPILED:
        found = pattern.search(f" {clause.rest}")
        if found and not re.search(r"\b(?:and|or|to)\Z", f" {clause.rest}"[: found.start()]):
            left = f"{f' {clause.rest}'[: found.start()]} {f' {clause.rest}'[found.end() :]}"
            values = {name: value or "" for name, value in found.groupdict().items()}
            if len(left.split()) >= 1 and not re.match(r"\s*(?:and|or|to)\b", f" {clause.rest}"[found.end() :]):
                yield Asked(f"{head.format(**values).capitalize()} {do} {left}", found["a"], rule)
                break
    if clause.aux in ("is", "are", "was", "were") and not re.match(r"\w+ed\b|given|paid|allowed", clause.rest):
        return
    if (found := OBJECT.fullmatch(clause.rest)) and not re.search(rf"\b(?:{PREPOSITION}|and|or|not)\s\Z", found["verb"]):
        yield Asked(f"How many {found['unit']} {do} {found['verb']} {found['after']}", found["a"], "number")
    elif (found := MONEY.fullmatch(clause.rest)) and not re.search(rf"\b(?:{PREPOSITION}|and|or|not)\s\Z", found["verb"]):
        yield Asked(f"How much {do} {found['verb']} {found['after']}", found["a"], "money")


REASON = re.compile(r"[\s,]*(?:because (?!of\b)|so that |in order to |because of )(?P<a>.+)", re.IGNORECASE)
PURPOSE = re.compile(r"(?P<left>.+) to (?P<a>(?:avoid|prevent|ensure|reduce|protect|help|make sure|save|keep) .+)")
CONDITION = re.compile(r"\s(?P<a>(?:only )?(?:if|when|unless|once) .+)", re.IGNORECASE)


def _reasons(clause: Clause, do: str) -> Iterator[Asked]:
    """Questions about reasons, purposes and conditions."""
    if len(clause.rest.split()) < 2:
        return
    if found := REASON.fullmatch(clause.tail):
        yield Asked(f"Why {do} {clause.rest}", found[0].strip(" ,"), "reason")
    elif found := PURPOSE.fullmatch(clause.rest):
        yield Asked(f"Why {do} {found['left']}", f"to {found['a']}", "reason")
    only = clause.rest.endswith(" only")
    if (found := CONDITION.match(clause.tail)) and clause.aux in ("may", "can", "must", "should", "is", "are", "do", "does"):
        rest = clause.rest.removesuffix(" only")
        yield Asked(
            f"When {do} {rest}" if clause.aux != "may" or not only else f"On what condition {do} {rest}",
            found["a"],
            "condition",
        )


PLACE = re.compile(
    r"(?P<left>(?:been )?(?:born|located|situated|built|buried|kept|stored|based|held|raised|educated|found|housed|hidden|parked))"
    r" (?P<a>(?:in|at|on|near|inside) (?:the )?(?!(?:[A-Z][a-z]+ )?(?:1\d|20)\d\d|May|June|July)(?:[A-Z][\w'-]+|\w+ (?:room|desk|store|office|cupboard|safe|yard))(?: (?:of |the )?[A-Z][\w'-]+)*)"
)
CALLED = re.compile(r"(?:also )?(?:(?:been )?(?:called|known as|named|referred to as|termed)) (?P<a>.+)")
AGENT = re.compile(
    r"(?P<left>(?:been )?[\w-]+(?:ed|en|wn|de|ilt|nt|lt|ld|ght)(?: (?:in|to|from|for) [\w\s'-]+?)?) by (?P<a>(?:the )?[A-Z][\w.'-]+(?: (?:of |and |the |de )?[A-Z][\w.'-]+)*)"
)
USED = re.compile(r"used (?P<p>to|for) (?P<a>.+)")
RELATED = re.compile(
    r"(?:strongly |closely |positively |negatively |significantly )?(?:associated|correlated|linked) (?:with|to) (?P<a>.+)"
)
NEEDED = re.compile(r"(?P<left>(?:required|essential|responsible|necessary|needed|sufficient|important|critical) for .+)")
DEFINED = re.compile(r"(?P<a>(?:the|an?) [a-z].+)")


def _relations(clause: Clause, subject: str, do: str, english: English) -> Iterator[Asked]:
    """Questions about names, places, agents, uses, effects and objects."""
    is_copula = clause.aux in ("is", "are", "was", "were")
    if is_copula and (found := PLACE.match(clause.rest)):
        yield Asked(f"Where {do} {found['left']}", found["a"], "place")
    if is_copula and (found := CALLED.fullmatch(clause.rest)):
        yield Asked(f"What {do} called", found["a"], "name")
    if is_copula and (found := AGENT.match(clause.rest)):
        yield Asked(f"Who {do} {found['left']} by", found["a"], "agent")
    if is_copula and (found := USED.fullmatch(clause.rest)):
        yield Asked(f"What {do} used for", f"{found['p']} {found['a']}", "use")
    if is_copula and (found := RELATED.fullmatch(clause.rest)):
        yield Asked(f"What {do} linked to", found["a"], "relation")
    if clause.aux in ("is", "was") and (found := NEEDED.fullmatch(clause.rest)):
        yield Asked(f"What {clause.aux} {found['left']}", clause.subject, "need")
    if clause.aux in ("is", "was") and (found := DEFINED.fullmatch(clause.rest)) and _is_term(clause.subject):
        template = "person" if set(re.findall(r"\w+", found["a"])[:8]) & english.wording.words("roles") else "definition"
        text = english.wording.text(template, term=re.sub(r"^(?:The|A|An) ", lambda word: word[0].lower(), clause.subject))
        yield Asked(
            text.rstrip("?") if template == "definition" else f"Who {clause.aux} {subject}",
            f"{found['a']}{clause.tail}",
            "definition",
            kind="definition",
        )
    verb, _, what = clause.rest.partition(" ")
    if clause.aux in ("do", "does", "did") and what:
        if verb in english.effects and len(what.split()) <= 9 and not re.match(rf"(?:{PREPOSITION})\b(?<!a)(?<!an)", what):
            name = "effect_past" if clause.aux == "did" else "effect" if clause.aux == "does" else "effects"
            yield Asked(english.wording.text(name, first=subject, second=what).rstrip("?"), f"{verb} {what}", "effect")
        elif verb in english.objects and not re.match(rf"(?:{PREPOSITION})\b(?<!a)(?<!an)", what):
            yield Asked(f"What {do} {verb}", f"{what}{clause.tail if clause.tail.startswith(',') else ''}", "object")


def _is_term(subject: str) -> bool:
    """True for a subject that a definition defines: a name, or a short noun with its article."""
    words = subject.split()
    return (
        len(words) <= 5
        and not (words[0].lower() == "the" and len(words) < 3)
        and not re.search(r"\d{3}|\bof\b|\bin\b", subject)
    )
