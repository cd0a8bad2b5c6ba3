"""English sentences as clauses that can be asked about: a short subject, an auxiliary verb, and the rest of a main clause.

Only sentences whose grammar is certain have one: the verb is an auxiliary or in the lists of conf/question_templates.yaml, the
subject has no verb of its own, and the clause ends before a comma, conjunction or relative pronoun.
"""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from rag.datasets.generation.wording import Wording

AUX = r"is|are|was|were|can|could|may|might|must|should|shall|will|would"
PREPOSITION = (
    r"of|in|on|at|by|for|from|to|into|with|without|within|during|after|before|under|over|above|below|between|per|until|as|near"
    r"|through|across|against|about|around|upon|towards|among|along|off|onto|inside|outside|behind|beyond|than|via"
)
DETERMINER = r"the|a|an|each|every|any|all|no|some|most|many|several|both|your|one|two|three|four|five|six|its|their"
WH = r"that|which|who|whose|whom|what|how|why|where"
CUT = re.compile(
    rf"""\s*[;:,]\s | \s[–—-]{{1,2}}\s
    | \s(?:because|if|when|unless|while|whereas|although|though|so\ that|in\ order\ to|since|until|but|provided|once|whether|after
        |before|as\ soon\ as|{WH})\s(?!\d|the\ (?:first|end)\b)
    | \s(?:and|or)\s(?=(?:the|it|they|he|she|you|we|this|that|there|a|an|must|may|can|is|are|was|were|has|have|had|will|would
        |should|then|not|only)\b|(?:\w+ly\ )?[\w-]+(?:s|ed)\ (?:to|the|a|an|in|on|with|its|their|his|her|by|at|for|as|into|\w+ly)\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
LEAD = re.compile(
    r"(?:however|therefore|thus|hence|moreover|furthermore|also|then|finally|similarly|indeed|instead|consequently|in addition"
    r"|for example|for instance|in contrast|as a result|in fact|in particular|nevertheless|overall|interestingly|notably"
    r"|importantly|here|together|additionally|conversely|surprisingly),? ",
    re.IGNORECASE,
)
SHOWN = re.compile(
    r"(?:(?:here,? )?(?:we|(?:these|our|the) (?:results|data|findings|study|studies|experiments)|results|it (?:is|was)) (?:also |further )?"
    r"(?:show|find|found|demonstrate|report|indicate|suggest|conclude|reveal)\w* that )",
    re.IGNORECASE,
)
LABEL = re.compile(r"(?:[A-Z]{5,}(?:/[A-Z]+)?:? )+(?=[A-Z][\w-]* )")
"""The labels of the parts of an abstract."""
NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*\.?|[QA][.:]|\(?[a-z\d]\))\s+")
POINTS = re.compile(
    r"\b(?:i|me|my|we|us|our|ours|he|him|his|she|her|hers|it|they|them|this|these|those|such|here|there|former|latter|above"
    r"|following|respectively|another|others?|else|so|same|thereby|either|neither|again|now|today|n't|let's)\b|\b\w+'(?:ve|re|ll|m|d)\b",
    re.IGNORECASE,
)
"""Words that point to another sentence, or to a speaker."""
NO_SUBJECT = re.compile(
    rf"(?:{PREPOSITION}|{WH}|and|or|but|if|when|while|there|not|never|only|even|let|do|does|did|although|though|because|since|once"
    r"|unless|its|their|his|no|none|nothing|neither|nobody|(?!family|italy|july|supply|assembly|reply)\w+ly)\b",
    re.IGNORECASE,
)
INNER = re.compile(rf"\b(?:{WH}|when|if|because|while|not|never|to be|to \w+|{AUX}|has|have|had|do|does|did|be|been)\b", re.IGNORECASE)
PARTICIPLE = re.compile(r"been|being|given|made|taken|shown|seen|become|grown|written|begun|known|led|held|\w+ed|gone|come|found|won")
DROPPED = re.compile(r"\b(?:also|therefore|thus|however|then|still|already|usually|normally|generally|currently|significantly) ")


@dataclass(frozen=True, slots=True)
class Clause:
    """A main clause: `aux` may be do, does or did, `rest` then begins with the base form; `tail` is what follows the clause."""

    subject: str
    aux: str
    rest: str
    tail: str = ""


class English:
    """The clauses of English sentences; `common` are words that the documents write in lower case."""

    def __init__(self, wording: Wording, common: Container[str] = ()) -> None:
        self.wording, self.common = wording, common
        effects, objects, times = (wording.words(f"{name}_verbs") for name in ("effect", "object", "time"))
        self.effects, self.objects = (frozenset(verb.partition("/")[0] for verb in verbs) for verbs in (effects, objects))
        self.forms = {form: found for verb in sorted(effects | objects | times) for form, found in _forms(verb)}
        self.forms |= {"has": ("have", "does"), "have": ("have", "do"), "had": ("have", "did")}
        listed = "|".join(sorted(map(re.escape, self.forms), key=len, reverse=True))
        self._finite = re.compile(rf"(?P<subject>\S.*?)\s(?:(?P<aux>{AUX})|(?P<verb>{listed}))\s(?P<rest>\S.*)")
        self._verb = re.compile(rf"(?:\w+ly )?(?:{AUX}|{listed})\b")
        self._pasts = frozenset(form for form, (_, aux) in self.forms.items() if aux == "did") | {"did", "said"}

    def clause(self, sentence: str) -> Clause | None:
        """The main clause of a sentence, None if its grammar is not certain."""
        text = DROPPED.sub("", re.sub(r"\s*[(\[][^()\[\]]*[)\]]", "", _body(sentence)))
        found = self._finite.fullmatch(text)
        if not found or not 4 <= len(text.split()) <= 45 or re.search(r"[\"?|=]", text) or not self._is_subject(found["subject"]):
            return None
        clause = Clause(found["subject"], (found["aux"] or "").lower(), found["rest"])
        if found["verb"]:
            base, aux = self.forms[found["verb"]]
            if base == "have" and PARTICIPLE.match(re.sub(r"^\w+ly ", "", found["rest"])):
                clause = replace(clause, aux=found["verb"])
            elif self._verb.match(found["rest"]) or _agrees(aux, found["subject"]) is False:
                return None
            else:
                clause = Clause(found["subject"], aux, f"{base} {found['rest']}")
        cut = CUT.search(clause.rest)
        if not cut:
            return clause
        after = clause.rest[cut.end() :]
        is_list = cut[0].strip() == "," and re.match(r"(?:[\w'-]+ ){0,4}[\w'-]+,? (?:and|or) |(?:and|or) |[\w'-]+ed ", after)
        if is_list or re.match(rf"\s(?:{WH}|whether)\s", cut[0], re.IGNORECASE) or not clause.rest[: cut.start()]:
            return None
        return replace(clause, rest=clause.rest[: cut.start()], tail=clause.rest[cut.start() :])

    def _is_subject(self, text: str) -> bool:
        words = text.split()
        if text.lower() == "you":
            return True
        if len(words) > 9 or re.search(r"[,;:]", text) or NO_SUBJECT.match(text) or INNER.search(text) or POINTS.search(text):
            return False
        if re.search(rf"(?:\A|\s)(?:{PREPOSITION}|{DETERMINER}|and|or|\w+ly)\Z", text, re.IGNORECASE):
            return False
        if re.fullmatch(rf"(?:(?:{DETERMINER}) )?(?:\w+ )?(?P<noun>\w+)", text, re.IGNORECASE) and words[-1].lower() in self.wording.words("vague"):
            return False
        return not any(self._is_verb(before, word) for before, word in zip(words, words[1:], strict=False))

    def _is_verb(self, before: str, word: str) -> bool:
        """True if a word of a subject may be a verb: in the past, or listed in its third person, and not behind an article."""
        is_modifier = re.fullmatch(rf"{DETERMINER}|{PREPOSITION}|and|or|\w+ly|\w+(?:al|ic|ive|ous)", before, re.IGNORECASE)
        return (word in self._pasts or (word in self.forms and word.endswith("s")) or bool(re.fullmatch(r"[a-z]+ed", word))) and not is_modifier

    def inside(self, subject: str) -> str:
        """A subject inside of a question: its first word in lower case if the documents write it so."""
        first = subject.split(" ")[0]
        is_common = first[1:].islower() and (first.lower() in self.common or re.fullmatch(DETERMINER, first, re.IGNORECASE))
        return first.lower() + subject[len(first) :] if is_common or first in ("A", "You") else subject

    def finished(self, text: str) -> str:
        """A question with `I` for `you`, in plainer words, as typed; empty if it points to another sentence, or is too short or long."""
        text = " ".join(text.split()).rstrip(" .,")
        if POINTS.search(text) or not 4 <= len(text.split()) <= 20 or re.search(r"\byou\b.*\byou\b", text):
            return ""
        for pattern, mine in (("are you", "am I"), ("were you", "was I"), ("you", "I"), ("your", "my"), ("yourself", "myself")):
            text = re.sub(rf"\b{pattern}\b", mine, text)
        return self.wording.typed(self.wording.plain(text[:1].upper() + text[1:]) + "?")


def _body(sentence: str) -> str:
    text = sentence
    for pattern in (NUMBERED, LABEL, LEAD, SHOWN):
        found = pattern.match(text)
        text = text[found.end() :] if found else text
    return text.strip().rstrip(".").strip()


def _forms(verb: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """The finite forms of a listed verb, each with base form and the auxiliary of its questions."""
    base, _, past = verb.partition("/")
    word, blank, particle = base.partition(" ")
    stem = f"{word[:-1]}i" if re.search(r"[^aeiou]y\Z", word) else word
    third = f"{stem}es" if stem != word or re.search(r"(?:s|sh|ch|x|z|go)\Z", word) else f"{word}s"
    yield base, (base, "do")
    yield third + blank + particle, (base, "does")
    regular = f"{word}d" if word.endswith("e") else f"{stem}ed"
    if past or "/" not in verb:
        yield past or regular + blank + particle, (base, "did")


def _agrees(aux: str, subject: str) -> bool | None:
    """False if the number of a subject does not fit do or does, None if it is not certain."""
    head = re.split(rf"\s(?:{PREPOSITION})\s", subject)[0]
    last = head.split()[-1].lower()
    plural = bool(re.search(r"(?:s|people|staff|children|men|women|data|bacteria|mice|police|you)\Z", last))
    plural = (plural and not re.search(r"(?:ss|us|is)\Z", last)) or bool(re.search(r"\sand\s", head))
    return None if aux == "did" else plural == (aux == "do")
