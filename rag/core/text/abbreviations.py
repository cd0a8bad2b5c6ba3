"""Abbreviations by language: a full stop after one of them does not end a sentence."""

import re
from functools import lru_cache
from typing import NamedTuple

KNOWN = {
    "danish": ("bl.a dvs f.eks fx hhv inkl m.fl mht osv", "nr kap kl tlf"),
    "dutch": ("dhr mevr mw ir drs bijv d.w.z i.p.v m.b.t o.a t.a.v", "nr blz hfst tel"),
    "english": (
        "mr mrs ms dr prof st mt sgt capt lt col gen gov sen rep rev hon e.g i.e cf vs viz",
        "no nos p pp vol fig figs eq art sec ch app ca approx ext tel jan feb mar apr jun jul aug sep sept oct nov dec",
    ),
    "french": ("mm mme mlle mgr av bd boul env p.ex réf", "chap éd fasc nº tél"),
    "german": (
        "hr fr frl ing mag bzgl bzw d.h evtl ggf inkl exkl insb mio mrd sog std str u.a usf vgl z.b z.t zzgl",
        "abb abs anl bd bl hs kap lfd nr nrn rdnr rn tab teil ziff",
    ),
    "italian": ("sig sigg sig.ra dott dott.ssa ing avv p.es", "cap nr pag pagg tel"),
    "norwegian": ("bl.a dvs f.eks hhv inkl m.fl osv", "nr kap kl tlf"),
    "portuguese": ("sr sra srta dra eng exmo av p.ex", "cap nº pág tel"),
    "spanish": ("sr sra srta dña ud uds ee.uu p.ej avda", "cap nº núm pág págs tel"),
    "swedish": ("bl.a d.v.s dvs f.d fr.o.m inkl m.fl o.s.v resp s.k t.ex t.o.m", "nr sid kap kl tel"),
}
"""Language → abbreviations that more of the sentence follows, and those that a number follows; English holds for all."""
ORDINALS = ("czech", "danish", "estonian", "finnish", "german", "hungarian", "norwegian", "polish", "serbian")
"""Languages that write `3.` for third."""


class Abbreviations(NamedTuple):
    """Patterns of the word before a full stop; `ordinals` if a small number may be one."""

    never_last: re.Pattern[str]
    before_numbers: re.Pattern[str]
    ordinals: bool


@lru_cache(maxsize=64)
def abbreviations(language: str) -> Abbreviations:
    """The abbreviations of a language; of a language without a list those of English."""
    lists = zip(KNOWN["english"], KNOWN.get(language, ("", "")), strict=True)
    first, second = (re.compile("|".join(map(re.escape, " ".join(both).split())), re.IGNORECASE) for both in lists)
    return Abbreviations(first, second, language in ORDINALS)
