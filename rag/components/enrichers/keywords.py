"""The words by which a document differs from the others of its corpus."""

import math
from collections import Counter

from rag.core.corpus import Corpus
from rag.core.text.languages import stop_words
from rag.core.text.stems import Stems


def keywords(text: str, corpus: Corpus, most: int) -> list[str]:
    """The words of a text that are frequent in it and in at most half of the documents, one per stem, best first."""
    reader, stop, count = Stems(), stop_words("english_plus"), len(corpus)
    words = Counter(word for word in map(str.lower, reader.terms(text)) if word.isalpha() and len(word) > 2)
    held = {word: max(1, corpus.frequency(word)) for word in words if word not in stop}
    known = {word: times for word, times in held.items() if 2 * times <= count and (times > 1 or words[word] > 1)}
    best = sorted(known, key=lambda word: (-words[word] * math.log(count / known[word]), word))
    stems = dict(zip(reader.stems(best[::-1]), best[::-1], strict=True))  # Of the words with a stem the first stays.
    return [word for word in best if word in stems.values()][:most]
