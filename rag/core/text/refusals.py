"""The claims of a text, and whether it declines to answer: claims are sentences but questions, headings and refusals.

The patterns are English, German, French and Spanish; a refusal in another language is recognised by the sentence that the
prompt asks for (`refused`).
"""

import re
from collections.abc import Callable, Sequence

from rag.core.errors import ConfigError
from rag.core.text.citations import CitedSentence, cited_sentences, without_markers
from rag.core.text.sentences import Piece

ASSERTS = re.compile(r"\w")
READ = (
    r"(?:contexts?|passages?|sources?|documents?|texts?|notes?|excerpts?|extracts?|articles?|materials?)"
    r"(?: (?:that were |you )?(?:provided|given|supplied))?"
)
"""The words of models for the contexts."""
NOT = r"(?:do(?:es)? not|did not|don['’]t|doesn['’]t|didn['’]t)"
REFUSALS = (
    r"\b(?:i|we) (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t) (?:know|answer|find|say|tell|determine|confirm)\b",
    r"\b(?:i|we) (?:cannot|can['’]t|am unable to|['’]m unable to) (?:assist|comply|help (?:you|with))\b",
    r"\b(?:unable|not able) to (?:answer|find|say|tell|determine|confirm)\b",
    r"\b(?:cannot|can['’]t|could not) be (?:answered|determined|found)\b",
    rf"\b{READ} {NOT} (?:say|state|mention|answer|contain|provide|tell|include|specify|give|address|cover)\b",
    r"\bnot (?:explicitly |directly )?"
    r"(?:mentioned|stated|found|given|provided|answered|specified|included|covered|addressed|described|discussed) "
    rf"(?:anywhere )?in (?:any of )?(?:the|these|my|your) (?:given |provided |supplied )?{READ}\b",
    rf"\bno (?:mention|answer)\b.{{0,200}} in (?:any of )?(?:the|these) (?:given |provided |supplied )?{READ}\b",
    rf"\b(?:i|we) {NOT} have (?:any |enough |sufficient |specific |the )*(?:information|details|data)\b",
    r"\b(?:no|not enough|insufficient) (?:relevant )?information\b",
    r"\b(?:ich|wir) (?:weiß|weiss|wissen) (?:das |es )?(?:leider )?nicht\b",
    r"\b(?:kann|können|konnten?|lässt sich)\b.{0,80}\bnicht (?:beantwort|find|gefunden|sagen|bestimm|bestätig|entnehm)",
    r"\b(?:keine|nicht genügend|nicht genug|zu wenige?) (?:\w+en )?(?:informationen|angaben|hinweise)\b",
    r"\b(?:kontext|dokument|quelle|text|passage|abschnitt|auszug|auszüge)\w{0,3}\b.{0,60}\b"
    r"nicht (?:erwähnt|enthalten|angegeben|genannt|beschrieben)\b",
    r"\b(?:je|nous) ne (?:le )?(?:sais|savons|peux|pouvons|trouve|trouvons) pas\b",
    r"\b(?:pas assez|pas suffisamment|aucune|pas) (?:d['’]|de )?informations?\b",
    r"\bn['’](?:est|sont) pas (?:mentionn|indiqu|précis|trouv)ée?s?\b.{0,60}\b(?:contexte|document|texte|passage|extrait)",
    r"\bno (?:lo )?(?:sé|sabemos)\b",
    r"\bno (?:puedo|podemos|se puede) (?:responder|contestar|encontrar|decir|determinar|confirmar)\b",
    r"\bno hay (?:suficiente )?información\b",
    r"\bno se (?:menciona|indica|especifica|encuentra)n?\b.{0,60}\b(?:contexto|documento|texto|pasaje|fuente)",
)
"""Sentences that decline to answer."""
WORDS = re.compile(r"\w+(?:['’]\w+)*")


def refusals(further: Sequence[str] = ()) -> tuple[re.Pattern[str], ...]:
    """REFUSALS and further regular expressions, case ignored; ConfigError for an invalid one."""
    try:
        return tuple(re.compile(phrase, re.IGNORECASE) for phrase in (*REFUSALS, *further))
    except re.error as error:
        raise ConfigError("judge.abstentions", f"holds {error.pattern!r}: {error}", "regular expressions") from error


SAYING_NOTHING = refusals()


def claims(text: str, abstentions: Sequence[re.Pattern[str]] = SAYING_NOTHING) -> tuple[list[Piece], bool]:
    """The claims of a text as [start, end), and whether it abstains: it has no words, or only refusals."""
    claiming, declined = _divided(text, lambda sentence: any(pattern.search(sentence) for pattern in abstentions))
    spans = [(sentence.start, sentence.end) for sentence in claiming]
    return spans, not ASSERTS.search(text) or (declined and not spans)


def claiming_sentences(text: str) -> list[CitedSentence]:
    """The sentences of a text that make claims, with their markers."""
    return _divided(text, lambda sentence: any(pattern.search(sentence) for pattern in SAYING_NOTHING))[0]


def declines(text: str) -> bool:
    """True if a sentence of a text declines to answer."""
    return _divided(without_markers(text), lambda sentence: any(pattern.search(sentence) for pattern in SAYING_NOTHING))[1]


def refused(text: str, refusal: str = "", contexts: Sequence[str] = ()) -> bool:
    """True if a reply declines to answer: it has no words, or those of `refusal`, or only refusals.

    A sentence that reads like a refusal and occurs word for word in one of `contexts` is a quotation, not a refusal.
    """
    known = {_words(refusal), *(_words(refusal[part.start : part.end]) for part in cited_sentences(refusal))} - {()}
    read = [" ".join(context.split()) for context in contexts]

    def declines(sentence: str) -> bool:
        if _words(sentence) in known:
            return True
        matches = any(pattern.search(sentence) for pattern in SAYING_NOTHING)
        return matches and not any(" ".join(sentence.split()) in context for context in read)

    plain = without_markers(text)
    claiming, declined = _divided(plain, declines)
    return not ASSERTS.search(plain) or _words(plain) in known or (declined and not claiming)


def _divided(text: str, declines: Callable[[str], bool]) -> tuple[list[CitedSentence], bool]:
    """The sentences with claims, and whether one of the others declines; questions do neither."""
    claiming, declined = list[CitedSentence](), False
    for sentence in cited_sentences(text):
        words = without_markers(text[sentence.start : sentence.end])
        if declines(words):
            declined = True
        elif words.rstrip("\"'”’)*_ ")[-1:] != "?" and ASSERTS.search(words):
            claiming.append(sentence)
    return claiming, declined


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold().replace("’", "'") for word in WORDS.findall(text))
