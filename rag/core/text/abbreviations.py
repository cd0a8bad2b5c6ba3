"""Abbreviations by language: a full stop after one of them does not end a sentence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

NEVER_LAST = {
    "english": "mr mrs ms dr prof st mt sgt capt lt col gen gov sen rep rev hon e.g i.e cf vs viz",
    "german": "hr fr frl ing mag abs bzgl bzw ca d.h evtl ggf inkl exkl insb mio mrd sog std str u.a usf vgl z.b z.t zzgl",
    "french": "mm mme mlle mgr av bd boul env ex p.ex réf",
    "spanish": "sr sra srta d dña ud uds ee.uu p.ej avda núm",
    "italian": "sig sigg sig.ra dott dott.ssa ing avv p.es",
    "portuguese": "sr sra srta dra eng exmo av p.ex",
    "dutch": "dhr mevr mw ir drs bijv d.w.z i.p.v m.b.t o.a t.a.v",
    "swedish": "bl.a d.v.s dvs f.d fr.o.m inkl m.fl o.s.v resp s.k t.ex t.o.m",
    "danish": "bl.a dvs f.eks fx hhv inkl m.fl mht osv",
    "norwegian": "bl.a dvs f.eks hhv inkl m.fl osv",
}
"""Abbreviations that are followed by more of their sentence; those of English hold for every language."""
BEFORE_NUMBERS = {
    "english": "no nos p pp vol fig figs eq art sec ch app ca approx ext tel jan feb mar apr jun jul aug sep sept oct nov dec",
    "german": "nr nrn s abb abs anl bd bl hs kap lfd rdnr rn tab teil z ziff",
    "french": "n nº chap éd fasc t tél",
    "spanish": "n nº núm pág págs cap tel",
    "italian": "n nr pag pagg cap tel",
    "portuguese": "n nº pág cap tel",
    "dutch": "nr blz hfst tel",
    "swedish": "nr s sid kap kl tel",
    "danish": "nr s kap kl tlf",
    "norwegian": "nr s kap kl tlf",
}
"""Abbreviations that are followed by a number."""
ORDINALS = frozenset(["czech", "danish", "estonian", "finnish", "german", "hungarian", "norwegian", "polish", "serbian"])
"""Languages that write `3.` for third."""


@dataclass(frozen=True)
class Abbreviations:
    """Patterns of the word before a full stop; `ordinals` if a small number may be one."""

    never_last: re.Pattern[str]
    before_numbers: re.Pattern[str]
    ordinals: bool


@lru_cache(maxsize=64)
def abbreviations(language: str) -> Abbreviations:
    """The abbreviations of a language; of a language without a list those of English."""
    return Abbreviations(_pattern(NEVER_LAST, language), _pattern(BEFORE_NUMBERS, language), language in ORDINALS)


def _pattern(table: Mapping[str, str], language: str) -> re.Pattern[str]:
    words = f"{table['english']} {table.get(language, '')}".split()
    return re.compile("|".join(map(re.escape, dict.fromkeys(words))), re.IGNORECASE)
