"""Answers as SQuAD compares them (Rajpurkar et al. 2016, 2018: `evaluate-v2.0.py`)."""

import re
import string

ARTICLES = re.compile(r"\b(a|an|the)\b")
CITATION = re.compile(r"\[\d+\]")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, words one space apart; a marker such as `[1]` is no word."""
    return " ".join(ARTICLES.sub(" ", CITATION.sub(" ", text).lower().translate(PUNCTUATION)).split())
