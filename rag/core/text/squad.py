"""SQuAD's normalisation of answers (Rajpurkar et al. 2016, 2018: `evaluate-v2.0.py`)."""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence

ARTICLES = {
    "english": "a an the",
    "german": "ein eine einen einem eines einer der die das den dem des",
    "spanish": "un una unos unas el la los las",
    "french": "un une des le la les l",
    "italian": "un uno una il lo la i gli le l",
    "portuguese": "o a os as um uma uns umas",
    "dutch": "de het een",
    "swedish": "en ett",
    "danish": "en et",
    "norwegian": "en ei et",
}
"""Articles by language; those of English, German and Spanish are MLQA's (Lewis et al. 2020)."""
CITATION = re.compile(r"\[\d+\]")
SINGLE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str, language: str = "english") -> str:
    """Lower case, without ASCII punctuation and articles, one space between words, without markers such as `[1]`.

    As in MLQA, other languages than English lose all punctuation, and Han and kana become words of one character; apostrophes
    end words there.
    """
    plain = CITATION.sub(" ", text).lower()
    if language != "english":
        plain = SINGLE.sub(r" \g<0> ", plain.replace("'", " ").replace("’", " "))
        plain = "".join(character for character in plain if unicodedata.category(character)[0] != "P")
    articles = ARTICLES.get(language, "").split()
    plain = plain.translate(PUNCTUATION)
    words = re.sub(rf"\b({'|'.join(articles)})\b", " ", plain) if articles else plain
    return " ".join(words.split())


def f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of words; two texts without words are equal."""
    if not given or not wanted:
        return float(given == wanted)
    return 2 * sum((Counter(given) & Counter(wanted)).values()) / (len(given) + len(wanted))
