"""SQuAD's normalisation of answers (Rajpurkar et al. 2016, 2018: `evaluate-v2.0.py`)."""

import re
import string

ARTICLES = re.compile(r"\b(a|an|the)\b")
CITATION = re.compile(r"\[\d+\]")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, one space between words, without markers such as `[1]`."""
    return " ".join(ARTICLES.sub(" ", CITATION.sub(" ", text).lower().translate(PUNCTUATION)).split())
