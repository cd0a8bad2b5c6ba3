"""Answers as SQuAD compares them (Rajpurkar et al. 2016, 2018: `evaluate-v2.0.py`)."""

import re
import string

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, words one space apart."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())
